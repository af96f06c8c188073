// A NaN or infinite weight is refused by every backend when the model is loaded, whatever its type and wherever it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/try.h"
#include "model/model.h"
#include "quant/finite.h"
#include "support/emulated_cuda.h"
#include "support/test_weights.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

struct BackendCase {
  const char* name;
  std::function<std::unique_ptr<Backend>()> make;
};

class DamagedWeights : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override { ASSERT_TRUE(backend_->configure({.max_rows = 8, .max_logit_rows = 8}).ok()); }

  std::unique_ptr<Backend> backend_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(Backends, DamagedWeights,
                         testing::Values(BackendCase{"reference", [] { return make_reference_backend(); }},
                                         BackendCase{"cpu", [] { return std::move(*cpu::make_cpu_backend({3})); }},
                                         BackendCase{"cuda", [] { return std::move(*make_emulated_cuda(1)); }}),
                         [](const auto& backend) { return std::string(backend.param.name); });

// Changes one stored byte so that an element is no longer a number; false if no single byte can do that.
bool damage(TestMatrix& m, size_t block) {
  const TypeTraits& type = traits(m.type);
  std::byte* at = m.bytes.data() + block * type.block_bytes;
  std::vector<float> values(type.block_elems);
  for (size_t i = 0; i < type.block_bytes; ++i) {
    for (const int byte : {0x7c, 0x7f, 0xfe}) {
      const std::byte before = std::exchange(at[i], std::byte(byte));
      type.decode(at, values.data(), values.size());
      if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) return true;
      at[i] = before;
    }
  }
  return false;
}

TEST_P(DamagedWeights, OfEveryTypeAreRefusedByName) {
  for (const TypeTraits& type : all_types()) {
    const TestMatrix whole = random_matrix(type.id, 2, 20, 512, 1);  // panels of 16 rows, the last not full
    ASSERT_TRUE(backend_->load_matrix(whole.source()).ok()) << type.name;
    const size_t n_blocks = whole.bytes.size() / type.block_bytes;
    for (const size_t block : {size_t{0}, n_blocks / 2 + 1, n_blocks - 1}) {
      TestMatrix m = whole;
      if (!damage(m, block)) {
        // The exponents of these are in two bytes.
        ASSERT_TRUE(type.id == TypeId::kF32 || type.id == TypeId::kBF16 || type.id == TypeId::kIQ1_M) << type.name;
        std::fill_n(m.bytes.begin() + block * type.block_bytes, type.block_bytes, std::byte{0xff});
      }
      const auto loaded = backend_->load_matrix(m.source());
      ASSERT_FALSE(loaded.ok()) << type.name << " block " << block;
      EXPECT_EQ(loaded.error().code, ErrorCode::kFormatError);
      EXPECT_EQ(loaded.error().subject, "matrix");
    }
  }
}

// Both NaN codes: kernels that add their bits as if they were a number would read 480.
TEST_P(DamagedWeights, OfF8AreRefusedForEitherNaN) {
  for (const int code : {0x7f, 0xff}) {
    TestMatrix m = random_matrix(TypeId::kF8_E4M3, 1, 17, 130, 1);
    m.bytes[16 * 130 + 129] = std::byte(code);
    EXPECT_FALSE(backend_->load_matrix(m.source()).ok()) << code;
    m.bytes[16 * 130 + 129] = std::byte(0x7e);
    EXPECT_TRUE(backend_->load_matrix(m.source()).ok()) << "448, the largest number";
  }
}

TEST_P(DamagedWeights, OfATransposedMatrixAreRefused) {
  TestMatrix m = random_matrix(TypeId::kF16, 1, 24, 40, 1);
  MatrixSource source = m.source();
  source.transposed = true;
  EXPECT_TRUE(backend_->load_matrix(source).ok());
  m.bytes[2 * (24 * 40 - 1) + 1] = std::byte(0x7c);
  EXPECT_FALSE(backend_->load_matrix(source).ok());
}

Status load_on(Backend& backend, const TinyModel& model) {
  RZ_TRY(const ModelFile file, model.open());
  RZ_CHECK_OK(Model::load(file, backend, {}));
  return {};
}

TEST_P(DamagedWeights, OfAModelAreNamedWithTheirTensorAndFile) {
  EXPECT_TRUE(load_on(*backend_, tiny_model(kLlama)).ok());
  for (const float wrong : {NAN, INFINITY, -INFINITY}) {
    for (const char* name : {"token_embd.weight", "blk.1.attn_q.weight", "blk.0.attn_norm.weight", "output.weight"}) {
      TinyModel model = tiny_model(kLlama);
      model.tensor(name).values.back() = wrong;
      const Status status = load_on(*backend_, model);
      ASSERT_FALSE(status.ok()) << name;
      EXPECT_EQ(status.error().code, ErrorCode::kFormatError);
      EXPECT_EQ(status.error().subject, name);
      EXPECT_NE(status.error().message.find(".gguf: tensor '" + std::string(name) + "'"), std::string::npos)
          << status.error().message;
    }
  }
}

}  // namespace
}  // namespace realizar::test
