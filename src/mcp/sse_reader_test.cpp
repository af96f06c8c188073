#include "mcp/sse_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace realizar::mcp {
namespace {

using Events = std::vector<std::string>;

struct Read {
  Events events;
  std::string last_id;
  Status status;
};

Read read(std::string_view text, size_t piece_bytes, size_t max_bytes = 1000) {
  SseReader reader(max_bytes);
  Read read;
  for (size_t i = 0; i < text.size() && read.status.ok(); i += piece_bytes) {
    read.status = reader.push(text.substr(i, piece_bytes), [&](std::string_view data) {
      read.events.emplace_back(data);
      return true;
    });
  }
  read.last_id = reader.last_id();
  return read;
}

TEST(SseReader, ReadsTheSameInPiecesOfAnySize) {
  constexpr std::string_view kStream =
      "\xef\xbb\xbf: a comment\r\nid: 7\r\ndata: one\r\n\r\nevent: message\ndata:two\ndata:  "
      "lines\n\n\rdata\rid:8\r\rdata: lost";
  for (const size_t n : {1u, 2u, 3u, 5u, 8u, 1000u}) {
    const Read got = read(kStream, n);
    EXPECT_EQ(got.events, (Events{"one", "two\n lines", ""})) << n;
    EXPECT_EQ(got.last_id, "8") << n;
  }
}

TEST(SseReader, AnEventWithoutDataIsNone) {
  EXPECT_EQ(read("id: 1\n\n: ping\n\n\n", 100).events, Events{});
}

TEST(SseReader, BoundsLinesAndEvents) {
  EXPECT_FALSE(read(std::string(1001, 'x'), 10).status.ok());
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "data: 1234\n";
  EXPECT_FALSE(read(lines, 1000).status.ok());
  EXPECT_TRUE(read("data: " + std::string(994, 'x') + "\n\n", 1000).status.ok());
}

TEST(SseReader, KnowsHowLongToWait) {
  SseReader reader(100);
  const auto ignore = [](std::string_view) { return true; };
  ASSERT_TRUE(reader.push("retry: 250\nretry: -1\nretry: soon\nretry: 9999999999999999999999\n", ignore).ok());
  EXPECT_EQ(reader.retry(), std::chrono::milliseconds(250));
}

TEST(SseReader, StopsWhereNoMoreIsWanted) {
  SseReader reader(100);
  Events events;
  const auto once = [&](std::string_view data) {
    events.emplace_back(data);
    return false;
  };
  ASSERT_TRUE(reader.push("data: 1\n\ndata: 2\n\n", once).ok());
  ASSERT_TRUE(reader.push("data: 3\n\n", once).ok());
  EXPECT_EQ(events, Events{"1"});
}

}  // namespace
}  // namespace realizar::mcp
