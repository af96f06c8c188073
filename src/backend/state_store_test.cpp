#include "backend/state_store.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace realizar {
namespace {

TEST(StateStore, KeepsEachPartOfEachLayerAndSlotApart) {
  CacheLayout layout;
  layout.layers = {Paged{1, 8, 8}, Recurrent{{12, 100}}, Recurrent{{64}}};
  layout.n_states = 3;
  StateStore store;
  ASSERT_TRUE(store.create(layout).ok());
  EXPECT_EQ(store.slot_bytes(), 64u + 128u + 64u);
  EXPECT_EQ(store.bytes(), 3 * store.slot_bytes());
  const auto fill = [&](int first) {
    for (uint32_t slot = 0; slot < 3; ++slot) {
      std::fill_n(store.part<uint8_t>(StateId{slot}, 1, 0), 12, static_cast<uint8_t>(first + 10 * slot));
      std::fill_n(store.part<uint8_t>(StateId{slot}, 1, 1), 100, static_cast<uint8_t>(first + 10 * slot + 1));
      std::fill_n(store.part<uint8_t>(StateId{slot}, 2, 0), 64, static_cast<uint8_t>(first + 10 * slot + 2));
    }
  };
  fill(1);
  for (uint32_t slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(store.part<uint8_t>(StateId{slot}, 1, 0)[11], 1 + 10 * slot);
    EXPECT_EQ(store.part<uint8_t>(StateId{slot}, 1, 1)[99], 2 + 10 * slot);
    EXPECT_EQ(store.part<uint8_t>(StateId{slot}, 2, 0)[63], 3 + 10 * slot);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(store.part<uint8_t>(StateId{slot}, 2, 0)) % 64, 0u);
  }
  std::vector<std::byte> bytes(store.slot_bytes());
  store.read(StateId{1}, bytes);
  store.write(StateId{2}, bytes);
  store.zero(StateId{1});
  EXPECT_EQ(store.part<uint8_t>(StateId{2}, 1, 1)[99], 12);
  EXPECT_EQ(store.part<uint8_t>(StateId{1}, 1, 1)[99], 0);
  EXPECT_EQ(store.part<uint8_t>(StateId{0}, 1, 1)[99], 2);
}

TEST(StateStore, IsEmptyWhereNoLayerIsRecurrent) {
  CacheLayout layout;
  layout.layers = {Paged{1, 8, 8}};
  layout.n_states = 3;
  StateStore store;
  ASSERT_TRUE(store.create(layout).ok());
  EXPECT_EQ(store.slot_bytes(), 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(StateStore, SaysHowMuchMemoryIsMissing) {
  CacheLayout layout;
  layout.layers = {Recurrent{{SIZE_MAX / 2}}};
  layout.n_states = 3;
  StateStore store;
  EXPECT_EQ(store.create(layout).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace realizar
