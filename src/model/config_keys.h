// Access to a model file's keys and tensors, for the readers of its config.
#pragma once

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

// Bounds far above any known model and within the backends' limits: a head's keys fit attention's scratch memory, and
// no product of two bounds overflows 32 bits.
inline constexpr int64_t kMaxLayers = 256;
inline constexpr int64_t kMaxHeads = 4096;
inline constexpr int64_t kMaxHeadDim = 1024;
inline constexpr int64_t kMaxWidth = 1 << 20;    // d_model, d_ff
inline constexpr int64_t kMaxContext = 1 << 26;  // positions
inline constexpr int64_t kMaxExperts = 4096;

// Reads keys by their GGUF name, without "<arch>.", or their Hugging Face name, depending on the file's format.
class ConfigKeys {
 public:
  ConfigKeys(const ModelFile& file, const ArchSpec& spec, const RopeSettings& rope = {})
      : file_(&file), spec_(&spec), rope_(rope) {}

  bool is_gguf() const { return file_->format() == FileFormat::kGguf; }
  std::string key(std::string_view gguf, std::string_view hf) const;

  // A whole number in [min, max]. Errors: FormatError (missing, of another type or out of range).
  Result<uint32_t> required_int(std::string_view gguf, std::string_view hf, int64_t min, int64_t max) const;
  Result<std::optional<uint32_t>> optional_int(std::string_view gguf, std::string_view hf, int64_t min,
                                               int64_t max) const;
  // One number per layer: the file's list, or its single number for all. Errors: also FormatError (length of the list).
  Result<std::optional<std::vector<uint32_t>>> layer_ints(std::string_view gguf, std::string_view hf, uint32_t n_layers,
                                                          int64_t min, int64_t max) const;
  bool is_list(std::string_view gguf, std::string_view hf) const;
  // A finite number above 0.
  Result<std::optional<double>> optional_positive(std::string_view gguf, std::string_view hf) const;
  Result<double> required_positive(std::string_view gguf, std::string_view hf) const;
  const ModelFile& file() const { return *file_; }
  const ArchSpec& spec() const { return *spec_; }
  // Overrides the file's rope scaling.
  const RopeSettings& rope() const { return rope_; }

 private:
  // The architecture's default for a missing key.
  std::optional<double> default_of(std::string_view gguf, std::string_view hf) const;

  const ModelFile* file_;
  const ArchSpec* spec_;
  RopeSettings rope_;
};

// The FormatError for a key with an unexpected value.
Error out_of_range(const ModelFile& file, std::string_view key, std::string_view expected, std::string actual);

// A tensor by its name, or null. Hugging Face files of models without a head lack the first component of each name
// ("transformer.", "model."); those of models with image input have "language_model" before or after it, and those of
// RoBERTa have "roberta" instead.
const TensorInfo* find_tensor(const ModelFile& file, std::string_view name);

// The reason why a tensor cannot be found: "is missing", or that it is empty.
std::string why_missing(const ModelFile& file, std::string_view name);

// The role's tensor outside layers, and its name; if the file has none, null and the first of its names.
const TensorInfo* find_tensor_of(const ConfigKeys& keys, Role role, std::string_view& name);

// Tensor data of any plain type as floats. Errors: Unsupported for block types.
Result<std::vector<float>> read_vector(const TensorInfo& tensor);

// The number in a one-element tensor of a layer; nullopt if the file has none. Errors: FormatError (not finite).
Result<std::optional<float>> read_number(const ConfigKeys& keys, Role role, uint32_t layer);

// Whether the architecture has tensors of that role, and whether a file may lack them.
bool knows_role(const ArchSpec& spec, Role role);
bool is_optional(const ArchSpec& spec, Role role);
// Whether the file has a tensor of that role in a layer.
bool has_role(const ConfigKeys& keys, Role role, uint32_t layer = 0);

}  // namespace realizar
