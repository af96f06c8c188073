#include "tools/mix.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace realizar {
namespace {

using enum MixPart;
using enum MixWhere;
using T = TypeId;

// Mixtures below 3 bits: the head and attention's values keep more of them, and so do tensors whose errors all later
// layers see.
constexpr MixRule kIq1[] = {{kOutput, T::kQ5_K},
                            {kEmbedding, T::kQ2_K},
                            {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                            {kAttnV, T::kQ4_K, MixIf::kManyExperts},
                            {kAttnV, T::kQ2_K},
                            {kAttnK, T::kQ4_K, MixIf::k8Experts},
                            {kFfnDown, T::kQ2_K, MixIf::kAlways, kFirst8th},
                            {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                            {kAttnOutput, T::kIQ2_XXS}};
// Without the last rule: attention's output has the base type.
constexpr std::span<const MixRule> kIq2Small(kIq1, std::size(kIq1) - 1);
constexpr MixRule kIq2S[] = {{kOutput, T::kQ5_K},
                             {kEmbedding, T::kIQ3_S},
                             {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                             {kAttnV, T::kQ4_K, MixIf::kManyExperts},
                             {kAttnV, T::kIQ3_S},
                             {kAttnK, T::kQ4_K, MixIf::k8Experts},
                             {kFfnDown, T::kIQ3_S, MixIf::kAlways, kFirst8th},
                             {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                             {kAttnOutput, T::kIQ3_S}};
constexpr MixRule kIq3Xxs[] = {{kOutput, T::kQ5_K},
                               {kEmbedding, T::kIQ3_S},
                               {kAttnV, T::kQ8_0, MixIf::k8Experts},
                               {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                               {kAttnV, T::kIQ3_S, MixIf::kNoImportance},
                               {kAttnK, T::kQ8_0, MixIf::k8Experts},
                               {kAttnK, T::kIQ2_S},
                               {kAttnQ, T::kIQ2_S},
                               {kFfnDown, T::kQ4_K, MixIf::kNoImportance, kFirst8th},
                               {kFfnDown, T::kQ3_K, MixIf::kNoImportance},
                               {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                               {kAttnOutput, T::kIQ3_S}};
constexpr MixRule kIq3Xs[] = {{kOutput, T::kQ6_K},
                              {kAttnV, T::kQ8_0, MixIf::k8Experts},
                              {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                              {kAttnK, T::kQ8_0, MixIf::k8Experts},
                              {kAttnK, T::kIQ3_XXS},
                              {kAttnQ, T::kIQ3_XXS},
                              {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                              {kFfnGate, T::kIQ3_XXS, MixIf::kAlways, kMiddle},
                              {kFfnUp, T::kIQ3_XXS, MixIf::kAlways, kMiddle}};
constexpr MixRule kIq3S[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kAttnOutput, T::kQ5_K, MixIf::k8Experts}};
constexpr MixRule kIq3M[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ4_K},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kFfnDown, T::kQ4_K, MixIf::kAlways, kFirst8th},
                             {kFfnDown, T::kQ4_K, MixIf::k8Experts, kMoreBits},
                             {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                             {kAttnOutput, T::kQ4_K},
                             {kAttnQkv, T::kQ4_K}};
constexpr MixRule kIq4[] = {{kOutput, T::kQ6_K},
                            {kAttnV, T::kQ8_0, MixIf::k8Experts},
                            {kAttnV, T::kQ5_K, MixIf::kSharedHeads},
                            {kAttnK, T::kQ8_0, MixIf::k8Experts},
                            {kFfnDown, T::kQ5_K, MixIf::kNoImportance, kFirst8th},
                            {kAttnOutput, T::kQ5_K, MixIf::k8Experts}};
constexpr MixRule kQ2K[] = {{kOutput, T::kQ6_K},
                            {kAttnV, T::kQ8_0, MixIf::k8Experts},
                            {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                            {kAttnV, T::kQ3_K},
                            {kAttnK, T::kQ8_0, MixIf::k8Experts},
                            {kFfnDown, T::kQ3_K},
                            {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                            {kAttnOutput, T::kQ3_K}};
constexpr MixRule kQ2KS[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ4_K, MixIf::kSharedHeads},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kFfnDown, T::kQ4_K, MixIf::kAlways, kFirst8th}};
constexpr MixRule kQ3KS[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kAttnOutput, T::kQ5_K, MixIf::k8Experts}};
constexpr MixRule kQ3KM[] = {
    {kOutput, T::kQ6_K},  {kAttnV, T::kQ8_0, MixIf::k8Experts},      {kAttnV, T::kQ5_K, MixIf::kAlways, kFirst2},
    {kAttnV, T::kQ4_K},   {kAttnK, T::kQ8_0, MixIf::k8Experts},      {kFfnDown, T::kQ5_K, MixIf::kAlways, kFirst16th},
    {kFfnDown, T::kQ4_K}, {kAttnOutput, T::kQ5_K, MixIf::k8Experts}, {kAttnOutput, T::kQ4_K},
    {kAttnQkv, T::kQ4_K}};
constexpr MixRule kQ3KL[] = {{kOutput, T::kQ6_K},  {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ5_K},   {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kFfnDown, T::kQ5_K}, {kAttnOutput, T::kQ5_K},
                             {kAttnQkv, T::kQ4_K}};
constexpr MixRule kQ4KS[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ5_K, MixIf::kAlways, kFirst4},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kFfnDown, T::kQ5_K, MixIf::kAlways, kFirst8th},
                             {kAttnOutput, T::kQ5_K, MixIf::k8Experts}};
constexpr MixRule kQ4KM[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ6_K, MixIf::kAlways, kMoreBits},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kFfnDown, T::kQ6_K, MixIf::kAlways, kMoreBits},
                             {kAttnOutput, T::kQ5_K, MixIf::k8Experts},
                             {kAttnQkv, T::kQ5_K}};
constexpr MixRule kQ5KS[] = {
    {kOutput, T::kQ6_K}, {kAttnV, T::kQ8_0, MixIf::k8Experts}, {kAttnK, T::kQ8_0, MixIf::k8Experts}};
constexpr MixRule kQ5KM[] = {{kOutput, T::kQ6_K},
                             {kAttnV, T::kQ8_0, MixIf::k8Experts},
                             {kAttnV, T::kQ6_K, MixIf::kAlways, kMoreBits},
                             {kAttnK, T::kQ8_0, MixIf::k8Experts},
                             {kFfnDown, T::kQ6_K, MixIf::kAlways, kMoreBits},
                             {kAttnQkv, T::kQ6_K}};
constexpr MixRule kQ6K[] = {{kAttnV, T::kQ8_0, MixIf::k8Experts}, {kAttnK, T::kQ8_0, MixIf::k8Experts}};
constexpr MixRule kQ40[] = {{kOutput, T::kQ6_K},
                            {kAttnV, T::kQ8_0, MixIf::k8Experts},
                            {kAttnK, T::kQ8_0, MixIf::k8Experts},
                            {kFfnDown, T::kQ4_1, MixIf::kImportance, kFirst8th}};
constexpr MixRule kQ50[] = {{kOutput, T::kQ6_K},
                            {kAttnV, T::kQ8_0, MixIf::k8Experts},
                            {kAttnK, T::kQ8_0, MixIf::k8Experts},
                            {kFfnDown, T::kQ5_1, MixIf::kImportance, kFirst8th}};
constexpr MixRule kWithQ6Head[] = {{kOutput, T::kQ6_K}};
constexpr MixRule kTernary[] = {{kOutput, T::kQ6_K}, {kEmbedding, T::kQ4_K}};
constexpr MixRule kExpertsOnly[] = {{kOutput, T::kQ8_0},
                                    {kFfnDown, T::kMXFP4, MixIf::kStack},
                                    {kFfnGate, T::kMXFP4, MixIf::kStack},
                                    {kFfnUp, T::kMXFP4, MixIf::kStack},
                                    {kOther, T::kMXFP4, MixIf::kStack}};

constexpr Mix kMixes[] = {{"TQ1_0", 36, T::kTQ1_0, kTernary},
                          {"IQ1_S", 24, T::kIQ1_S, kIq1, true},
                          {"IQ1_M", 31, T::kIQ1_M, kIq1, true},
                          {"TQ2_0", 37, T::kTQ2_0, kTernary},
                          {"IQ2_XXS", 19, T::kIQ2_XXS, kIq2Small, true},
                          {"IQ2_XS", 20, T::kIQ2_XS, kIq2Small, true},
                          {"IQ2_S", 28, T::kIQ2_XS, kIq2S, true},
                          {"IQ2_M", 29, T::kIQ2_S, kIq2S},
                          {"Q2_K_S", 21, T::kQ2_K, kQ2KS},
                          {"Q2_K", 10, T::kQ2_K, kQ2K},
                          {"IQ3_XXS", 23, T::kIQ3_XXS, kIq3Xxs},
                          {"IQ3_XS", 22, T::kIQ3_S, kIq3Xs},
                          {"IQ3_S", 26, T::kIQ3_S, kIq3S},
                          {"Q3_K_S", 11, T::kQ3_K, kQ3KS},
                          {"IQ3_M", 27, T::kIQ3_S, kIq3M},
                          {"Q3_K_M", 12, T::kQ3_K, kQ3KM},
                          {"Q3_K_L", 13, T::kQ3_K, kQ3KL},
                          {"MXFP4", 38, T::kMXFP4, kWithQ6Head},
                          {"MXFP4_MOE", 38, T::kQ8_0, kExpertsOnly},
                          {"IQ4_XS", 30, T::kIQ4_XS, kIq4},
                          {"IQ4_NL", 25, T::kIQ4_NL, kIq4},
                          {"Q4_0", 2, T::kQ4_0, kQ40},
                          {"Q4_K_S", 14, T::kQ4_K, kQ4KS},
                          {"Q4_K_M", 15, T::kQ4_K, kQ4KM},
                          {"Q4_1", 3, T::kQ4_1, kWithQ6Head},
                          {"Q5_0", 8, T::kQ5_0, kQ50},
                          {"Q5_K_S", 16, T::kQ5_K, kQ5KS},
                          {"Q5_K_M", 17, T::kQ5_K, kQ5KM},
                          {"Q5_1", 9, T::kQ5_1, kWithQ6Head},
                          {"Q6_K", 18, T::kQ6_K, kQ6K},
                          {"Q8_0", 7, T::kQ8_0, {}},
                          {"F16", 1, T::kF16, {}},
                          {"BF16", 32, T::kBF16, {}},
                          {"F32", 0, T::kF32, {}}};

// "blk.12.ffn_up.weight" -> 12; nullopt for other names.
std::optional<uint32_t> layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  uint32_t layer = 0;
  const auto read = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return read.ec == std::errc() ? std::optional(layer) : std::nullopt;
}

bool is_in(MixWhere where, uint32_t layer, uint32_t n) {
  switch (where) {
    case kAll:
      return true;
    case kFirst2:
      return layer < 2;
    case kFirst4:
      return layer < 4;
    case kFirst16th:
      return layer < n / 16;
    case kFirst8th:
      return layer < n / 8;
    case kMiddle:
      return layer >= n / 8 && layer < 7 * n / 8;
    case kMoreBits:
      return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
  }
  return false;
}

bool is_met(MixIf condition, bool is_stack, const MixModel& model) {
  switch (condition) {
    case MixIf::kAlways:
      return true;
    case MixIf::kStack:
      return is_stack;
    case MixIf::kSharedHeads:
      return model.heads_per_kv >= 4;
    case MixIf::kManyExperts:
      return model.n_experts >= 4;
    case MixIf::k8Experts:
      return model.n_experts == 8;
    case MixIf::kImportance:
      return model.has_importance;
    case MixIf::kNoImportance:
      return !model.has_importance;
  }
  return false;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

uint32_t count_of(const Metadata& metadata, const std::string& key) {
  const auto value = metadata.get_int(key);
  if (value.ok() && *value) return static_cast<uint32_t>(std::clamp<int64_t>(**value, 0, 1 << 20));
  // A list has a number for each layer: takes the largest.
  const auto list = metadata.get_ints(key);
  if (!list.ok() || !*list || (*list)->empty()) return 0;
  return static_cast<uint32_t>(std::clamp<int64_t>(*std::ranges::max_element(**list), 0, 1 << 20));
}

}  // namespace

std::span<const Mix> all_mixes() {
  return kMixes;
}

const Mix* find_mix(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (wanted == "Q3_K" || wanted == "Q4_K" || wanted == "Q5_K") wanted += "_M";
  const auto* found = std::ranges::find_if(
      kMixes, [&](const Mix& mix) { return mix.name == wanted || std::to_string(mix.file_type) == wanted; });
  return found == std::end(kMixes) ? nullptr : found;
}

MixModel MixModel::of(const Metadata& metadata) {
  MixModel model;
  const auto arch = metadata.get_string("general.architecture");
  if (!arch.ok() || !*arch) return model;
  model.n_layers = count_of(metadata, **arch + ".block_count");
  model.n_experts = count_of(metadata, **arch + ".expert_count");
  const uint32_t n_heads = count_of(metadata, **arch + ".attention.head_count");
  const uint32_t n_kv_heads = count_of(metadata, **arch + ".attention.head_count_kv");
  if (n_kv_heads > 0) model.heads_per_kv = n_heads / n_kv_heads;
  return model;
}

MixPart mix_part_of(std::string_view name, const MixModel& model) {
  const bool is_embedding = name == "token_embd.weight";
  if (name == "output.weight" || (is_embedding && !model.has_output)) return kOutput;
  if (is_embedding || name == "per_layer_token_embd.weight") return kEmbedding;
  constexpr std::pair<std::string_view, MixPart> kNames[] = {{"attn_qkv.weight", kAttnQkv},
                                                             {"attn_kv_b.weight", kAttnV},
                                                             {"attn_v.weight", kAttnV},
                                                             {"attn_k.weight", kAttnK},
                                                             {"attn_q.weight", kAttnQ},
                                                             {"attn_output.weight", kAttnOutput},
                                                             {"ffn_up", kFfnUp},
                                                             {"ffn_gate", kFfnGate},
                                                             {"ffn_down", kFfnDown}};
  for (const auto& [part_name, part] : kNames) {
    if (contains(name, part_name)) return part;
  }
  return kOther;
}

TypeId mixed_type(const Mix& mix, std::string_view name, bool is_stack, const MixModel& model) {
  const MixPart part = mix_part_of(name, model);
  const std::optional<uint32_t> layer = layer_of(name);
  for (const MixRule& rule : mix.rules) {
    const bool is_here = rule.where == kAll || (layer && is_in(rule.where, *layer, model.n_layers));
    if (rule.part == part && is_here && is_met(rule.condition, is_stack, model)) return rule.type;
  }
  return mix.base;
}

bool is_kept(std::string_view name, std::span<const uint64_t> shape) {
  const auto n_long = std::ranges::count_if(shape, [](uint64_t dim) { return dim > 1; });
  if (n_long < 2 || !name.ends_with("weight")) return true;
  constexpr std::string_view kParts[] = {"_norm.weight",
                                         "ffn_gate_inp.weight",
                                         "ffn_gate_tid2eid.weight",
                                         "altup",
                                         "laurel",
                                         "per_layer_model_proj",
                                         "ssm_conv1d",
                                         "shortconv.conv.weight",
                                         "indexer.k_proj.weight",
                                         "indexer.q_proj.weight",
                                         "time_mix_first.weight",
                                         "time_mix_w0.weight",
                                         "time_mix_w1.weight",
                                         "time_mix_w2.weight",
                                         "time_mix_v0.weight",
                                         "time_mix_v1.weight",
                                         "time_mix_v2.weight",
                                         "time_mix_a0.weight",
                                         "time_mix_a1.weight",
                                         "time_mix_a2.weight",
                                         "time_mix_g1.weight",
                                         "time_mix_g2.weight",
                                         "time_mix_decay_w1.weight",
                                         "time_mix_decay_w2.weight",
                                         "time_mix_lerp_fused.weight",
                                         "attn_rel_b.weight",
                                         "position_embd",
                                         "token_types"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return contains(name, part); });
}

