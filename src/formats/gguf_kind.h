// The kinds of GGUF files: a model, or one of the files that accompany models. Most files state it in general.type;
// older ones show it only by their architecture or keys.
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
  kProjector,         // converts images or sound to a model's input
  kImportanceMatrix,  // weights for quantizing a model
  kAdapter,
  kControlVector,
  kVocabulary,  // a tokenizer without weights
};

constexpr uint64_t kGgufKindBytes = 256 << 10;  // beginning of a file to read: more than its first keys

// Determined from the beginning of a file, even a short one. `is_part`: one of several files, which may have no tensors
// itself. Nullopt: not a GGUF file.
std::optional<GgufKind> gguf_kind(std::span<const std::byte> beginning, bool is_part);
// gguf_kind() of a file on disk; nullopt also if it cannot be read.
std::optional<GgufKind> gguf_kind_at(const std::filesystem::path& path);
GgufKind gguf_kind(const Metadata& metadata, bool has_tensors);

// Whether a name is that of a projector or an importance matrix, for files that cannot be inspected. A model may be
// named after the importance matrix that it was quantized with.
bool is_companion_name(std::string_view path);

// "a projector, ... , and no model. ...": what the file is, and how it is used.
std::string_view kind_advice(GgufKind kind);

}  // namespace realizar
