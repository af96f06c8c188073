#include "model/fingerprint.h"

#include <xxhash.h>

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "formats/packed_matrix.h"

namespace realizar {
namespace {

class Hash {
 public:
  explicit Hash(uint64_t previous) : value_(previous) {}

  template <class T>
  Hash& add(std::span<T> values) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>, "no padding");
    value_ = XXH3_64bits_withSeed(values.data(), values.size_bytes(), value_);
    return *this;
  }
  template <class T>
  Hash& add(const std::vector<T>& values) {
    return add(values.size()).add(std::span(values));
  }
  Hash& add(const std::string& text) { return add(text.size()).add(std::span(text)); }
  template <class T>
  std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, Hash&> add(const T& value) {
    return add(std::span(&value, 1));
  }
  template <class... T>
  Hash& add_all(const T&... values) {
    (add(values), ...);
    return *this;
  }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_;
};

// Structured bindings name every field: one that is added to a struct and forgotten here does not compile. The context
// in use (n_ctx) has no part in the computation but for the rotations that were chosen by it.
void add(Hash& hash, const AttentionConfig& config) {
  const auto& [n_heads, n_kv_heads, head_dim, rope_idx, n_interleaved, window, is_chunked, qk_norm, qkv_rows, has_gate,
               has_sinks, scale, softcap, norms_last, out_scale, clip, temperature, alibi, values, kv_layer,
               temperature_step, temperature_offset, sees_later, alibi_is_scaled] = config;
  hash.add_all(n_heads, n_kv_heads, head_dim, rope_idx, n_interleaved, window, is_chunked, qk_norm, qkv_rows, has_gate,
               has_sinks, scale, softcap, norms_last, out_scale, clip, temperature, alibi, values, kv_layer,
               temperature_step, temperature_offset, sees_later, alibi_is_scaled);
}

void add(Hash& hash, const LatentAttentionConfig& config) {
  const auto& [n_heads, q_rank, latent_dim, d_nope, n_rot, d_value, rope_idx, is_interleaved, scale, temperature,
               temperature_step, temperature_offset] = config;
  hash.add_all(n_heads, q_rank, latent_dim, d_nope, n_rot, d_value, rope_idx, is_interleaved, scale, temperature,
               temperature_step, temperature_offset);
}

void add(Hash& hash, const Mamba2Config& config) {
  const auto& [n_heads, head_dim, n_groups, d_state, n_taps, has_norm, scales] = config;
  const auto& [gate, x, b, c, dt, out] = scales;
  hash.add_all(n_heads, head_dim, n_groups, d_state, n_taps, has_norm, gate, x, b, c, dt, out);
}

void add(Hash& hash, const MambaConfig& config) {
  const auto& [n_inner, d_state, dt_rank, n_taps, has_norms, norms_eps] = config;
  hash.add_all(n_inner, d_state, dt_rank, n_taps, has_norms, norms_eps);
}

void add(Hash& hash, const DeltaNetConfig& config) {
  const auto& [n_heads, n_key_heads, key_dim, value_dim, n_taps, key_heads_in_turn] = config;
  hash.add_all(n_heads, n_key_heads, key_dim, value_dim, n_taps, key_heads_in_turn);
}

void add(Hash& hash, const KimiDeltaConfig& config) {
  const auto& [n_heads, head_dim, n_taps] = config;
  hash.add_all(n_heads, head_dim, n_taps);
}

void add(Hash& hash, const ShortConvConfig& config) {
  const auto& [n_cols, n_taps] = config;
  hash.add_all(n_cols, n_taps);
}

void add(Hash& hash, const Rwkv7Config& config) {
  const auto& [n_heads, head_dim, decay_rank, rate_rank, v_rank, gate_rank, norm_eps, is_first] = config;
  hash.add_all(n_heads, head_dim, decay_rank, rate_rank, v_rank, gate_rank, norm_eps, is_first);
}

void add(Hash& hash, const ChannelMixConfig& config) {
  const auto& [d_ff] = config;
  hash.add(d_ff);
}

void add(Hash& hash, const GatedConfig& config) {
  const auto& [d_ff, activation, out_scale, n_stds] = config;
  hash.add_all(d_ff, activation, out_scale, n_stds);
}

void add(Hash& hash, const PlainConfig& config) {
  const auto& [d_ff, activation, xielu] = config;
  const auto& [alpha_p, alpha_n, beta, eps] = xielu;
  hash.add_all(d_ff, activation, alpha_p, alpha_n, beta, eps);
}

void add(Hash& hash, const ExpertsConfig& config) {
  const auto& [n_experts, n_used, d_ff, renormalize, scale, activation, score, near_share, n_groups, n_used_groups,
               n_group_best, d_shared_ff, has_shared_router, has_biases, has_gates, weighs_input, gate_up_rows, input,
               out_scale, d_latent] = config;
  hash.add_all(n_experts, n_used, d_ff, renormalize, scale, activation, score, near_share, n_groups, n_used_groups,
               n_group_best, d_shared_ff, has_shared_router, has_biases, has_gates, weighs_input, gate_up_rows, input,
               out_scale, d_latent);
}

void add(Hash&, const NoFfnConfig&) {}
void add(Hash&, const NoMixerConfig&) {}

void add(Hash& hash, const LayerConfig& config) {
  const auto& [norm_place, mixer, ffn, out_scale, ffn_in_scale, has_mixer_norm] = config;
  const auto add_kind = [&hash](const auto& kind) { add(hash, kind); };
  hash.add_all(norm_place, mixer.index(), ffn.index(), out_scale, ffn_in_scale, has_mixer_norm);
  std::visit(add_kind, mixer);
  std::visit(add_kind, ffn);
}

void add(Hash& hash, const RopeConfig& config) {
  const auto& [n_rot, inv_freq, scale, base] = config;  // the frequencies are made of the base
  hash.add_all(n_rot, inv_freq, scale);
}

}  // namespace

uint64_t hash_of(const TensorInfo& tensor, uint64_t previous) {
  Hash hash(previous);
  hash.add_all(tensor.name, tensor.type, tensor.shape);
  if (tensor.packed == nullptr) return hash.add(tensor.data).value();
  for (const auto part : tensor.packed->parts()) hash.add(part);
  return hash.value();
}

uint64_t hash_of(const ModelConfig& config) {
  const auto& [arch, name, n_layers, d_model, n_vocab, d_ff, n_ctx_train, n_ctx, layers, ropes, norm, norm_eps,
               learned_positions, is_head_tied, has_unit_head, lacks_head, pooling, sees_later, n_types, n_labels,
               n_dense, embed_scale, residual_scale, logit_scale, final_softcap, layer_table, altup, n_layers_each] =
      config;
  const auto& [d_layer_input, n_layer_vocab] = layer_table;
  const auto& [n_streams, laurel_rank] = altup;
  Hash hash(0);
  hash.add_all(arch, name, n_layers, d_model, n_vocab, d_ff, n_ctx_train, norm, norm_eps, learned_positions,
               is_head_tied, has_unit_head, lacks_head, pooling, sees_later, n_types, n_labels, n_dense, embed_scale,
               residual_scale, logit_scale, final_softcap, d_layer_input, n_layer_vocab, n_streams, laurel_rank,
               n_layers_each);
  for (const LayerConfig& layer : layers) add(hash, layer);
  for (const RopeConfig& rope : ropes) add(hash, rope);
  return hash.value();
}

}  // namespace realizar