TypeId fitting_type(TypeId wanted, uint64_t n_cols) {
  const auto fits = [n_cols](TypeId type) { return n_cols % traits(type).block_elems == 0; };
  constexpr std::pair<T, T> kInstead[] = {{T::kIQ1_S, T::kIQ4_NL},  {T::kIQ1_M, T::kIQ4_NL},  {T::kIQ2_XXS, T::kIQ4_NL},
                                          {T::kIQ2_XS, T::kIQ4_NL}, {T::kIQ2_S, T::kIQ4_NL},  {T::kIQ3_XXS, T::kIQ4_NL},
                                          {T::kIQ3_S, T::kIQ4_NL},  {T::kIQ4_XS, T::kIQ4_NL}, {T::kQ2_K, T::kQ4_0},
                                          {T::kQ3_K, T::kQ4_0},     {T::kTQ1_0, T::kQ4_0},    {T::kTQ2_0, T::kQ4_0},
                                          {T::kQ4_K, T::kQ5_0},     {T::kQ5_K, T::kQ5_1},     {T::kQ6_K, T::kQ8_0}};
  if (fits(wanted)) return wanted;
  const auto* found = std::ranges::find(kInstead, wanted, &std::pair<T, T>::first);
  if (found != std::end(kInstead) && fits(found->second)) return found->second;
  return T::kF16;
}

}  // namespace realizar
