#include "tools/weave.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace realizar {
namespace {

const Fusion kFusions[] = {
    {Role::kWqkv, {Role::kWq, Role::kWk, Role::kWv}},
    {Role::kBqkv, {Role::kBq, Role::kBk, Role::kBv}, true},
    {Role::kWkv, {Role::kWk, Role::kWv}},
    {Role::kWGateUp, {Role::kWGate, Role::kWUp}},
    {Role::kSharedGateUp, {Role::kSharedGate, Role::kSharedUp}},
    {Role::kExpertGateUp, {Role::kExpertGate, Role::kExpertUp}},
    {Role::kExpertGateUpBias, {Role::kExpertGateBias, Role::kExpertUpBias}, true},
    {Role::kLatentKv, {Role::kLatentK, Role::kLatentV}},
    {Role::kDeltaIn, {Role::kDeltaQkv, Role::kDeltaGate}},
    {Role::kShifts,
     {Role::kShiftR, Role::kShiftDecay, Role::kShiftK, Role::kShiftV, Role::kShiftRate, Role::kShiftGate},
     true},
};

Weave of_attention(const AttentionConfig& c, Role whole, bool is_by_kv_head) {
  const uint64_t n_q = uint64_t{c.n_heads} * c.head_dim, n_kv = uint64_t{c.n_kv_heads} * c.head_dim;
  if (whole == Role::kWkv) return {.runs = {n_kv, n_kv}};
  if (is_by_kv_head) return {.n_mats = c.n_kv_heads, .runs = {n_q / c.n_kv_heads, c.head_dim, c.head_dim}};
  return {.runs = {n_q, n_kv, n_kv}};
}

Weave of_experts(const ExpertsConfig& c, Role whole, GateUpRows rows) {
  const uint64_t n_mats = whole == Role::kSharedGateUp ? 1 : c.n_experts;
  const uint64_t d_ff = whole == Role::kSharedGateUp ? c.d_shared_ff : c.d_ff;
  if (rows == GateUpRows::kPaired) return {.n_mats = n_mats * d_ff, .runs = {1, 1}};
  return {.n_mats = n_mats, .runs = {d_ff, d_ff}};
}

std::optional<Weave> of_mixer(const Fusion& fusion, const ArchSpec& spec, const MixerConfig& mixer, bool is_hf) {
  const bool is_of_qkv = fusion.whole == Role::kWqkv || fusion.whole == Role::kBqkv || fusion.whole == Role::kWkv;
  if (const auto* own = std::get_if<AttentionConfig>(&mixer); own != nullptr && is_of_qkv) {
    return of_attention(*own, fusion.whole, is_hf && spec.hf_qkv_rows == QkvRows::kByKvHead);
  }
  if (const auto* own = std::get_if<LatentAttentionConfig>(&mixer); own && fusion.whole == Role::kLatentKv) {
    return Weave{.n_mats = own->n_heads, .runs = {own->d_nope, own->d_value}};
  }
  if (const auto* own = std::get_if<DeltaNetConfig>(&mixer); own && fusion.whole == Role::kDeltaIn) {
    const uint64_t n_values = own->n_values() / own->n_key_heads;
    return Weave{
        .n_mats = own->n_key_heads, .runs = {own->key_dim, own->key_dim, n_values, n_values}, .n_pieces = {3, 1}};
  }
  if (const auto* own = std::get_if<Rwkv7Config>(&mixer); own && fusion.whole == Role::kShifts) {
    return Weave{.runs = std::vector<uint64_t>(kRwkv7Mixes, own->d_model())};
  }
  return std::nullopt;
}

std::optional<Weave> of_ffn(const Fusion& fusion, const ArchSpec& spec, const FfnConfig& ffn, bool is_hf) {
  if (const auto* own = std::get_if<GatedConfig>(&ffn); own && fusion.whole == Role::kWGateUp) {
    return Weave{.runs = {own->d_ff, own->d_ff}};
  }
  const bool is_of_experts = fusion.whole == Role::kExpertGateUp || fusion.whole == Role::kExpertGateUpBias ||
                             fusion.whole == Role::kSharedGateUp;
  if (const auto* own = std::get_if<ExpertsConfig>(&ffn); own && is_of_experts) {
    return of_experts(*own, fusion.whole, is_hf ? spec.hf_gate_up_rows() : GateUpRows::kStacked);
  }
  return std::nullopt;
}

// The offset of each piece's rows within a matrix of the whole, followed by the number of rows of a matrix.
std::vector<uint64_t> offsets_of(const std::vector<uint64_t>& runs) {
  std::vector<uint64_t> offsets{0};
  for (const uint64_t run : runs) offsets.push_back(offsets.back() + run);
  return offsets;
}

}  // namespace

std::span<const Fusion> fusions() {
  return kFusions;
}

std::optional<Weave> weave_of(const Fusion& fusion, const ArchSpec& spec, const LayerConfig& layer, bool is_hf) {
  auto weave = of_mixer(fusion, spec, layer.mixer, is_hf);
  if (!weave) weave = of_ffn(fusion, spec, layer.ffn, is_hf);
  if (weave && weave->n_pieces.empty()) weave->n_pieces.assign(fusion.parts.size(), 1);
  return weave;
}

MatrixRows unwoven(MatrixRows whole, const Weave& weave, size_t part) {
  const std::vector<uint64_t> offsets = offsets_of(weave.runs);
  const auto first = static_cast<size_t>(
      std::accumulate(weave.n_pieces.begin(), weave.n_pieces.begin() + static_cast<ptrdiff_t>(part), size_t{0}));
  std::vector<MatrixRows> pieces;
  for (size_t i = first; i < first + weave.n_pieces[part]; ++i) {
    const uint64_t run = weave.runs[i], stride = offsets.back(), offset = offsets[i];
    pieces.push_back(
        ordered_rows(whole, weave.n_mats * run, [=](uint64_t row) { return row / run * stride + offset + row % run; }));
  }
  return joined_rows(std::move(pieces));
}

MatrixRows woven(const std::vector<MatrixRows>& parts, const Weave& weave) {
  const std::vector<uint64_t> offsets = offsets_of(weave.runs);
  // The part that each piece comes from, and its first row there.
  std::vector<RowPlace> pieces;
  for (size_t part = 0, i = 0; part < parts.size(); ++part) {
    for (uint64_t row = 0, n = 0; n < weave.n_pieces[part]; ++n, ++i) {
      pieces.push_back({part, row});
      row += weave.n_mats * weave.runs[i];
    }
  }
  const uint64_t stride = offsets.back();
  return gathered_rows(parts, weave.n_mats * stride, [=, runs = weave.runs](uint64_t row) {
    const uint64_t mat = row / stride, within = row % stride;
    const auto piece = static_cast<size_t>(std::ranges::upper_bound(offsets, within) - offsets.begin()) - 1;
    return RowPlace{pieces[piece].source, pieces[piece].row + mat * runs[piece] + within - offsets[piece]};
  });
}

}  // namespace realizar
