// Names of models, as people type them and as the store files them. Pure: nothing here looks at a disk or a network.
//
//   qwen3:1.7b, mine            a name of the store's own; what it stands for is in name_table.h and in its manifest
//   hf:OWNER/REPO[@REV][:WHAT]  a repository of Hugging Face; WHAT: a quantization (Q4_K_M) or a file; without it the
//                               best choice there is
//   ollama:[OWNER/]NAME[:TAG]   a model of Ollama's registry
//   https://HOST/FILE.gguf      a file
//
// OWNER/REPO whose REPO has "gguf" in it, in any case, is hf:OWNER/REPO: so are repositories of Hugging Face called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::hub {

enum class NameKind : uint8_t { kLocal, kHuggingFace, kOllama, kUrl };

struct ModelName {
  NameKind kind = NameKind::kLocal;
  std::string owner;     // of kHuggingFace and kOllama ("library" where none is named); kLocal: may be empty
  std::string model;     // or repository
  std::string revision;  // of kHuggingFace: "main" where none is named
  std::string tag;       // "latest" where none is named; of kHuggingFace: WHAT, may be empty
  std::string url;       // of kUrl

  bool operator==(const ModelName&) const = default;
};

// Takes besides what is above: hf.co/OWNER/REPO[:WHAT] as Ollama spells it, huggingface.co's pages and files, and
// ollama.com/[library/]NAME. Errors: InvalidArgument with what is wrong.
Result<ModelName> parse_name(std::string_view text);

// The shortest text that parse_name reads as that name.
std::string to_string(const ModelName& name);

// Where the store keeps the manifest, below its folder of manifests. No two names share one, and none leads elsewhere.
std::filesystem::path manifest_path(const ModelName& name);
// The name that such a path is of. Errors: FormatError.
Result<ModelName> name_of_manifest(const std::filesystem::path& path, std::string_view url);

// Whether a path may name a file of a repository: it leads below a folder and nowhere else.
bool is_safe_file(std::string_view path);

// Whether the text can only be a name of some kind, and no path of a file: it begins as one does.
bool has_name_scheme(std::string_view text);

}  // namespace realizar::hub
