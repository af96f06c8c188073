#include "server/events/kv_history.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

TEST(KvHistory, KeepsTheLastMessagesUnderTheirNumbers) {
  KvHistory history(2, 100);
  EXPECT_EQ(history.next(), 0u);
  EXPECT_EQ(history.find(0), nullptr);
  for (const char* message : {"a", "b", "c"}) history.add(message);
  EXPECT_EQ(history.find(0), nullptr);
  EXPECT_EQ(*history.find(1), "b");
  EXPECT_EQ(*history.find(2), "c");
  EXPECT_EQ(history.find(3), nullptr);
  EXPECT_EQ(history.next(), 3u);
  history.begin_anew();
  EXPECT_EQ(history.add("d"), 0u);
  EXPECT_EQ(*history.find(0), "d");
}

TEST(KvHistory, KeepsNoMoreBytesThanItMay) {
  KvHistory history(100, 10);
  for (int i = 0; i < 4; ++i) history.add("12345");
  EXPECT_EQ(history.find(1), nullptr);
  EXPECT_NE(history.find(2), nullptr);
  history.add(std::string(50, 'x'));
  EXPECT_EQ(history.find(3), nullptr);
  EXPECT_NE(history.find(4), nullptr) << "the last one is kept";
}

TEST(KvHistory, WhoKeepsNothingCountsAllTheSame) {
  KvHistory history(0);
  history.add("a");
  EXPECT_EQ(history.next(), 1u);
  EXPECT_EQ(history.find(0), nullptr);
}

TEST(KvRequest, IsAnEmptyFrameAndANumber) {
  const std::string number = kv_number_bytes(0x0102030405060708);
  EXPECT_EQ(number, "\1\2\3\4\5\6\7\10");
  EXPECT_EQ(read_kv_request({"", number}), 0x0102030405060708u);
  EXPECT_EQ(read_kv_request({"", kv_number_bytes(~uint64_t{0})}), ~uint64_t{0});
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {""},
                                                {number},
                                                {number, ""},
                                                {"", ""},
                                                {"", number.substr(1)},
                                                {"", number + "x"},
                                                {"", number, ""},
                                                {"x", number}}) {
    EXPECT_EQ(read_kv_request(wrong), std::nullopt);
  }
}

}  // namespace
}  // namespace realizar::server
