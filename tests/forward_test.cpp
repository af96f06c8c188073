// The forward pass of a tiny model of each architecture as text, compared with tests/data/programs: a change in any
// model's computation is a readable difference there.
#include "model/forward.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "backend/reference/reference_backend.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

using Names = std::vector<std::pair<WeightId, const char*>>;

Names names_of(const AttentionWeights& w) {
  return {{w.wq, "wq"},         {w.wk, "wk"},         {w.wv, "wv"},       {w.wo, "wo"},
          {w.bq, "bq"},         {w.bk, "bk"},         {w.bv, "bv"},       {w.bo, "bo"},
          {w.q_norm, "q_norm"}, {w.k_norm, "k_norm"}, {w.sinks, "sinks"}, {w.sub_norm, "attn_sub_norm"},
          {w.w_gate, "w_gate"}, {w.slopes, "slopes"}};
}

Names names_of(const LatentAttentionWeights& w) {
  return {{w.wq, "wq"},         {w.wq_a, "wq_a"}, {w.wq_b, "wq_b"},
          {w.q_norm, "q_norm"}, {w.wkv, "wkv"},   {w.latent_norm, "latent_norm"},
          {w.wk, "wk"},         {w.wv, "wv"},     {w.wo, "wo"}};
}

Names names_of(const Mamba2Weights& w) {
  return {{w.w_gate, "w_gate"}, {w.w_conv_in, "w_conv_in"}, {w.w_dt, "w_dt"},
          {w.conv, "conv"},     {w.conv_bias, "conv_bias"}, {w.a, "a"},
          {w.d, "d"},           {w.dt_bias, "dt_bias"},     {w.norm, "norm"},
          {w.w_out, "w_out"}};
}

Names names_of(const MambaWeights& w) {
  return {{w.w_conv_in, "w_conv_in"},
          {w.w_gate, "w_gate"},
          {w.conv, "conv"},
          {w.conv_bias, "conv_bias"},
          {w.w_dt_low, "w_dt_low"},
          {w.w_b, "w_b"},
          {w.w_c, "w_c"},
          {w.dt_norm, "dt_norm"},
          {w.b_norm, "b_norm"},
          {w.c_norm, "c_norm"},
          {w.w_dt, "w_dt"},
          {w.dt_bias, "dt_bias"},
          {w.a, "a"},
          {w.d, "d"},
          {w.w_out, "w_out"}};
}

Names names_of(const DeltaNetWeights& w) {
  return {{w.w_qk, "w_qk"},     {w.w_v, "w_v"},         {w.w_gate, "w_gate"}, {w.w_decay, "w_decay"},
          {w.w_beta, "w_beta"}, {w.conv_qk, "conv_qk"}, {w.conv_v, "conv_v"}, {w.qk_scale, "qk_scale"},
          {w.a, "a"},           {w.dt_bias, "dt_bias"}, {w.norm, "norm"},     {w.w_out, "w_out"}};
}

Names names_of(const KimiDeltaWeights& w) {
  return {{w.wq, "wq"},
          {w.wk, "wk"},
          {w.wv, "wv"},
          {w.conv_q, "conv_q"},
          {w.conv_k, "conv_k"},
          {w.conv_v, "conv_v"},
          {w.q_scale, "q_scale"},
          {w.k_scale, "k_scale"},
          {w.w_decay_low, "w_decay_low"},
          {w.w_decay, "w_decay"},
          {w.w_gate_low, "w_gate_low"},
          {w.w_gate, "w_gate"},
          {w.w_beta, "w_beta"},
          {w.a, "a"},
          {w.dt_bias, "dt_bias"},
          {w.norm, "norm"},
          {w.wo, "wo"}};
}

Names names_of(const ShortConvWeights& w) {
  return {
      {w.w_in_gate, "w_in_gate"}, {w.w_out_gate, "w_out_gate"}, {w.w_x, "w_x"}, {w.conv, "conv"}, {w.w_out, "w_out"}};
}

Names names_of(const Rwkv7Weights& w) {
  Names names{{w.wr, "wr"},
              {w.wk, "wk"},
              {w.wv, "wv"},
              {w.decay.low, "w_decay_low"},
              {w.decay.w, "w_decay"},
              {w.decay.bias, "b_decay"},
              {w.rate.low, "w_rate_low"},
              {w.rate.w, "w_rate"},
              {w.rate.bias, "b_rate"},
              {w.v_share.low, "w_v_share_low"},
              {w.v_share.w, "w_v_share"},
              {w.v_share.bias, "b_v_share"},
              {w.gate.low, "w_gate_low"},
              {w.gate.w, "w_gate"},
              {w.removal_scale, "removal_scale"},
              {w.rate_scale, "rate_scale"},
              {w.bonus_scale, "bonus_scale"},
              {w.norm, "norm"},
              {w.norm_bias, "norm_bias"},
              {w.wo, "wo"}};
  const char* const shifts[] = {"shift_r", "shift_decay", "shift_k", "shift_v", "shift_rate", "shift_gate"};
  for (size_t i = 0; i < kRwkv7Mixes; ++i) names.emplace_back(w.shifts[i], shifts[i]);
  return names;
}

