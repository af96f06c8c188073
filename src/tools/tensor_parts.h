// The parts of a model by role, in GGUF's layout, from a model file of either format.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "tools/hf_forms.h"
#include "tools/row_source.h"

namespace realizar {

struct Fusion;
struct Weave;

// The tensor of a role in a layer, or, with -1, outside of layers.
struct Part {
  Role role;
  int32_t layer;  // in the file
};

// The numbers of xIELU, which are tensors of layers in folders, and keys in GGUF.
inline constexpr std::pair<Role, const char*> kXieluKeys[] = {{Role::kXieluAlphaP, "xielu.alpha_p"},
                                                              {Role::kXieluAlphaN, "xielu.alpha_n"},
                                                              {Role::kXieluBeta, "xielu.beta"},
                                                              {Role::kXieluEps, "xielu.eps"}};

class TensorParts {
 public:
  // All must outlive this; `forms` is not used if the file is GGUF.
  TensorParts(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, const HfForms& forms)
      : file_(file), spec_(spec), config_(config), forms_(forms) {}

  // Whether the file has it separately, in a fused tensor, or as the parts of one.
  bool has(const Part& part) const;
  // Its rows in GGUF's order. Errors: FormatError (a tensor's size), NotFound.
  Result<MatrixRows> rows(const Part& part);
  // One factor for each of a role's matrices, if their type has them (NVFP4); else nullopt.
  std::optional<std::vector<float>> factors(const Part& part) const;

  // Tensors that were not used so far, except those that are not part of the model.
  std::vector<const TensorInfo*> unclaimed() const;
  void claim(Role role);

  uint64_t size_of(const Part& part, Dim dim) const;
  // The row of the table for the name that the file uses for the role; null if there is none.
  const TensorSpec* spec_of(const Part& part) const;

 private:
  std::string_view pattern_of(const TensorSpec& spec) const;
  bool is_of_layer(const TensorSpec& spec, const Part& part) const;
  std::optional<Weave> weave_in(const Fusion& fusion, const Part& whole) const;
  const TensorInfo* find(std::string_view pattern, int32_t layer, uint32_t index) const;
  std::vector<const TensorInfo*> tensors_of(const TensorSpec& spec, const Part& part) const;
  Result<MatrixRows> own_rows(const TensorSpec& spec, const Part& part);
  Result<MatrixRows> fused_rows(const Fusion& fusion, size_t index, const Part& part);
  Result<MatrixRows> unturned(const TensorSpec& spec, const TensorInfo& tensor, uint64_t n_rows, uint64_t n_cols) const;
  bool is_hf() const { return file_.format() == FileFormat::kHuggingFace; }

  const ModelFile& file_;
  const ArchSpec& spec_;
  const ModelConfig& config_;
  const HfForms& forms_;
  std::unordered_set<const TensorInfo*> claimed_;
};

// The layer of the config that contains the role's tensors, among those that form one layer in the file; -1 for -1.
int32_t config_layer(const ModelConfig& config, const TensorSpec& spec, int32_t file_layer);

// RWKV-7's first layer does not mix in its own values: in place of the unused tensor GGUF has a copy of another role's
// tensor, which this returns. Nullopt for all other parts.
std::optional<Role> unused_twin(const ModelConfig& config, Role role, int32_t file_layer);

// A role's rows in the output format: as they are, or interleaved from its parts as in `target`, a row of that format's
// table. `rows_of`: returns those of one part.
Result<MatrixRows> rows_of_whole(const TensorParts& parts, const TensorSpec& tensor, const Part& part,
                                 const ArchSpec& target, const ModelConfig& config, bool is_hf,
                                 const std::function<Result<MatrixRows>(const Part&)>& rows_of);

}  // namespace realizar
