// What a model of the store consists of: its name, where it came from, and its files by their hashes. A small JSON file
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
  kFile,       // what lies beside them: config.json, tokenizer.json
  kTemplate,   // of Ollama's models: a chat template in Go's spelling,
  kParams,     // options as a JSON object,
  kSystem,     // a system message,
  kMessages,   // the beginning of a conversation as a JSON list,
  kLicense,    // a text,
  kAdapter,    // weights that change the model's,
  kProjector,  // and those that read images
};
std::string_view role_name(FileRole role);

struct StoredFile {
  FileRole role;
  std::string name;    // below the model's folder; unique
  std::string sha256;  // in hexadecimal
  uint64_t n_bytes;
};

struct Manifest {
  ModelName name;
  std::string source;    // the name that it was pulled by: another one where the table or a copy stands between
  std::string revision;  // the commit; "" where there is none
  std::string pulled;    // the time, "2026-11-24T05:40:00Z"
  std::vector<StoredFile> files;

  uint64_t n_bytes() const;
  const StoredFile* find(FileRole role) const;  // the first of it; null: none
  // The file that a loader opens: a GGUF file, or the first part of a split one. Null: the folder of all files is
  // meant.
  const StoredFile* gguf() const;
};

constexpr uint64_t kMaxManifestBytes = 4u << 20;

std::string to_json(const Manifest& manifest);
// Errors: FormatError, for files outside the folder, numbers and hashes that there cannot be, and names that are there
// twice. The name itself is not read: it is the path's.
Result<Manifest> parse_manifest(std::string_view text, const std::string& where);

}  // namespace realizar::hub
