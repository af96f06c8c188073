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
  struct Stream {
    ActId stream = kNoAct, normed = kNoAct, branch = kNoAct, ffn_normed = kNoAct;
    ActId layer_inputs = kNoAct;  // [n_rows, n_layers * d_layer_input], where layers have tables of their own
    // [n_rows, d_model] each, where a row has several; `stream` is then what the layer makes of the first.
    Streams streams = kNoStreams;
  };

  LayerBuilder(Program& program, const ModelConfig& config, const Weights& weights, const Stream& acts, uint32_t layer)
      : program_(program), config_(config), weights_(weights), acts_(acts), layer_(layer) {}

  // The layer's norms and branches.
  void build();

  uint32_t layer() const { return layer_; }
  uint32_t d_model() const { return config_.d_model; }
  float norm_eps() const { return config_.norm_eps; }
  float residual_scale() const { return config_.residual_scale; }
  NormKind norm_kind() const { return config_.norm; }
  ActId in() const { return in_; }
  ActId stream() const { return acts_.stream; }
  ActId out() const { return has_post_norm() ? acts_.branch : acts_.stream; }
  OpPlace place(OpRole role = OpRole::kNone) const { return {role, static_cast<int32_t>(layer_)}; }
  // The rotation ModelConfig::ropes[rope_idx]; kNoRope: none.
  Rotation rotation(uint32_t rope_idx) const;
  // [n_rows, n_cols]: one buffer for all layers that ask for this name and width.
  ActId scratch(const std::string& name, uint32_t n_cols);

  void add(const Op& op) { program_.add(op); }
  // Rows of `act` in place, by the model's kind of norm.
  void normalize(ActId act, WeightId weight, OpRole role);
  // Ends a branch: stream += residual_scale * what the operation gives, normalized first where the layer has a norm
  // after its branches.
  void add_to_stream(LinearOp op);
  // The same; such layers have no norm after their branches, and what is added has residual_scale in it already.
  void add_to_stream(const GateOp& op);

  bool has_post_norm() const { return realizar::has_post_norm(config_.layers[layer_].norm_place); }
  // Adds out(), normalized, to the stream: of a branch that several operations have written to.
  void add_post_norm();

 private:
  void add_post_norm(ActId out);
  // After a branch was added; `out` may be the stream.
  void add_norm_of_stream(ActId out);
  // What the mixer reads and a product of a low rank of it are added to the stream (LAuReL).
  void add_laurel(const LayerWeights& weights);
  // Of AltUp: before the layer, and after it.
  void predict_streams(const LayerWeights& weights);
  void correct_streams(const LayerWeights& weights);
  // [n_rows, n_streams], made of `in`.
  ActId route_streams(const LayerWeights& weights, ActId in);
  // What the layer takes of the token by a table of its own.
  void add_layer_input(const LayerWeights& weights, float out_scale);
  // in() becomes the stream, normalized into `out` and scaled.
  void norm(ActId out, WeightId weight, WeightId bias, OpRole role, float scale = 1.0f);

  Program& program_;
  const ModelConfig& config_;
  const Weights& weights_;
  const Stream acts_;
  const uint32_t layer_;
  // Of the branch that is being built.
  ActId in_ = kNoAct;
  WeightId post_norm_ = kNoWeight, post_norm_bias_ = kNoWeight;
  float post_scale_ = 1.0f;  // on the stream, after it
};

}  // namespace realizar
