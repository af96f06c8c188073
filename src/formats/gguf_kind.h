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
#include <vector>

#include "formats/metadata.h"
#include "realizar/result.h"

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

// Whether the file is a model: a .gguf file, or the first part of a split one. Projectors, importance matrices and
// adapters are stored next to their models; unreadable files are judged by their names, and a name that begins with
// "mmproj" always means a projector.
bool is_gguf_model(const std::filesystem::path& path);

// The only model in the folder: a .gguf file, or the first part of a split one. Errors: NotFound (no .gguf file, nor
// any other kind of model), Unsupported (files that are not models by themselves), InvalidArgument (several, with their
// names).
Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder);

// The files of a model: for the first part of a split one all parts in the same folder.
std::vector<std::filesystem::path> parts_of_gguf(const std::filesystem::path& path);

}  // namespace realizar