Names names_of(const NoMixerWeights&) {
  return {};
}

Names names_of(const NoFfnWeights&) {
  return {};
}

Names names_of(const GatedWeights& w) {
  return {{w.w_gate, "w_gate"}, {w.w_up, "w_up"},     {w.w_down, "w_down"},        {w.b_gate, "b_gate"},
          {w.b_up, "b_up"},     {w.b_down, "b_down"}, {w.sub_norm, "ffn_sub_norm"}};
}

Names names_of(const PlainWeights& w) {
  return {{w.w_up, "w_up"}, {w.w_down, "w_down"}, {w.b_up, "b_up"}, {w.b_down, "b_down"}};
}

Names names_of(const ChannelMixWeights& w) {
  return {{w.shift, "shift"}, {w.w_up, "w_up"}, {w.w_down, "w_down"}};
}

Names names_of(const ExpertWeights& w) {
  return {{w.router, "router"},
          {w.w_gate, "w_gate"},
          {w.w_up, "w_up"},
          {w.w_down, "w_down"},
          {w.router_bias, "router_bias"},
          {w.choice_bias, "choice_bias"},
          {w.b_gate, "b_gate"},
          {w.b_up, "b_up"},
          {w.b_down, "b_down"},
          {w.shared_router, "shared_router"},
          {w.shared_gate, "shared_gate"},
          {w.shared_up, "shared_up"},
          {w.shared_down, "shared_down"},
          {w.latent_down, "latent_down"},
          {w.latent_up, "latent_up"},
          {w.norm, "expert_norm"},
          {w.router_norm, "router_norm"},
          {w.post_norm, "expert_post_norm"},
          {w.shared_post_norm, "shared_post_norm"},
          {w.scales, "expert_scales"},
          {w.out_bias, "experts_bias"},
          {w.zeros, "experts_zeros"}};
}

Names names_of(const LayerWeights& w) {
  Names names{{w.attn_norm, "attn_norm"},
              {w.attn_norm_bias, "attn_norm_bias"},
              {w.attn_post_norm, "attn_post_norm"},
              {w.ffn_norm, "ffn_norm"},
              {w.ffn_norm_bias, "ffn_norm_bias"},
              {w.ffn_post_norm, "ffn_post_norm"},
              {w.attn_post_norm_bias, "attn_post_norm_bias"},
              {w.ffn_post_norm_bias, "ffn_post_norm_bias"},
              {w.input.gate, "input_gate"},
              {w.input.proj, "input_proj"},
              {w.input.norm, "input_norm"},
              {w.altup.router_norm, "altup_router_norm"},
              {w.altup.router, "altup_router"},
              {w.altup.predict, "altup_predict"},
              {w.altup.correct, "altup_correct"},
              {w.altup.scale, "altup_scale"},
              {w.altup.laurel_left, "laurel_left"},
              {w.altup.laurel_right, "laurel_right"},
              {w.altup.laurel_norm, "laurel_norm"}};
  const auto add = [&](const auto& kind) {
    const Names more = names_of(kind);
    names.insert(names.end(), more.begin(), more.end());
  };
  std::visit(add, w.mixer);
  std::visit(add, w.ffn);
  return names;
}

Names names_of(const Weights& w) {
  return {{w.embed, "embed"},
          {w.position_embed, "position_embed"},
          {w.final_norm, "final_norm"},
          {w.final_norm_bias, "final_norm_bias"},
          {w.head, "head"},
          {w.head_bias, "head_bias"},
          {w.embed_norm, "embed_norm"},
          {w.embed_norm_bias, "embed_norm_bias"},
          {w.type_embed, "type_embed"},
          {w.pooler, "pooler"},
          {w.pooler_bias, "pooler_bias"},
          {w.dense_up, "dense_up"},
          {w.dense_down, "dense_down"},
          {w.score, "score"},
          {w.score_bias, "score_bias"},
          {w.layer_table.table, "layer_table"},
          {w.layer_table.proj, "layer_table_proj"},
          {w.layer_table.norm, "layer_table_norm"}};
}

// "wq.0" for layer 0, "embed" for none; "inv_freq" for the first rotation, "inv_freq.1" for the second.
std::string weight_name(const Weights& weights, WeightId id) {
  for (const auto& [weight, name] : names_of(weights)) {
    if (weight == id) return name;
  }
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    for (const auto& [weight, name] : names_of(weights.layers[i])) {
      if (weight == id) return std::string(name) + "." + std::to_string(i);
    }
  }
  for (size_t i = 0; i < weights.inv_freqs.size(); ++i) {
    if (weights.inv_freqs[i] == id) return i == 0 ? "inv_freq" : "inv_freq." + std::to_string(i);
  }
  for (size_t i = 0; i < weights.altup.projs.size(); ++i) {
    if (weights.altup.projs[i] == id) return "altup_proj." + std::to_string(i);
    if (weights.altup.unembeds[i] == id) return "altup_unembed." + std::to_string(i);
  }
  return "a weight that the model does not have";
}

