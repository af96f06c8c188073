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

  // [n_rows, d_model] each: the residual stream, what branches read, a branch before its own norm, and what the ffn
  // reads where both norms are taken before both branches (the last two kNoAct where no layer has them).
  struct Acts {
    ActId stream = kNoAct, normed = kNoAct, branch = kNoAct, ffn_normed = kNoAct;
    ActId layer_inputs = kNoAct;  // [n_rows, n_layers * d_input], where layers have tables of their own
    // [n_rows, d_model] each, where a row has several; `stream` is then what the layer makes of the first.
    Streams streams = kNoStreams;
  };

  LayerBuilder(Program& program, const ModelConfig& config, const Weights& weights, const Acts& acts, uint32_t layer)
      : program_(program), config_(config), weights_(weights), acts_(acts), layer_(layer) {}

  // The layer's norms and branches.
  void build();

  const ModelConfig& config() const { return config_; }
  const LayerWeights& weights() const { return weights_.layers[layer_]; }
  const Acts& acts() const { return acts_; }
  uint32_t layer() const { return layer_; }
  uint32_t d_model() const { return config_.d_model; }
  float norm_eps() const { return config_.norm_eps; }
  float residual_scale() const { return config_.residual_scale; }
  NormKind norm_kind() const { return config_.norm; }
  ActId in() const { return in_; }
  ActId stream() const { return acts_.stream; }
  ActId out() const { return has_post_norm_ ? acts_.branch : acts_.stream; }
  OpPlace place(OpRole role = OpRole::kNone) const { return {role, static_cast<int32_t>(layer_)}; }
  // The rotation ModelConfig::ropes[rope_idx]; kNoRope: none.
  Rotation rotation(uint32_t rope_idx) const;
  // [n_rows, n_cols]: one buffer for all layers that ask for this name and width.
  ActId scratch(const std::string& name, uint32_t n_cols);

  void add(const Op& op) { program_.add(op); }
  // Rows of `act` in place, by the model's kind of norm.
  void normalize(ActId act, WeightId weight, OpRole role);
  // out += scale * norm(in)
  void add_norm(ActId out, ActId in, WeightId weight, OpRole role, float scale = 1.0f);
  // Ends a branch: stream += residual_scale * what the operation gives; or out() = that, where a norm comes next.
  void add_to_stream(LinearOp op);
  // The same; such layers have no norm after their branches, and what is added has residual_scale in it already.
  void add_to_stream(const GateOp& op);
  // The branch that is being built is normalized before it is added to the stream.
  bool has_post_norm() const { return has_post_norm_; }

 private:
  void take(LayerStep step);
  // out = scale * norm(stream); `out` may be the stream.
  void norm(ActId out, WeightId weight, WeightId bias, OpRole role, float scale = 1.0f);
  template <class Configs, class KindWeights>
  void add_branch(const Configs& config, const KindWeights& weights);

  Program& program_;
  const ModelConfig& config_;
  const Weights& weights_;
  const Acts acts_;
  const uint32_t layer_;
  // Of the branch that is being built.
  ActId in_ = kNoAct;
  bool has_post_norm_ = false;
};

}  // namespace realizar
