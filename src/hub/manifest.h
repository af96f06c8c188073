// Describes a model in the store: its name, its origin, and its files with their hashes. Stored as a small JSON file
// for each name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/name.h"
#include "realizar/result.h"

namespace realizar::hub {

enum class FileRole : uint8_t {
  kModel,      // weights: GGUF or SafeTensors
  kFile,       // side files: config.json, tokenizer.json
  kTemplate,   // for models from Ollama: a Go chat template,
  kParams,     // options as a JSON object,
  kSystem,     // a system message,
  kMessages,   // the beginning of a conversation as a JSON list,
  kLicense,    // a text,
  kAdapter,    // weights that modify the model's,
  kProjector,  // and weights that read images
};
std::string_view role_name(FileRole role);

struct StoredFile {
  FileRole role;
  std::string name;    // relative to the model's folder; unique
  std::string sha256;  // in hexadecimal
  uint64_t n_bytes;
};

struct Manifest {
  ModelName name;
  std::string source;    // the name that it was pulled by, if the table or a copy gave it another one
  std::string revision;  // the commit; "" if there is none
  std::string pulled;    // the time, "2026-11-24T05:40:00Z"
  std::vector<StoredFile> files;

  uint64_t n_bytes() const;
  const StoredFile* find(FileRole role) const;  // the first one with that role; null: none
  // The file for a loader: a GGUF file, or the first part of a split one. Null: the loader opens the folder of all
  // files.
  const StoredFile* gguf() const;
};

constexpr uint64_t kMaxManifestBytes = 4u << 20;

std::string to_json(const Manifest& manifest);
// Errors: FormatError, for files outside the folder, invalid numbers or hashes, and duplicate names. The model's own
// name is not in the text: it is in the path.
Result<Manifest> parse_manifest(std::string_view text, const std::string& where);

}  // namespace realizar::hub