std::string printed_forward(const Result<ModelFile>& file) {
  const auto backend = make_reference_backend();
  if (!file.ok() || !backend->configure({.max_rows = 1, .max_logit_rows = 1}).ok()) return "";
  const auto loaded = Model::load(*file, *backend);
  if (!loaded.ok()) return loaded.error().message;
  const Program program = build_forward(loaded->config(), loaded->weights()).program;
  return to_string(program, [&](WeightId id) { return weight_name(loaded->weights(), id); });
}

std::string printed_forward(const TinyModel& model) {
  return printed_forward(model.open());
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The new text of a program is written to a file, to be examined, and copied if it is right.
void expect_printed(const std::string& name, const std::string& actual) {
  const auto path = std::filesystem::path(RZ_SOURCE_DIR) / "tests/data/programs" / (name + ".txt");
  if (content_of(path) == actual) return;
  const auto where =
      std::filesystem::path(testing::TempDir()) / (name + ".program." + std::to_string(::getpid()) + ".txt");
  std::ofstream(where) << actual;
  ADD_FAILURE() << "the forward pass of " << name << " is not that of " << path << ": see " << where << '\n' << actual;
}

class ForwardOf : public testing::TestWithParam<const ArchSpec*> {};

TEST_P(ForwardOf, ATinyModelIsAsPrinted) {
  expect_printed(test_name(*GetParam()), printed_forward(tiny_model(*GetParam())));
}

INSTANTIATE_TEST_SUITE_P(All, ForwardOf, testing::ValuesIn(all_architectures().begin(), all_architectures().end()),
                         [](const auto& test) { return test_name(*test.param); });

TEST(Forward, OfAMixtureOfExpertsIsAsPrinted) {
  expect_printed("llama-experts", printed_forward(tiny_model(kLlama, true)));
}

TEST(Forward, OfAGatedFfnWithBiasesIsAsPrinted) {
  expect_printed("llama-ffn-biases", printed_forward(tiny_model(kLlama, false, {.has_ffn_biases = true})));
}

TEST(Forward, OfExpertsBehindALatentIsAsPrinted) {
  expect_printed("nemotron_h_moe-latent", printed_forward(tiny_model(kNemotronHMoe, true, {.expert_latent = 12})));
}

TEST(Forward, OfAGraniteWithoutRotationIsAsPrinted) {
  TinyModel model = tiny_model(kGranite);
  model.keys["granite.rope.scaling.finetuned"] = false;
  expect_printed("granite-nope", printed_forward(model));
}

TEST(Forward, OfLayersThatShareKeysAndValuesIsAsPrinted) {
  TinyModel model = tiny_model(kGemma4, false,
                               {.n_layers = 4,
                                .n_kv_heads = 1,
                                .head_dim = 16,
                                .window_head_dim = 8,
                                .window_kv_heads = 2,
                                .full_interval = 2,
                                .n_shared_kv = 2,
                                .has_keys_as_values = true});
  model.keys["gemma4.attention.sliding_window"] = 16u;
  model.keys["gemma4.attention.sliding_window_pattern"] = 2u;
  model.keys["gemma4.attention.shared_kv_layers"] = 2u;
  model.keys["gemma4.attention.key_length_swa"] = 8u;
  for (const char* key : {"gemma4.attention.head_count_kv", "gemma4.feed_forward_length"}) model.keys.erase(key);
  GgufWriter writer = model.writer();
  writer.add_i32s("gemma4.attention.head_count_kv", {2, 1, 2, 1});
  writer.add_i32s("gemma4.feed_forward_length", {48, 48, 96, 96});
  const auto path = std::filesystem::path(testing::TempDir()) / ("shared_kv." + std::to_string(::getpid()) + ".gguf");
  ASSERT_TRUE(writer.write(path).ok());
  expect_printed("gemma4-shared-kv", printed_forward(ModelFile::open(path)));
  std::filesystem::remove(path);
}

TEST(Forward, OfWindowsWithARotationOfTheirOwnIsAsPrinted) {
  TinyModel model = tiny_model(kGemma3, false, {.n_layers = 6});
  model.keys["gemma3.attention.sliding_window"] = 16u;
  expect_printed("gemma3-windows", printed_forward(model));
}

TEST(Forward, DependsOnItsArgumentsAlone) {
  const auto file = tiny_model(kGemma2).open();
  const auto config = read_config(*file);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(outline_forward(*config), outline_forward(*config));
  ModelConfig other = *config;
  std::get<AttentionConfig>(other.layers[0].mixer).window += 1;
  EXPECT_NE(outline_forward(*config), outline_forward(other));
}

}  // namespace
}  // namespace realizar::test
