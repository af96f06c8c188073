#include "tools/hf_forms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace realizar {
namespace {

// A norm whose weights may be stored as w for 1 + w.
bool is_norm(Role role) {
  constexpr Role kNorms[] = {Role::kFinalNorm,       Role::kEmbedNorm,     Role::kLayerTableNorm, Role::kAttnNorm,
                             Role::kAttnPostNorm,    Role::kFfnNorm,       Role::kFfnPostNorm,    Role::kInputNorm,
                             Role::kAltUpRouterNorm, Role::kLaurelNorm,    Role::kAttnSubNorm,    Role::kFfnSubNorm,
                             Role::kQNorm,           Role::kKNorm,         Role::kLatentNorm,     Role::kExpertNorm,
                             Role::kExpertPostNorm,  Role::kSharedPostNorm};
  return std::ranges::find(kNorms, role) != std::end(kNorms);
}

// The position of row `row` in heads of `head_dim` rows, of which those in [first, first + n_rot) are pairs in one
// order and halves in the other.
struct Rotated {
  uint64_t head_dim, first, n_rot;

  uint64_t pair_of_half(uint64_t row) const {
    return moved(row, [&](uint64_t i) { return i < n_rot / 2 ? 2 * i : 2 * (i - n_rot / 2) + 1; });
  }
  uint64_t half_of_pair(uint64_t row) const {
    return moved(row, [&](uint64_t i) { return i % 2 == 0 ? i / 2 : n_rot / 2 + i / 2; });
  }

 private:
  template <class Place>
  uint64_t moved(uint64_t row, const Place& place) const {
    const uint64_t in_head = row % head_dim;
    if (in_head < first || in_head >= first + n_rot) return row;
    return row - in_head + first + place(in_head - first);
  }
};

// The function that maps a row's position in one order to that in the other.
std::function<uint64_t(uint64_t)> order_from(const Rotated& rotated, bool are_pairs, bool become_pairs) {
  if (are_pairs == become_pairs) return nullptr;
  if (become_pairs) return [rotated](uint64_t row) { return rotated.half_of_pair(row); };
  return [rotated](uint64_t row) { return rotated.pair_of_half(row); };
}

// A matrix with changed values is rounded to its original type if that has no blocks.
MatrixRows in_stored_type(const MatrixRows& rows, MatrixRows changed) {
  return traits(rows->type()).block_elems == 1 ? rows_in_type(std::move(changed), rows->type()) : changed;
}

MatrixRows scaled(MatrixRows rows, float factor) {
  if (factor == 1) return rows;
  return in_stored_type(rows, changed_rows(rows, [factor](uint64_t, std::span<float> row) {
                          for (float& value : row) value *= factor;
                        }));
}

}  // namespace

MatrixRows HfForms::changed(Role role, int32_t layer, MatrixRows rows, bool to_gguf) const {
  rows = with_values(role, in_order(role, layer, std::move(rows), to_gguf), to_gguf);
  return to_gguf ? multiplied(role, layer, std::move(rows)) : rows;
}

MatrixRows HfForms::in_order(Role role, int32_t layer, MatrixRows rows, bool to_gguf) const {
  if (layer < 0) return rows;
  const MixerConfig& mixer = config_.layers[static_cast<size_t>(layer)].mixer;
  Order order;
  if (const auto* own = std::get_if<AttentionConfig>(&mixer)) order = pair_order(role, *own, to_gguf);
  if (const auto* own = std::get_if<LatentAttentionConfig>(&mixer)) {
    // GGUF stores the matrix that makes keys from a latent transposed, head by head.
    if (role == Role::kLatentK) return turned_rows(std::move(rows), to_gguf ? own->d_nope : own->latent_dim);
    order = latent_order(role, *own, to_gguf);
  }
  if (const auto* own = std::get_if<DeltaNetConfig>(&mixer); own && spec_.gguf_key_heads_in_turn) {
    return by_key_head(role, *own, std::move(rows), to_gguf);
  }
  const uint64_t n_rows = rows->n_rows();
  return order ? ordered_rows(std::move(rows), n_rows, std::move(order)) : rows;
}

HfForms::Order HfForms::pair_order(Role role, const AttentionConfig& c, bool to_gguf) const {
  const bool has_gates =
      c.has_gate && role == Role::kWq && size_of(c, Dim::kGatedQ) > 0 &&
      std::ranges::none_of(spec_.tensors, [](const TensorSpec& t) { return t.role == Role::kAttnGate; });
  const bool is_turned = role == Role::kWq || role == Role::kWk || role == Role::kBq || role == Role::kBk ||
                         role == Role::kQNorm || role == Role::kKNorm;
  if (!is_turned || has_gates || config_.ropes.empty()) return nullptr;
  const Rotated rotated{c.head_dim, 0, config_.ropes.front().n_rot};
  return order_from(rotated, to_gguf ? pairs_.hf : pairs_.gguf, to_gguf ? pairs_.gguf : pairs_.hf);
}

