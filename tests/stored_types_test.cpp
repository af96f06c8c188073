// Models of types without a layout of their own, whose blocks are kept as stored: on every backend they give the
// reference's tokens.
#include <gtest/gtest.h>

#include <map>

#include "backend/reference/reference_backend.h"
#include "support/backends_under_test.h"
#include "support/engine_rig.h"
#include "support/suite_params.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

std::vector<TypeId> stored_types() {
  std::vector<TypeId> types;
  for (const TypeTraits& type : all_types()) {
    if (type.layout == Layout::kStored) types.push_back(type.id);
  }
  return types;
}

// Rows of whole blocks.
constexpr TinyDims kDims{.n_layers = 1,
                         .d_model = 256,
                         .n_heads = 4,
                         .n_kv_heads = 1,
                         .head_dim = 64,
                         .d_ff = 256,
                         .n_vocab = 40,
                         .n_experts = 3,
                         .expert_d_ff = 256};

// Files are made once per type, since the search for points of a grid is slow.
const ModelFile& model_of(TypeId type, bool with_experts) {
  static std::map<std::pair<TypeId, bool>, ModelFile> models;
  const auto found = models.find({type, with_experts});
  if (found != models.end()) return found->second;
  TinyModel model = tiny_model(with_experts ? kQwen3Moe : kLlama, with_experts, kDims);
  model.matrix_type = type;
  return models.emplace(std::pair(type, with_experts), std::move(*model.open())).first->second;
}

std::vector<TokenId> tokens_on(std::unique_ptr<Backend> backend, const ModelFile& file) {
  EngineRig rig(file, std::move(backend), {.n_ctx = 64, .max_batch_tokens = 16});
  Request request = request_for(some_tokens(24, 7, kDims.n_vocab), 1);
  request.max_tokens = 16;
  return rig->generate(request, {}).value().tokens;
}

class StoredTypes : public testing::TestWithParam<std::tuple<BackendUnderTest, TypeId>> {
 protected:
  void SetUp() override { skip_where_absent(std::get<0>(GetParam())); }
};

TEST_P(StoredTypes, AModelGivesTheReferencesTokens) {
  const auto& [backend, type] = GetParam();
  for (const bool with_experts : {false, true}) {
    const ModelFile& file = model_of(type, with_experts);
    const auto expected = tokens_on(make_reference_backend(), file);
    EXPECT_EQ(expected.size(), 16u);
    EXPECT_EQ(tokens_on(*backend.make(2), file), expected) << (with_experts ? "with experts" : "");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StoredTypes,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(stored_types())),
                         [](const auto& test) { return suite_name(std::get<0>(test.param), std::get<1>(test.param)); });

}  // namespace
}  // namespace realizar::test
