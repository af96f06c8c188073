// Chooses the files of a repository that make up the requested model. The list may come from a hub or a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/hash.h"
#include "hub/manifest.h"
#include "realizar/result.h"

namespace realizar::hub {

struct RepoFile {
  std::string path;
  uint64_t n_bytes = 0;
  Digest digest = {};
};

struct ChosenFile {
  RepoFile file;
  FileRole role;
};

// Reads the beginnings of a repository's files.
struct FileReader {
  // The first n_bytes of a file, or all of a shorter one. Null: decided by names only.
  std::function<Result<std::string>(const RepoFile& file, uint64_t n_bytes)> beginning = {};
  // Reading is free. On a server, a GGUF file is only read if there are several.
  bool is_on_disk = false;
};
FileReader reader_of_folder(std::filesystem::path folder);
// The first bytes of a file on this disk. Errors: as open_regular_file; FormatError (it cannot be read).
Result<std::string> read_beginning(const std::filesystem::path& path, uint64_t n_bytes);

// Whether a repository's file is a GGUF model by itself or the first part of one, judged by its name: not a later part,
// projector or importance matrix.
bool begins_model(std::string_view path);
// Judged by the file's content. A file that cannot be read counts as a model.
bool is_model(const RepoFile& file, const FileReader& reader);

// `what`: a quantization ("Q4_K_M", in any case), a .gguf file of the list, or "": the usual choice among GGUF files,
// or, if there is none, the SafeTensors files with their config and tokenizer, and all folders that modules.json names.
// A split file includes all its parts. `name` is used in errors: NotFound with the available files, or for a missing
// module, FormatError (a part is missing), Unsupported (only weights of other kinds), those of the reader.
Result<std::vector<ChosenFile>> choose_files(const std::vector<RepoFile>& files, const std::string& what,
                                             const std::string& name, const FileReader& reader = {});

// A GGUF model of a repository, with all its parts.
struct GgufModel {
  std::string what;  // as choose_files takes it: its quantization where that means this model, else its file
  std::string path;  // of its file, or of the first part
  uint64_t n_bytes = 0;
  bool is_usual = false;  // the one that choose_files takes where none is named
};
// All of them by their names, in the list's order, but for those that lack a part.
std::vector<GgufModel> gguf_models(const std::vector<RepoFile>& files);

// The only GGUF model among the files whose path or name matches `pattern`: `*` matches any characters, `?` and `[...]`
// one, ignoring case. Errors: NotFound if none or several match, with the available files.
Result<std::string> matching_model(const std::vector<RepoFile>& files, const std::string& pattern,
                                   const std::string& name);

}  // namespace realizar::hub
