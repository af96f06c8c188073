// The forward pass of a tiny model of each architecture as text, against tests/data/programs: a change of what any
// model computes is a readable difference there.
#include "model/forward.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "backend/reference/reference_backend.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

struct TopName {
  WeightId Weights::*weight;
  const char* name;
};
constexpr TopName kTopNames[] = {{&Weights::embed, "embed"},
                                 {&Weights::position_embed, "position_embed"},
                                 {&Weights::final_norm, "final_norm"},
                                 {&Weights::final_norm_bias, "final_norm_bias"},
                                 {&Weights::head, "head"},
                                 {&Weights::head_bias, "head_bias"}};

using Names = std::vector<std::pair<WeightId, const char*>>;

Names names_of(const AttentionWeights& w) {
  return {{w.wq, "wq"}, {w.wk, "wk"}, {w.wv, "wv"}, {w.wo, "wo"},         {w.bq, "bq"},
          {w.bk, "bk"}, {w.bv, "bv"}, {w.bo, "bo"}, {w.q_norm, "q_norm"}, {w.k_norm, "k_norm"}};
}

Names names_of(const GatedWeights& w) {
  return {{w.w_gate, "w_gate"}, {w.w_up, "w_up"}, {w.w_down, "w_down"}};
}

Names names_of(const PlainWeights& w) {
  return {{w.w_up, "w_up"}, {w.w_down, "w_down"}, {w.b_up, "b_up"}, {w.b_down, "b_down"}};
}

Names names_of(const ExpertWeights& w) {
  return {{w.router, "router"}, {w.w_gate, "w_gate"}, {w.w_up, "w_up"}, {w.w_down, "w_down"}};
}

Names names_of(const LayerWeights& w) {
  Names names{{w.attn_norm, "attn_norm"}, {w.attn_norm_bias, "attn_norm_bias"}, {w.attn_post_norm, "attn_post_norm"},
              {w.ffn_norm, "ffn_norm"},   {w.ffn_norm_bias, "ffn_norm_bias"},   {w.ffn_post_norm, "ffn_post_norm"}};
  const auto add = [&](const auto& kind) {
    const Names more = names_of(kind);
    names.insert(names.end(), more.begin(), more.end());
  };
  std::visit(add, w.mixer);
  std::visit(add, w.ffn);
  return names;
}

// "wq.0" of layer 0, "embed" of none; "inv_freq" of the first rotation, "inv_freq.1" of the second.
std::string weight_name(const Weights& weights, WeightId id) {
  for (const TopName& top : kTopNames) {
    if (weights.*top.weight == id) return top.name;
  }
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    for (const auto& [weight, name] : names_of(weights.layers[i])) {
      if (weight == id) return std::string(name) + "." + std::to_string(i);
    }
  }
  for (size_t i = 0; i < weights.inv_freqs.size(); ++i) {
    if (weights.inv_freqs[i] == id) return i == 0 ? "inv_freq" : "inv_freq." + std::to_string(i);
  }
  return "a weight that the model does not have";
}

std::string printed_forward(const TinyModel& model) {
  const auto file = model.open();
  const auto backend = make_reference_backend();
  if (!file.ok() || !backend->configure({.max_rows = 1, .max_logit_rows = 1}).ok()) return "";
  const auto loaded = Model::load(*file, *backend);
  if (!loaded.ok()) return loaded.error().message;
  const Program program = build_forward(loaded->config(), loaded->weights()).program;
  return to_string(program, [&](WeightId id) { return weight_name(loaded->weights(), id); });
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What a program has become stands in a file, to be looked at, and to be copied where it is right.
void expect_printed(const std::string& name, const std::string& actual) {
  const auto path = std::filesystem::path(RZ_SOURCE_DIR) / "tests/data/programs" / (name + ".txt");
  if (content_of(path) == actual) return;
  const auto where = std::filesystem::path(testing::TempDir()) / (name + ".program.txt");
  std::ofstream(where) << actual;
  ADD_FAILURE() << "the forward pass of " << name << " is not that of " << path << ": see " << where << '\n' << actual;
}

class ForwardOf : public testing::TestWithParam<const ArchSpec*> {};

TEST_P(ForwardOf, ATinyModelIsAsPrinted) {
  expect_printed(std::string(GetParam()->name), printed_forward(tiny_model(*GetParam())));
}

INSTANTIATE_TEST_SUITE_P(All, ForwardOf, testing::ValuesIn(all_architectures().begin(), all_architectures().end()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(Forward, OfAMixtureOfExpertsIsAsPrinted) {
  expect_printed("llama-experts", printed_forward(tiny_model(kLlama, true)));
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
