#include "server/http.h"

#include <gtest/gtest.h>

#include "server/recorded_reply.h"

namespace realizar::server {
namespace {

TEST(HttpRequest, FindsHeadersInAnyCase) {
  HttpRequest request;
  request.headers = {{"Content-Type", "a"}, {"X-Id", "first"}, {"x-id", "second"}, {"Empty", ""}};
  EXPECT_EQ(request.header("content-type"), "a");
  EXPECT_EQ(request.header("X-ID"), "first");
  EXPECT_EQ(request.header("X-I"), "");
  EXPECT_EQ(request.header("Empty"), "");
}

TEST(PercentDecoded, DecodesEscapesAndNothingElse) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc%c3%A4"), "a b/cä");
  EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
  for (const char* text : {"", "plain", "100%", "%4", "%zz", "%4z", "%-1", "%+1", "% 1"}) {
    EXPECT_EQ(percent_decoded(text), text);
  }
  EXPECT_EQ(percent_decoded("%2541"), "%41");
}

TEST(ReasonPhrase, IsNeverEmpty) {
  EXPECT_STREQ(reason_phrase(200), "OK");
  for (int status = 100; status < 600; ++status) EXPECT_STRNE(reason_phrase(status), "") << status;
}

// Writes down what it is told.
class FakeReply final : public Reply {
 public:
  void send(HttpResponse response) override { heads.push_back(std::move(response)), closed = true; }
  void begin_stream(HttpResponse head) override { heads.push_back(std::move(head)); }
  void write(std::string_view bytes) override { text += bytes; }
  void end() override { closed = true; }
  bool is_congested() const override { return false; }
  bool is_closed() const override { return closed; }
  void drop() noexcept override { closed = true; }

  std::vector<HttpResponse> heads;
  std::string text;
  bool closed = false;
};

struct RecordedReplyTest : ::testing::Test {
  std::shared_ptr<FakeReply> inner = std::make_shared<FakeReply>();
  std::vector<int> over;
  std::shared_ptr<RecordedReply> reply = RecordedReply::over(
      inner, [this] { return headers; }, [this](int status) { over.push_back(status); });
  Headers headers{{"X-Request-Id", "7"}};
};

TEST_F(RecordedReplyTest, AddsTheHeadersOfItsBeginningAndTellsTheStatusOnce) {
  headers = {{"X-Request-Id", "8"}};
  reply->send({404, "text/plain", "no", {}});
  EXPECT_EQ(inner->heads.at(0).headers, (Headers{{"X-Request-Id", "8"}}));
  reply->send({200, "text/plain", "yes", {}});
  reply->end();
  EXPECT_EQ(inner->heads.size(), 1u);
  EXPECT_EQ(over, std::vector{404});
}

TEST_F(RecordedReplyTest, StreamsEndWithTheirHeadsStatus) {
  reply->begin_stream({200, "text/event-stream", "", {}});
  reply->write("a");
  reply->write("b");
  EXPECT_TRUE(over.empty());
  reply->end();
  EXPECT_EQ(inner->text, "ab");
  EXPECT_EQ(over, std::vector{200});
}

TEST_F(RecordedReplyTest, AClientThatLeavesIs499) {
  int n_closed = 0;
  reply->on_closed = [&] { ++n_closed; };
  reply->begin_stream({200, "text/event-stream", "", {}});
  inner->on_closed();
  EXPECT_EQ(n_closed, 1);
  EXPECT_EQ(over, std::vector{499});
}

}  // namespace
}  // namespace realizar::server
