// Metadata -> ModelConfig: the one place where a file's keys are read and checked.
#pragma once

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model.h"
#include "model/model_config.h"
#include "realizar/result.h"

namespace realizar {

// The row of the table that the file asks for. Errors: Unsupported, with the list of what is known.
Result<const ArchSpec*> find_architecture(const ModelFile& file);

// Reads keys by their GGUF name below "<arch>." or their Hugging Face name, whichever the file has.
class ConfigKeys {
 public:
  ConfigKeys(const ModelFile& file, const ArchSpec& spec) : file_(&file), spec_(&spec) {}

  bool is_gguf() const { return file_->format() == FileFormat::kGguf; }
  std::string key(std::string_view gguf, std::string_view hf) const;

  // A whole number in [min, max]. Errors: FormatError where it is missing, of another type or out of range.
  Result<uint32_t> required_int(std::string_view gguf, std::string_view hf, int64_t min, int64_t max) const;
  Result<std::optional<uint32_t>> optional_int(std::string_view gguf, std::string_view hf, int64_t min,
                                               int64_t max) const;
  // A finite number above 0.
  Result<std::optional<double>> optional_positive(std::string_view gguf, std::string_view hf) const;
  Result<double> required_positive(std::string_view gguf, std::string_view hf) const;
  const ModelFile& file() const { return *file_; }
  const ArchSpec& spec() const { return *spec_; }

 private:
  const ModelFile* file_;
  const ArchSpec* spec_;
};

// The rotary embedding with every scaling rule folded into inv_freq (rope_config.cpp); then, where the family has one,
// that of layers with a window. `n_ctx`: positions to be used, by which LongRoPE chooses its factors.
Result<std::vector<RopeConfig>> read_ropes(const ConfigKeys& keys, uint32_t head_dim, uint32_t n_ctx_train,
                                           uint32_t n_ctx);

// A tensor by its name; null where there is none. Hugging Face files made from the bare model lack the first component
// of each name ("transformer.", "model.").
const TensorInfo* find_tensor(const ModelFile& file, std::string_view name);

// Tensor data of any plain type as floats. Errors: Unsupported for block types.
Result<std::vector<float>> read_vector(const TensorInfo& tensor);

}  // namespace realizar
