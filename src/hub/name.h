// Names of models, as users type them and as the store files them. Pure: nothing here accesses a disk or a network.
//
//   qwen3:1.7b, mine            a name in the store; its meaning is in name_table.h and in its manifest
//   hf:OWNER/REPO[@REV][:WHAT]  a repository on Hugging Face; WHAT: a quantization (Q4_K_M) or a file; without it the
//                               best available choice
//   ollama:[OWNER/]NAME[:TAG]   a model in Ollama's registry
//   https://HOST/FILE.gguf      a file
//
// OWNER/REPO with "gguf" in REPO, in any case, means hf:OWNER/REPO, since repositories on Hugging Face have such names.
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
  std::string owner;     // for kHuggingFace and kOllama ("library" if none is given); for kLocal: may be empty
  std::string model;     // or repository
  std::string revision;  // for kHuggingFace: "main" if none is given
  std::string tag;       // "latest" if none is given; for kHuggingFace: WHAT, may be empty
  std::string url;       // for kUrl

  bool operator==(const ModelName&) const = default;
};

// Also accepts hf.co/OWNER/REPO[:WHAT], as Ollama spells it, URLs of pages and files on huggingface.co, and
// ollama.com/[library/]NAME. Errors: InvalidArgument with the reason.
Result<ModelName> parse_name(std::string_view text);

// The shortest text that parse_name reads as that name.
std::string to_string(const ModelName& name);

// The path of the manifest in the store, relative to its folder of manifests. Unique for each name, and always inside
// the folder.
std::filesystem::path manifest_path(const ModelName& name);
// The name for such a path. Errors: FormatError.
Result<ModelName> name_of_manifest(const std::filesystem::path& path, std::string_view url);

// Whether a path is acceptable for a repository's file: it stays inside a folder.
bool is_safe_file(std::string_view path);

// Whether the text begins with a scheme of names, so that it cannot be the path of a file.
bool has_name_scheme(std::string_view text);

}  // namespace realizar::hub
