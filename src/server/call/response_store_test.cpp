#include "server/call/response_store.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

constexpr uint64_t kAnn = 1, kBob = 2;

// 100 bytes in all.
StoredResponse response(const std::string& id) {
  return {id, "", "[]", std::string(98 - id.size(), 'x'), {"item of " + id}};
}

TEST(ResponseStore, GivesBackWhatWasPutByResponseAndByItem) {
  ResponseStore store({});
  store.put(kAnn, response("a"));
  ASSERT_NE(store.find(kAnn, "a"), nullptr);
  EXPECT_EQ(store.find(kAnn, "a")->response, response("a").response);
  ASSERT_NE(store.find_by_item(kAnn, "item of a"), nullptr);
  EXPECT_EQ(store.find_by_item(kAnn, "item of a")->id, "a");
  EXPECT_EQ(store.find(kAnn, "b"), nullptr);
  EXPECT_EQ(store.find_by_item(kAnn, "item of b"), nullptr);
}

TEST(ResponseStore, TakesALaterStateInThePlaceOfAnEarlierOne) {
  ResponseStore store({.max_bytes = 250, .max_bytes_of_one = 250, .max_responses_of_one = 2});
  store.put(kAnn, response("b"));
  for (const bool is_over : {false, true}) {
    StoredResponse state = response("a");
    state.is_over = is_over;
    state.item_ids = {is_over ? "last" : "first"};
    store.put(kAnn, std::move(state));
  }
  EXPECT_TRUE(store.find(kAnn, "a")->is_over);
  EXPECT_NE(store.find(kAnn, "b"), nullptr);
  EXPECT_EQ(store.find_by_item(kAnn, "first"), nullptr);
  EXPECT_NE(store.find_by_item(kAnn, "last"), nullptr);
}

TEST(ResponseStore, ShowsNobodyWhatIsAnother) {
  ResponseStore store({});
  store.put(kAnn, response("a"));
  EXPECT_EQ(store.find(kBob, "a"), nullptr);
  EXPECT_EQ(store.find_by_item(kBob, "item of a"), nullptr);
  EXPECT_FALSE(store.erase(kBob, "a"));
  EXPECT_NE(store.find(kAnn, "a"), nullptr);
}

TEST(ResponseStore, FindsWhatAResponseGoesOnWithAsFarBackAsItIsKept) {
  const auto ids_of = [](const std::vector<StoredResponsePtr>& chain) {
    std::string ids;
    for (const auto& stored : chain) ids += stored->id;
    return ids;
  };
  ResponseStore store({});
  for (const auto& [id, previous] : {std::pair("a", ""), {"b", "a"}, {"c", "b"}, {"d", "b"}}) {
    StoredResponse one = response(id);
    one.previous_id = previous;
    store.put(kAnn, std::move(one));
  }
  EXPECT_EQ(ids_of(store.find_chain(kAnn, "d")), "abd");
  EXPECT_EQ(ids_of(store.find_chain(kAnn, "a")), "a");
  EXPECT_EQ(ids_of(store.find_chain(kAnn, "x")), "");
  EXPECT_EQ(ids_of(store.find_chain(kBob, "d")), "");
  store.erase(kAnn, "a");
  EXPECT_EQ(ids_of(store.find_chain(kAnn, "c")), "bc");
}

TEST(ResponseStore, ForgetsWhatIsErased) {
  ResponseStore store({});
  store.put(kAnn, response("a"));
  EXPECT_TRUE(store.erase(kAnn, "a"));
  EXPECT_FALSE(store.erase(kAnn, "a"));
  EXPECT_EQ(store.find(kAnn, "a"), nullptr);
  EXPECT_EQ(store.find_by_item(kAnn, "item of a"), nullptr);
}

TEST(ResponseStore, DropsTheLeastRecentlyUsedOfATenantBeyondItsBytesOrNumber) {
  for (const ResponseLimits& limits :
       {ResponseLimits{1000, 300, 1000}, ResponseLimits{1000, 1000, 3}, ResponseLimits{300, 300, 1000}}) {
    ResponseStore store(limits);
    for (const char* id : {"a", "b", "c"}) store.put(kAnn, response(id));
    EXPECT_NE(store.find(kAnn, "a"), nullptr);
    EXPECT_NE(store.find_by_item(kAnn, "item of b"), nullptr);
    store.put(kAnn, response("d"));
    EXPECT_EQ(store.find(kAnn, "c"), nullptr);
    for (const char* id : {"a", "b", "d"}) EXPECT_NE(store.find(kAnn, id), nullptr) << id;
  }
}

TEST(ResponseStore, TakesRoomFromTheTenantThatHasMost) {
  ResponseStore store({400, 400, 1000});
  store.put(kBob, response("b"));
  for (int i = 0; i < 10; ++i) store.put(kAnn, response(std::to_string(i)));
  EXPECT_NE(store.find(kBob, "b"), nullptr);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(store.find(kAnn, std::to_string(i)) != nullptr, i >= 7) << i;
}

TEST(ResponseStore, KeepsNothingThatIsLargerThanItsBounds) {
  ResponseStore small({1000, 99, 1000});
  small.put(kAnn, response("a"));
  EXPECT_EQ(small.find(kAnn, "a"), nullptr);
  ResponseStore none({0, 1000, 1000});
  none.put(kAnn, response("a"));
  EXPECT_EQ(none.find(kAnn, "a"), nullptr);
}

}  // namespace
}  // namespace realizar::server
