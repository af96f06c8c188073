// Differences between a part's rows in a Hugging Face folder and in a GGUF file: their order, or a change of their
// values that is exact or rounded once.
#pragma once

#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "tools/row_source.h"

namespace realizar {

// Factors that are in config.json, while GGUF folds them into the weights; 1 if there are none.
struct FoldedFactors {
  float embed = 1, head = 1;
  // Falcon-H1's; for a state space's input, by its parts, in order.
  float wq = 1, wk = 1, wv = 1, wo = 1, gate = 1, down = 1, ssm_out = 1;
  std::vector<float> ssm_in = {};

  bool operator==(const FoldedFactors&) const = default;
};

class HfForms {
 public:
  // Whether rotated rows are stored in pairs (2i, 2i + 1), which depends on the family, and on the model's own file.
  struct Pairs {
    bool gguf = false, hf = false;
  };

  HfForms(const ArchSpec& spec, const ModelConfig& config, const Pairs& pairs, FoldedFactors factors)
      : spec_(spec), config_(config), pairs_(pairs), factors_(std::move(factors)) {}

  // `layer`: one of the model's config; -1: the part belongs to no layer.
  MatrixRows to_gguf(Role role, int32_t layer, MatrixRows rows) const {
    return changed(role, layer, std::move(rows), true);
  }
  MatrixRows to_hf(Role role, int32_t layer, MatrixRows rows) const {
    return changed(role, layer, std::move(rows), false);
  }

 private:
  using Order = std::function<uint64_t(uint64_t)>;

  MatrixRows changed(Role role, int32_t layer, MatrixRows rows, bool to_gguf) const;
  MatrixRows in_order(Role role, int32_t layer, MatrixRows rows, bool to_gguf) const;
  MatrixRows with_values(Role role, MatrixRows rows, bool to_gguf) const;
  MatrixRows multiplied(Role role, int32_t layer, MatrixRows rows) const;
  Order pair_order(Role role, const AttentionConfig& c, bool to_gguf) const;
  Order latent_order(Role role, const LatentAttentionConfig& c, bool to_gguf) const;
  MatrixRows by_key_head(Role role, const DeltaNetConfig& c, MatrixRows rows, bool to_gguf) const;

  const ArchSpec& spec_;
  const ModelConfig& config_;
  const Pairs pairs_;
  const FoldedFactors factors_;
};

}  // namespace realizar