HfForms::Order HfForms::latent_order(Role role, const LatentAttentionConfig& c, bool to_gguf) const {
  const bool is_of_queries = role == Role::kWq || role == Role::kWqB;
  if (!is_of_queries && role != Role::kWLatent) return nullptr;
  const uint64_t head_dim = is_of_queries ? c.query_dim() : c.key_dim();
  const Rotated rotated{head_dim, head_dim - c.n_rot, c.n_rot};
  return order_from(rotated, to_gguf ? pairs_.hf : pairs_.gguf, to_gguf ? pairs_.gguf : pairs_.hf);
}

// Hugging Face stores the value heads that share a key head together, GGUF interleaves them.
MatrixRows HfForms::by_key_head(Role role, const DeltaNetConfig& c, MatrixRows rows, bool to_gguf) const {
  const uint64_t n_keys = c.n_key_heads, n_each = c.n_heads / c.n_key_heads;
  const auto place = [=](uint64_t first, uint64_t dim) {
    return [=](uint64_t row) {
      if (row < first) return row;
      const uint64_t at = row - first, head = at / dim;
      const uint64_t from = to_gguf ? head % n_keys * n_each + head / n_keys : head % n_each * n_keys + head / n_each;
      return first + from * dim + at % dim;
    };
  };
  const uint64_t n_rows = rows->n_rows();
  if (role == Role::kSsmOut) {
    std::vector<uint32_t> order(c.n_values());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::transform(order, order.begin(), place(0, c.value_dim));
    return with_columns(std::move(rows), std::move(order));
  }
  if (role == Role::kDeltaQkv || role == Role::kSsmConv) {
    return ordered_rows(std::move(rows), n_rows, place(uint64_t{2} * c.n_keys(), c.value_dim));
  }
  if (role == Role::kDeltaGate) return ordered_rows(std::move(rows), n_rows, place(0, c.value_dim));
  const bool is_of_heads =
      role == Role::kDeltaBeta || role == Role::kDeltaDecay || role == Role::kSsmA || role == Role::kSsmDtBias;
  return is_of_heads ? ordered_rows(std::move(rows), n_rows, place(0, 1)) : rows;
}

MatrixRows HfForms::with_values(Role role, MatrixRows rows, bool to_gguf) const {
  if (spec_.hf_norm_plus_one && is_norm(role)) {
    const float more = to_gguf ? 1.0f : -1.0f;
    return changed_rows(std::move(rows), [more](uint64_t, std::span<float> row) {
      for (float& value : row) value += more;
    });
  }
  // Hugging Face stores the logarithm of the negated decay.
  if (role == Role::kSsmA) {
    return changed_rows(std::move(rows), [to_gguf](uint64_t, std::span<float> row) {
      for (float& value : row) value = to_gguf ? -std::exp(value) : std::log(-value);
    });
  }
  const bool has_unit_rows = to_gguf && role == Role::kHead && config_.has_unit_head;
  if (has_unit_rows) {
    auto changed = changed_rows(rows, [](uint64_t, std::span<float> row) {
      const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
      const auto factor = static_cast<float>(1 / std::max(std::sqrt(squares), 1e-12));
      for (float& value : row) value *= factor;
    });
    return in_stored_type(rows, std::move(changed));
  }
  return rows;
}

MatrixRows HfForms::multiplied(Role role, int32_t layer, MatrixRows rows) const {
  const std::pair<Role, float> kFactors[] = {
      {Role::kEmbed, factors_.embed}, {Role::kHead, factors_.head},  {Role::kWq, factors_.wq},
      {Role::kWk, factors_.wk},       {Role::kWv, factors_.wv},      {Role::kWo, factors_.wo},
      {Role::kWGate, factors_.gate},  {Role::kWDown, factors_.down}, {Role::kSsmOut, factors_.ssm_out}};
  for (const auto& [own, factor] : kFactors) {
    if (own == role) return scaled(std::move(rows), factor);
  }
  const auto* scan = layer < 0 ? nullptr : std::get_if<Mamba2Config>(&config_.layers[static_cast<size_t>(layer)].mixer);
  if (role != Role::kSsmIn || scan == nullptr || factors_.ssm_in.empty()) return rows;
  const uint64_t n_group = uint64_t{scan->n_groups} * scan->d_state;
  std::vector<uint64_t> ends{scan->n_inner(), scan->n_inner(), n_group, n_group, scan->n_heads};
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  auto changed = changed_rows(rows, [ends, factors = factors_.ssm_in](uint64_t row, std::span<float> values) {
    const auto part = static_cast<size_t>(std::ranges::upper_bound(ends, row) - ends.begin());
    for (float& value : values) value *= factors[std::min(part, factors.size() - 1)];
  });
  return in_stored_type(rows, std::move(changed));
}

}  // namespace realizar
