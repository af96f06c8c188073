#include "tools/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"
#include "quant/finite.h"
#include "tools/convert.h"
#include "tools/finite_rows.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRows = 3, kCols = 256;

// The largest value of the type's blocks, if it is easily computed: their scale has 16 bits.
float largest_of(TypeId type) {
  constexpr float kLargestHalf = 65504;
  if (type == TypeId::kF32) return std::numeric_limits<float>::infinity();
  if (type == TypeId::kF16) return kLargestHalf;
  return type == TypeId::kQ8_0 ? 127 * kLargestHalf : std::numeric_limits<float>::quiet_NaN();
}

class WrittenValues : public testing::Test {
 protected:
  // A file with a matrix in F32 whose last row has a large value. Its architecture is unknown, since any file can be
  // quantized.
  ModelFile with_value(float value) const {
    std::vector<float> values(kRows * kCols);
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
    values.back() = value;
    GgufWriter writer;
    writer.add_string("general.architecture", "nonesuch");
    writer.add_tensor("blk.0.ffn_up.weight", TypeId::kF32, {kRows, kCols}, values);
    EXPECT_TRUE(writer.write(folder_ / "in.gguf").ok());
    return std::move(*ModelFile::open(folder_ / "in.gguf"));
  }

  Status quantize(const ModelFile& file, const QuantizeOptions& options) const {
    const auto source = must(source_of(file));
    const auto plan = must(plan_types(source, options));
    fs::remove(folder_ / "out.gguf");
    return write_quantized(source, plan, options, {}, folder_ / "out.gguf");
  }

  // Whether it was refused by name and left no file; otherwise the file must contain a number close to the value.
  bool is_refused(const Status& written, const std::string& type, float value) const {
    const fs::path out = folder_ / "out.gguf";
    if (!written.ok()) {
      EXPECT_EQ(written.error().code, ErrorCode::kFormatError);
      const std::string& said = written.error().message;
      EXPECT_NE(said.find("tensor 'blk.0.ffn_up.weight': row 2"), std::string::npos) << type << ": " << said;
      EXPECT_FALSE(fs::exists(out)) << type;
      return true;
    }
    const auto made = must(ModelFile::open(out));
    const TensorInfo& tensor = made.tensors().front();
    EXPECT_TRUE(all_finite(tensor.type, tensor.data.data(), tensor.n_elems())) << type;
    std::vector<float> back(tensor.n_elems());
    traits(tensor.type).decode(tensor.data.data(), back.data(), back.size());
    EXPECT_GT(back.back() / value, 0.5) << type << ": " << value << " became " << back.back();
    return false;
  }

  TempFolder folder_;
};

TEST_F(WrittenValues, NoTypeTakesAValueThatItCannotHold) {
  Imatrix importance;
  importance.entries["blk.0.ffn_up.weight"] = {std::vector<float>(kCols, 1.0f), {1.0f}};
  for (const float value : {6e4f, -7e4f, 1e7f, -1e12f, 1e30f, std::numeric_limits<float>::max()}) {
    const ModelFile file = with_value(value);
    for (const Mix& mix : all_mixes()) {
      QuantizeOptions options;
      options.mix = &mix;
      options.is_pure = true;
      options.importance = &importance;
      const std::string name(mix.name);
      const bool refused = is_refused(quantize(file, options), name, value);
      const float most = largest_of(mix.base);
      EXPECT_TRUE(std::isnan(most) || refused == (std::abs(value) > most)) << name << " " << value;
    }
  }
}

TEST_F(WrittenValues, WithoutAMixtureEveryTensorKeepsItsType) {
  QuantizeOptions to_half;
  to_half.mix = find_mix("F16");
  ASSERT_TRUE(quantize(with_value(1), to_half).ok());
  fs::rename(folder_ / "out.gguf", folder_ / "half.gguf");
  const ModelFile half = std::move(*ModelFile::open(folder_ / "half.gguf"));
  ASSERT_TRUE(quantize(half, {}).ok());
  const auto copied = must(ModelFile::open(folder_ / "out.gguf"));
  EXPECT_EQ(copied.tensors().front().type, TypeId::kF16);
  EXPECT_TRUE(std::ranges::equal(copied.tensors().front().data, half.tensors().front().data));
  EXPECT_EQ(*copied.metadata().get_int("general.file_type"), 1);
}

TEST_F(WrittenValues, ACopyIsCheckedToo) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const ModelFile file = with_value(value);
    QuantizeOptions options;
    options.mix = find_mix("F32");
    EXPECT_TRUE(is_refused(quantize(file, options), "F32", value));
    const auto merged = convert(folder_ / "in.gguf", folder_ / "out.gguf", {}, {});
    ASSERT_FALSE(merged.ok());
    EXPECT_TRUE(is_refused(merged.error(), "a copy", value));
  }
}

TEST(FiniteRows, ARowIsNamedWithWhatItWasMadeFrom) {
  const MatrixRows from = given_rows({1, 2, 3, -70000}, 2);
  const MatrixRows rows = rows_in_type(from, TypeId::kF16);
  std::vector<std::byte> bytes(2 * rows->row_size());
  ASSERT_TRUE(rows->read(0, 2, bytes.data()).ok());
  const Status status = check_finite("x", *rows, 0, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "tensor 'x': row 1 has values of up to 70000, which are too large for F16: take a type of a wider range "
            "for it, as F32");
  EXPECT_TRUE(check_finite("x", *rows, 0, std::span(bytes).first(rows->row_size())).ok());
}

}  // namespace
}  // namespace realizar
