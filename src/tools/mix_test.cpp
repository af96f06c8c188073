#include "tools/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace realizar {
namespace {

MixModel model_of(uint32_t n_layers, uint32_t heads_per_kv = 1, uint32_t n_experts = 0) {
  MixModel model;
  model.n_layers = n_layers;
  model.heads_per_kv = heads_per_kv;
  model.n_experts = n_experts;
  return model;
}

TypeId type_in(std::string_view mix, const std::string& name, const MixModel& model, bool is_stack = false) {
  return mixed_type(*find_mix(mix), name, is_stack, model);
}

// The layers, out of 16, that Q4_K_M gives Q6_K: the first and the last eighth, and every third one between.
TEST(Mix, SomeLayersHaveMoreBits) {
  std::set<int> more;
  for (int layer = 0; layer < 16; ++layer) {
    const std::string name = "blk." + std::to_string(layer) + ".ffn_down.weight";
    if (type_in("Q4_K_M", name, model_of(16)) == TypeId::kQ6_K) more.insert(layer);
    EXPECT_EQ(type_in("Q4_K_S", name, model_of(16)), layer < 2 ? TypeId::kQ5_K : TypeId::kQ4_K) << layer;
  }
  EXPECT_EQ(more, (std::set<int>{0, 1, 4, 7, 10, 13, 14, 15}));
}

TEST(Mix, ThePartsOfAModelHaveTheirTypes) {
  const MixModel model = model_of(32, 4);
  EXPECT_EQ(type_in("Q4_K_M", "output.weight", model), TypeId::kQ6_K);
  EXPECT_EQ(type_in("Q4_K_M", "token_embd.weight", model), TypeId::kQ4_K);
  EXPECT_EQ(type_in("Q4_K_M", "blk.5.attn_q.weight", model), TypeId::kQ4_K);
  EXPECT_EQ(type_in("Q4_K_M", "blk.5.attn_qkv.weight", model), TypeId::kQ5_K);
  EXPECT_EQ(type_in("Q2_K", "blk.5.attn_v.weight", model), TypeId::kQ4_K);
  EXPECT_EQ(type_in("Q2_K", "blk.5.attn_v.weight", model_of(32)), TypeId::kQ3_K);
  EXPECT_EQ(type_in("IQ2_XXS", "output.weight", model), TypeId::kQ5_K);
  EXPECT_EQ(type_in("IQ3_XS", "blk.10.ffn_up.weight", model), TypeId::kIQ3_XXS);
  EXPECT_EQ(type_in("IQ3_XS", "blk.31.ffn_up.weight", model), TypeId::kIQ3_S);
  EXPECT_EQ(type_in("Q8_0", "output.weight", model), TypeId::kQ8_0);
}

TEST(Mix, TheEmbeddingOfAModelWithoutAHeadIsItsHead) {
  MixModel model = model_of(16);
  model.has_output = false;
  EXPECT_EQ(type_in("Q4_K_M", "token_embd.weight", model), TypeId::kQ6_K);
}

TEST(Mix, ExpertsAndImportanceChangeTheChoice) {
  MixModel model = model_of(32, 4, 8);
  EXPECT_EQ(type_in("Q4_K_M", "blk.5.attn_k.weight", model), TypeId::kQ8_0);
  EXPECT_EQ(type_in("MXFP4_MOE", "blk.5.ffn_up_exps.weight", model, true), TypeId::kMXFP4);
  EXPECT_EQ(type_in("MXFP4_MOE", "blk.5.ffn_up_shexp.weight", model), TypeId::kQ8_0);
  EXPECT_EQ(type_in("Q4_0", "blk.0.ffn_down.weight", model), TypeId::kQ4_0);
  model.has_importance = true;
  EXPECT_EQ(type_in("Q4_0", "blk.0.ffn_down.weight", model), TypeId::kQ4_1);
}

TEST(Mix, NamesAreFoundInAnyCase) {
  EXPECT_EQ(find_mix("q4_k_m"), find_mix("Q4_K_M"));
  EXPECT_EQ(find_mix("Q4_K"), find_mix("Q4_K_M"));
  EXPECT_EQ(find_mix("Q4_K_XL"), nullptr);
  EXPECT_EQ(find_mix("15"), find_mix("Q4_K_M"));
  EXPECT_EQ(find_mix("0"), find_mix("F32"));
  for (const char* name : {"4", "015", "15.0", "-1", "99", ""}) EXPECT_EQ(find_mix(name), nullptr) << name;
  std::set<std::string_view> names;
  for (const Mix& mix : all_mixes()) names.insert(mix.name);
  EXPECT_EQ(names.size(), all_mixes().size());
}

TEST(Mix, VectorsNormsRoutersAndConvolutionsAreKept) {
  const std::vector<uint64_t> matrix = {64, 64}, vector = {64}, column = {64, 1};
  for (const char* name : {"blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "blk.0.ssm_conv1d.weight",
                           "blk.0.attn_q.bias", "position_embd.weight", "blk.0.ssm_a"}) {
    EXPECT_TRUE(is_kept(name, matrix)) << name;
  }
  EXPECT_TRUE(is_kept("blk.0.attn_q.weight", vector));
  EXPECT_TRUE(is_kept("blk.0.attn_q.weight", column));
  for (const char* name : {"blk.0.attn_q.weight", "token_embd.weight", "blk.0.ffn_gate_exps.weight", "output.weight"}) {
    EXPECT_FALSE(is_kept(name, matrix)) << name;
  }
}

TEST(Mix, RowsThatAreNoWholeBlocksHaveATypeThatFits) {
  EXPECT_EQ(fitting_type(TypeId::kQ4_K, 512), TypeId::kQ4_K);
  EXPECT_EQ(fitting_type(TypeId::kQ4_K, 896), TypeId::kQ5_0);
  EXPECT_EQ(fitting_type(TypeId::kQ6_K, 96), TypeId::kQ8_0);
  EXPECT_EQ(fitting_type(TypeId::kIQ2_XXS, 96), TypeId::kIQ4_NL);
  EXPECT_EQ(fitting_type(TypeId::kQ4_0, 40), TypeId::kF16);
  for (const TypeTraits& type : all_types()) {
    for (const uint64_t n_cols : {1, 31, 32, 96, 255, 256, 896}) {
      EXPECT_EQ(n_cols % traits(fitting_type(type.id, n_cols)).block_elems, 0u) << type.name;
    }
  }
}

}  // namespace
}  // namespace realizar
