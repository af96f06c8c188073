// A model file's keys and tensors, as the readers of its config ask for them.
#pragma once

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

// Bounds far above any known model, below what the backends are sized for: a head's keys fit the scratch of attention,
// and no product of two of these overflows 32 bits.
inline constexpr int64_t kMaxLayers = 256;
inline constexpr int64_t kMaxHeads = 4096;
inline constexpr int64_t kMaxHeadDim = 1024;
inline constexpr int64_t kMaxWidth = 1 << 20;    // d_model, d_ff
inline constexpr int64_t kMaxContext = 1 << 26;  // positions
inline constexpr int64_t kMaxExperts = 4096;

// Reads keys by their GGUF name below "<arch>." or their Hugging Face name, whichever the file has.
class ConfigKeys {
 public:
  ConfigKeys(const ModelFile& file, const ArchSpec& spec, const RopeSettings& rope = {})
      : file_(&file), spec_(&spec), rope_(rope) {}

  bool is_gguf() const { return file_->format() == FileFormat::kGguf; }
  std::string key(std::string_view gguf, std::string_view hf) const;

  // A whole number in [min, max]. Errors: FormatError where it is missing, of another type or out of range.
  Result<uint32_t> required_int(std::string_view gguf, std::string_view hf, int64_t min, int64_t max) const;
  Result<std::optional<uint32_t>> optional_int(std::string_view gguf, std::string_view hf, int64_t min,
                                               int64_t max) const;
  // One a layer: the file's list, or its one number for all. Errors: also FormatError for a list of another length.
  Result<std::optional<std::vector<uint32_t>>> layer_ints(std::string_view gguf, std::string_view hf, uint32_t n_layers,
                                                          int64_t min, int64_t max) const;
  bool is_list(std::string_view gguf, std::string_view hf) const;
  // A finite number above 0.
  Result<std::optional<double>> optional_positive(std::string_view gguf, std::string_view hf) const;
  Result<double> required_positive(std::string_view gguf, std::string_view hf) const;
  const ModelFile& file() const { return *file_; }
  const ArchSpec& spec() const { return *spec_; }
  // Replaces the file's scaling of rotations.
  const RopeSettings& rope() const { return rope_; }

 private:
  // The family's number where the file gives none.
  std::optional<double> default_of(std::string_view gguf, std::string_view hf) const;

  const ModelFile* file_;
  const ArchSpec* spec_;
  RopeSettings rope_;
};

// FormatError of a key whose value is another than what is expected.
Error out_of_range(const ModelFile& file, std::string_view key, std::string_view expected, std::string actual);

// A tensor by its name; null where there is none. Hugging Face files made from the bare model lack the first component
// of each name ("transformer.", "model."); those of models that see images have "language_model" before or behind it,
// and those of RoBERTa its name instead.
const TensorInfo* find_tensor(const ModelFile& file, std::string_view name);

// Why there is no tensor of that name: "is missing", or that it is empty.
std::string why_missing(const ModelFile& file, std::string_view name);

// Of the names that a role's tensor may have outside layers the one that the file has; else null, and the first name.
const TensorInfo* find_tensor_of(const ConfigKeys& keys, Role role, std::string_view& name);

// Tensor data of any plain type as floats. Errors: Unsupported for block types.
Result<std::vector<float>> read_vector(const TensorInfo& tensor);

// A tensor of one number by its role in a layer; nothing where the file has none. Errors: FormatError, where the number
// is not finite.
Result<std::optional<float>> read_number(const ConfigKeys& keys, Role role, uint32_t layer);

// Whether the family has tensors of that role, and whether it can be without them.
bool knows_role(const ArchSpec& spec, Role role);
bool is_optional(const ArchSpec& spec, Role role);
// Whether the file has any tensor of that role in a layer.
bool has_role(const ConfigKeys& keys, Role role, uint32_t layer = 0);

}  // namespace realizar
