#include "server/call/slots.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

const SlotOwner kMine{"tiny", KeyDigest{1}}, kTheirs{"tiny", KeyDigest{2}};

Slot text(int32_t first, size_t n = 20) {
  Slot slot;
  for (size_t i = 0; i < n; ++i) slot.tokens.push_back(TokenId{first + static_cast<int32_t>(i)});
  return slot;
}

TEST(SlotTable, KeepsWhatWasLeftUnderANumber) {
  SlotTable table;
  table.note(kMine, 3, 4, text(1));
  ASSERT_NE(table.find(kMine, 3), nullptr);
  EXPECT_EQ(table.find(kMine, 3)->tokens, text(1).tokens);
  EXPECT_EQ(table.find(kMine, 0), nullptr);
  EXPECT_EQ(table.find(kTheirs, 3), nullptr) << "keys are kept apart";
  EXPECT_EQ(table.find({"other", kMine.key}, 3), nullptr) << "and models";
  table.note(kMine, 4, 4, text(1));
  EXPECT_EQ(table.find(kMine, 4), nullptr) << "there is no such slot";
  table.erase(kMine, 3);
  EXPECT_EQ(table.find(kMine, 3), nullptr);
  for (const SlotOwner& owner : {kMine, kTheirs}) table.note(owner, 0, 4, text(1));
  table.forget(kMine.key);
  EXPECT_EQ(table.find(kMine, 0), nullptr);
  EXPECT_NE(table.find(kTheirs, 0), nullptr);
}

TEST(SlotTable, ChoosesTheSlotThatATextGoesOnWith) {
  SlotTable table;
  table.note(kMine, -1, 2, text(1));
  table.note(kMine, -1, 2, text(500));
  EXPECT_EQ(table.find(kMine, 0)->tokens, text(1).tokens);
  EXPECT_EQ(table.find(kMine, 1)->tokens, text(500).tokens);
  table.note(kMine, -1, 2, text(500, 30));
  EXPECT_EQ(table.find(kMine, 1)->tokens.size(), 30u);
  table.note(kMine, -1, 2, text(900));
  EXPECT_EQ(table.find(kMine, 0)->tokens, text(900).tokens) << "none is alike, and the first is the oldest";
}

TEST(SlotTable, ForgetsAKeysOldestSlotsFirst) {
  SlotTable table(100);
  table.note(kTheirs, 0, 9, text(1, 20));
  for (const int id : {0, 1}) table.note(kMine, id, 9, text(1, 10));
  table.note(kMine, 2, 9, text(1, 10));
  EXPECT_EQ(table.find(kMine, 0), nullptr) << "a key has a quarter of the room";
  EXPECT_NE(table.find(kMine, 1), nullptr);
  EXPECT_NE(table.find(kTheirs, 0), nullptr);
  table.note(kMine, 3, 9, text(1, 26));
  EXPECT_EQ(table.find(kMine, 3), nullptr) << "longer than that";
  for (uint8_t key = 3; key < 8; ++key) table.note({"tiny", KeyDigest{key}}, 0, 9, text(1, 20));
  EXPECT_EQ(table.find(kTheirs, 0), nullptr) << "and all have no more than there is";
}

TEST(SlotTable, HasOneTransferOfAModelAtATime) {
  SlotTable table;
  EXPECT_TRUE(table.begin_transfer("tiny"));
  EXPECT_FALSE(table.begin_transfer("tiny"));
  EXPECT_TRUE(table.begin_transfer("other"));
  table.end_transfer("tiny");
  EXPECT_TRUE(table.begin_transfer("tiny"));
}

}  // namespace
}  // namespace realizar::server
