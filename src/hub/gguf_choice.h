// Which files of a repository make the model that is meant. The list may be a hub's or a folder's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/digest.h"
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

// Looks into the files of a repository.
struct FileReader {
  // The first bytes of a file, as many as are asked for or as it has. Null: names alone decide.
  std::function<Result<std::string>(const RepoFile& file, uint64_t n_bytes)> beginning = {};
  // Reading costs nothing. Of a server a GGUF file is read only where it is one of several.
  bool is_on_disk = false;
};
FileReader reader_of_folder(std::filesystem::path folder);
// The first bytes of a file on this disk. Errors: as open_regular_file; FormatError (it cannot be read).
Result<std::string> read_beginning(const std::filesystem::path& path, uint64_t n_bytes);

// Whether a repository's file is a GGUF model by itself or the first part of one: no later part, and by its name no
// projector or importance matrix.
bool begins_model(std::string_view path);
// The same by what the file says. A file that cannot be read is a model.
bool is_model(const RepoFile& file, const FileReader& reader);

// `what`: a quantization ("Q4_K_M", in any case), a .gguf file of the list, or "": the usual choice among GGUF files,
// or, where there is none, the SafeTensors files with their config and tokenizer, and all folders that modules.json
// names. A split file comes with all its parts. `name` stands in errors: NotFound with what there is, or a module that
// is not, FormatError (a part is missing), Unsupported (weights of other kinds alone), those of the reader.
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

// The one GGUF model among the files that `pattern` matches, by its path or its name: `*` stands for any characters,
// `?` and `[...]` for one, and upper and lower case are the same. Errors: NotFound where it matches none, or several,
// with what there is.
Result<std::string> matching_model(const std::vector<RepoFile>& files, const std::string& pattern,
                                   const std::string& name);

}  // namespace realizar::hub
