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

// Number of members of an aggregate: the most values that it can be initialized with.
struct AnyValue {
  template <class T>
  constexpr operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, class... Values>
consteval size_t n_members() {
  if constexpr (requires { T{Values{}..., AnyValue{}}; }) {
    return n_members<T, Values..., AnyValue>();
  } else {
    return sizeof...(Values);
  }
}
template <class T>
consteval size_t n_visited() {
  size_t n = 0;
  T{}.visit([&n](const char*, const auto&) { ++n; });
  return n;
}

void add(Hash& hash, const Xielu& xielu) {
  hash.add_all(xielu.alpha_p, xielu.alpha_n, xielu.beta, xielu.eps);
}

template <class Kind>
void add(Hash& hash, const Kind& kind) {
  static_assert(n_members<Kind>() == n_visited<Kind>(), "visit() names every field");
  kind.visit([&hash](const char*, const auto& value) {
    if constexpr (requires { hash.add(value); }) {
      hash.add(value);
    } else {
      add(hash, value);
    }
  });
}

// Structured bindings name every field: a struct with a new field does not compile until it is added here. The context
// length (n_ctx) is left out: it only affects the rotations.
void add(Hash& hash, const LayerConfig& config) {
  const auto& [norm_place, mixer, ffn, out_scale, ffn_in_scale, has_mixer_norm] = config;
  const auto add_kind = [&hash](const auto& kind) { add(hash, kind); };
  hash.add_all(norm_place, mixer.index(), ffn.index(), out_scale, ffn_in_scale, has_mixer_norm);
  std::visit(add_kind, mixer);
  std::visit(add_kind, ffn);
}

void add(Hash& hash, const RopeConfig& config) {
  const auto& [n_rot, inv_freq, scale, base] = config;  // the frequencies include the base
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
               learned_positions, is_head_tied, has_unit_head, lacks_head, pooling, is_bidirectional, n_types, n_labels,
               n_dense, embed_scale, residual_scale, logit_scale, final_softcap, layer_table, altup, n_layers_each] =
      config;
  const auto& [d_layer_input, n_layer_vocab] = layer_table;
  const auto& [n_streams, laurel_rank] = altup;
  Hash hash(0);
  hash.add_all(arch, name, n_layers, d_model, n_vocab, d_ff, n_ctx_train, norm, norm_eps, learned_positions,
               is_head_tied, has_unit_head, lacks_head, pooling, is_bidirectional, n_types, n_labels, n_dense,
               embed_scale, residual_scale, logit_scale, final_softcap, d_layer_input, n_layer_vocab, n_streams,
               laurel_rank, n_layers_each);
  for (const LayerConfig& layer : layers) add(hash, layer);
  for (const RopeConfig& rope : ropes) add(hash, rope);
  return hash.value();
}

}  // namespace realizar
