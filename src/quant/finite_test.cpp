#include "quant/finite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace realizar {
namespace {

constexpr size_t kElems = 512;

std::vector<std::byte> stored_values(const TypeTraits& type) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.5f);
  std::vector<float> values(kElems);
  for (float& value : values) value = normal(random);
  std::vector<std::byte> stored(row_bytes(type, kElems));
  type.encode(values.data(), stored.data(), kElems);
  return stored;
}

bool decodes_to_numbers(const TypeTraits& type, const std::vector<std::byte>& stored) {
  std::vector<float> values(kElems);
  type.decode(stored.data(), values.data(), kElems);
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

TEST(AllFinite, IsWhatDecodingSaysWhereverABitIsSet) {
  for (const TypeTraits& type : all_types()) {
    const auto stored = stored_values(type);
    ASSERT_TRUE(all_finite(type.id, stored.data(), kElems)) << type.name;
    uint32_t n_not_finite = 0;
    for (size_t at = 0; at < stored.size(); ++at) {
      auto changed = stored;
      for (const int byte : {0x7c, 0x7f, 0x80, 0xfd, 0xff}) {
        changed[at] = std::byte(byte);
        const bool expected = decodes_to_numbers(type, changed);
        ASSERT_EQ(all_finite(type.id, changed.data(), kElems), expected) << type.name << " byte " << at;
        n_not_finite += expected ? 0 : 1;
      }
    }
    if (type.id != TypeId::kF32 && type.id != TypeId::kBF16) {  // there it takes bits of two bytes
      EXPECT_GT(n_not_finite, 0u) << type.name;
    }
  }
}

TEST(AllFinite, FindsEverySpecialNumberOfThePlainTypes) {
  for (const TypeId id : {TypeId::kF32, TypeId::kF16, TypeId::kBF16, TypeId::kF8_E4M3}) {
    const TypeTraits& type = traits(id);
    for (const float special : {NAN, INFINITY, -INFINITY}) {
      for (const size_t at : {size_t{0}, size_t{255}, kElems - 1}) {
        auto stored = stored_values(type);
        type.encode(&special, stored.data() + at * type.block_bytes, 1);
        EXPECT_EQ(all_finite(id, stored.data(), kElems), decodes_to_numbers(type, stored)) << type.name;
        if (std::isnan(special)) {
          EXPECT_FALSE(all_finite(id, stored.data(), kElems)) << type.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace realizar
