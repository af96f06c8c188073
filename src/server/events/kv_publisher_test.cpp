#include "server/events/kv_publisher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace realizar::server {
namespace {

using Json = nlohmann::json;

constexpr size_t kFrameBytes = 1 << 20;
constexpr auto kDealer = static_cast<ZmqType>(5);

// This thread is the engine: ask() does what the publisher requests.
class KvPublisherTest : public testing::Test {
 protected:
  void SetUp() override {
    auto zmq = Zmq::open();
    if (!zmq.ok()) GTEST_SKIP() << zmq.error().message;
    zmq_ = std::move(*zmq);
    for (const char* name : {"news", "replay"}) {
      paths_.push_back(testing::TempDir() + "kv_publisher_" + std::to_string(::getpid()) + name);
    }
    auto publisher = KvPublisher::open({"ipc://" + paths_[0], "ipc://" + paths_[1], "here", kMaxKept});
    ASSERT_TRUE(publisher.ok()) << publisher.error().message;
    publisher_ = std::move(*publisher);
    dealer_ = std::move(*zmq_->make_socket(kDealer));
    dealer_->set(ZmqOption::kLinger, 0);
    ASSERT_TRUE(dealer_->connect("ipc://" + paths_[1]).ok());
    events_ = std::make_shared<engine::BlockEvents>(pool_);
    events_->begin();
    publisher_->watch({events_, {pool_.root_hash(0)}, [this] { is_asked_ = true; }});
  }
  void TearDown() override {
    publisher_.reset();
    dealer_.reset();
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }

  void name(int token) {
    const auto block = pool_.allocate();
    uint64_t hash = pool_.root_hash(0);
    const TokenId id{token};
    pool_.name_blocks({&*block, 1}, {&id, 1}, 0, hash);
    pool_.release(*block);
  }
  // Messages from that number on, by number; only the batches' events.
  std::vector<std::pair<uint64_t, Json>> ask(uint64_t first) {
    const std::string number = kv_number_bytes(first);
    dealer_->send({"", number});
    std::vector<std::pair<uint64_t, Json>> messages;
    while (true) {
      if (is_asked_.exchange(false)) events_->tell_some();
      zmq_->wait(dealer_.get(), 10);
      const auto frames = dealer_->receive(kFrameBytes);
      if (!frames) continue;
      EXPECT_EQ(frames->size(), 4u);
      const auto given = read_kv_request({"", frames->at(2)});
      if (given == ~uint64_t{0}) return messages;
      EXPECT_EQ(frames->at(1), "here");
      messages.emplace_back(*given, Json::from_msgpack(frames->at(3))[1]);
    }
  }
  // The tokens of all published blocks from number 0 on.
  std::set<int> tokens() {
    std::set<int> tokens;
    std::map<Json, int> of_hash;
    uint64_t next = 0;
    for (const auto& [number, events] : ask(0)) {
      EXPECT_EQ(number, next++);
      for (const Json& event : events) {
        if (event["type"] == "AllBlocksCleared") tokens.clear();
        if (event["type"] == "BlockStored") tokens.insert(of_hash[event["block_hashes"][0]] = event["token_ids"][0]);
        if (event["type"] == "BlockRemoved") {
          for (const Json& hash : event["block_hashes"]) tokens.erase(of_hash[hash]);
        }
      }
    }
    return tokens;
  }
  void await_tokens(const std::set<int>& expected) {
    while (tokens() != expected) {
    }
  }

  static constexpr size_t kMaxKept = 8;
  kv::BlockPool pool_{4, 1, {1, 2}};
  std::unique_ptr<Zmq> zmq_;
  std::vector<std::string> paths_;
  std::shared_ptr<engine::BlockEvents> events_;
  std::unique_ptr<KvPublisher> publisher_;
  std::unique_ptr<ZmqSocket> dealer_;
  std::atomic<bool> is_asked_{false};
};

TEST_F(KvPublisherTest, RepeatsWhatItHasPublished) {
  name(1);
  name(2);
  await_tokens({1, 2});
  pool_.forget_names();
  await_tokens({});
}

// llm-d accepts a reply only if it begins with the requested number.
TEST_F(KvPublisherTest, WhereTheFirstMessagesAreGoneNumbersBeginAnewWithAllThatIsHeld) {
  while (ask(0).empty()) {
  }
  uint64_t last = 0;
  int token = 0;
  while (last < 4 * kMaxKept) {
    name(++token);
    for (bool is_told = false; !is_told;) {
      for (const auto& [number, events] : ask(last + 1)) {
        last = number;
        for (const Json& event : events) is_told = is_told || event.value("token_ids", Json()) == Json({token});
      }
    }
  }
  await_tokens({token - 3, token - 2, token - 1, token});
  EXPECT_TRUE(ask(last).empty()) << "there are fewer by now";
}

TEST_F(KvPublisherTest, OneModelComesAfterTheOther) {
  name(1);
  await_tokens({1});
  kv::BlockPool next(2, 1, {3, 4});
  const auto events = std::make_shared<engine::BlockEvents>(next);
  events->begin();
  publisher_->watch({events, {next.root_hash(0)}, [] {}});
  name(2);
  await_tokens({1, 2});
  events_->end();
  await_tokens({});
  const BlockId block = *next.allocate();
  const TokenId id{7};
  uint64_t hash = next.root_hash(0);
  next.name_blocks({&block, 1}, {&id, 1}, 0, hash);
  await_tokens({7});
  events->end();
}

}  // namespace
}  // namespace realizar::server
