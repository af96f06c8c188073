#include "model/fingerprint.h"

#include <xxhash.h>

#include <span>
#include <string>
#include <type_traits>
#include <vector>

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

}  // namespace

uint64_t hash_of(const TensorInfo& tensor, uint64_t previous) {
  return Hash(previous).add_all(tensor.name, tensor.type, tensor.shape).add(tensor.data).value();
}

// Structured bindings name every field: one that is added to a struct and forgotten here does not compile.
uint64_t hash_of(const ModelConfig& config) {
  const auto& [arch, name, n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab, n_ctx_train, layers, norm,
               norm_place, norm_eps, qk_norm, activation, rope, learned_positions, moe, embed_scale, attn_scale,
               attn_softcap, final_softcap] = config;
  Hash hash(0);
  hash.add_all(arch, name, n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab, n_ctx_train, norm,
               norm_place, norm_eps, qk_norm, activation, learned_positions, embed_scale, attn_scale, attn_softcap,
               final_softcap);
  for (const LayerConfig& layer : layers) {
    const auto& [mixer, ffn, has_rope, window] = layer;
    hash.add_all(mixer, ffn, has_rope, window);
  }
  const auto& [n_rot, interleaved, inv_freq, rope_scale] = rope;
  hash.add_all(n_rot, interleaved, inv_freq, rope_scale);
  const auto& [n_experts, n_used, expert_d_ff, renormalize, expert_scale] = moe;
  hash.add_all(n_experts, n_used, expert_d_ff, renormalize, expert_scale);
  return hash.value();
}

}  // namespace realizar
