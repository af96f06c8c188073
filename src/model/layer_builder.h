// What a kind of layer adds its operations to a program through. A layer has two branches, its mixer and its ffn: each
// reads in() and ends with add_to_stream() of an operation that writes out().
#pragma once

#include <string>

#include "backend/program.h"
#include "model/model.h"
#include "model/model_config.h"

namespace realizar {

class LayerBuilder {
 public:
  struct Rotation {
    WeightId inv_freq = kNoWeight;  // [n_rot / 2]
    uint32_t n_rot = 0;
    float scale = 1.0f;
  };

  // `stream`, `normed` and `branch` are [n_rows, d_model]: the residual stream, what branches read, and a branch before
  // its own norm (kNoAct where no layer has one).
  struct Stream {
    ActId stream = kNoAct, normed = kNoAct, branch = kNoAct;
  };

  LayerBuilder(Program& program, const ModelConfig& config, const Weights& weights, const Stream& acts, uint32_t layer)
      : program_(program), config_(config), weights_(weights), acts_(acts), layer_(layer) {}

  // The layer's norms and branches.
  void build();

  uint32_t layer() const { return layer_; }
  float norm_eps() const { return config_.norm_eps; }
  ActId in() const { return acts_.normed; }
  ActId out() const { return has_post_norm() ? acts_.branch : acts_.stream; }
  OpPlace place(OpRole role = OpRole::kNone) const { return {role, static_cast<int32_t>(layer_)}; }
  // The rotation ModelConfig::ropes[rope_idx]; kNoRope: none.
  Rotation rotation(uint32_t rope_idx) const;
  // [n_rows, n_cols]: one buffer for all layers that ask for this name and width.
  ActId scratch(const std::string& name, uint32_t n_cols);

  void add(const Op& op) { program_.add(op); }
  // Ends a branch: stream += what the operation gives, normalized first where the layer has a norm after its branches.
  void add_to_stream(LinearOp op);
  // The same; such layers have no norm after their branches.
  void add_to_stream(const ExpertsOp& op);

 private:
  bool has_post_norm() const { return config_.layers[layer_].norm_place == NormPlace::kSandwich; }
  void norm(WeightId weight, WeightId bias, OpRole role);

  Program& program_;
  const ModelConfig& config_;
  const Weights& weights_;
  const Stream acts_;
  const uint32_t layer_;
  WeightId post_norm_ = kNoWeight;  // of the branch that is being built
};

}  // namespace realizar
