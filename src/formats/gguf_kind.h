// The kinds of GGUF files: a model, or one of the files that lie beside models. Most files say so in general.type;
// older ones only by their architecture or their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/metadata.h"

namespace realizar {

enum class GgufKind : uint8_t {
  kModel,
  kProjector,         // turns pictures or sound into what a model reads
  kImportanceMatrix,  // which values count when a model is quantized
  kAdapter,
  kControlVector,
  kVocabulary,  // a tokenizer without weights
};

constexpr uint64_t kGgufKindBytes = 256 << 10;  // of a file's beginning: more than its first keys

// By the beginning of a file, however little of it there is. `is_part`: one of several files, which may have no tensors
// of its own. Nullopt: no GGUF file.
std::optional<GgufKind> gguf_kind(std::span<const std::byte> beginning, bool is_part);
// The same of a file on this disk; nullopt too where it cannot be read.
std::optional<GgufKind> gguf_kind_at(const std::filesystem::path& path);
GgufKind gguf_kind(const Metadata& metadata, bool has_tensors);

// By a name alone, where the file cannot be looked into: that of a projector or an importance matrix. A model may be
// named for the importance matrix that it was quantized with.
bool is_companion_name(std::string_view path);

// "a projector, ... , and no model. ...": what the file is, and how it is used.
std::string_view kind_advice(GgufKind kind);

}  // namespace realizar
