// Adds a layer's operations to a program. A layer has two branches, its mixer and its ffn: each reads in() and ends
// with add_to_stream() of an operation that writes out().
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

  // [n_rows, d_model] each: the residual stream, a branch's input, a branch's output before its post norm, and the
  // ffn's input where both norms precede both branches. The last two are kNoAct if no layer needs them.
  struct Acts {
    ActId stream = kNoAct, normed = kNoAct, branch = kNoAct, ffn_normed = kNoAct;
    ActId layer_inputs = kNoAct;  // [n_rows, n_layers * d_input], with per-layer embeddings
    // AltUp's streams, [n_rows, d_model] each; `stream` is then the layer's output for the first one.
    Streams streams = kNoStreams;
  };

  LayerBuilder(Program& program, const ModelConfig& config, const Weights& weights, const Acts& acts, uint32_t layer)
      : program_(program), config_(config), weights_(weights), acts_(acts), layer_(layer) {}

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
  // ModelConfig::ropes[rope_idx]; kNoRope: no rotation.
  Rotation rotation(uint32_t rope_idx) const;
  // [n_rows, n_cols]; layers share the activation of a name and width.
  ActId scratch(const std::string& name, uint32_t n_cols) { return program_.find_or_add_activation(name, n_cols); }

  void add(const Op& op) { program_.add(op); }
  // In place, with the model's kind of norm.
  void normalize(ActId act, WeightId weight, OpRole role);
  // out = (out + norm(in)) * scale
  void add_norm(ActId out, ActId in, WeightId weight, OpRole role, float scale = 1.0f);
  // Ends a branch: stream += residual_scale * the operation's result; or out() = the result if a post norm follows.
  void add_to_stream(LinearOp op);
  // Ends a branch that has no post norm and whose input includes residual_scale already.
  void add_to_stream(const GateOp& op);
  // Whether the current branch is normalized before it is added to the stream.
  bool has_post_norm() const { return has_post_norm_; }

 private:
  void add_step(LayerStep step);
  // out = scale * norm(stream); `out` may be the stream.
  void norm(ActId out, WeightId weight, WeightId bias, OpRole role, float scale = 1.0f);
  template <class Configs, class KindWeights>
  void add_branch(const Configs& config, const KindWeights& weights);

  Program& program_;
  const ModelConfig& config_;
  const Weights& weights_;
  const Acts acts_;
  const uint32_t layer_;
  ActId in_ = kNoAct;           // of the current branch
  bool has_post_norm_ = false;  // of the current branch
};

}  // namespace realizar
