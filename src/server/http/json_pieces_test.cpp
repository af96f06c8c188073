#include "server/http/json_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace realizar::server {
namespace {

std::string written(JsonPieces& pieces, size_t piece_bytes = SIZE_MAX) {
  std::string all;
  while (!pieces.is_done()) {
    std::string piece;
    pieces.write(piece, piece_bytes);
    all += piece;
  }
  return all;
}

std::string written_of(Json json, size_t piece_bytes = SIZE_MAX) {
  JsonPieces pieces;
  pieces.put(std::move(json));
  return written(pieces, piece_bytes);
}

TEST(JsonPieces, AreTheBytesOfTheWholeTree) {
  const Json json = Json::parse(R"({"b": [1, -2.5, null, true, [], {}, ["x"]], "a": {"": "ä\n\"", "e": 1e-7}})");
  EXPECT_EQ(written_of(json), dump(json));
  for (const Json& scalar : {Json(), Json(7), Json("text"), Json::array(), Json::object()}) {
    EXPECT_EQ(written_of(scalar, 1), dump(scalar));
  }
}

TEST(JsonPieces, ListsAreMadeInOrderAndInEachOther) {
  JsonPieces pieces;
  Json json{{"first", 1}};
  json["lists"] = pieces.list(3, [&](size_t i) -> Json {
    return {{"index", i}, {"items", pieces.list(i, [i](size_t k) -> Json { return 10 * i + k; })}};
  });
  json["last"] = "end";
  pieces.put(std::move(json));
  EXPECT_EQ(written(pieces, 1),
            R"({"first":1,"lists":[{"index":0,"items":[]},{"index":1,"items":[10]},{"index":2,"items":[20,21]}],)"
            R"("last":"end"})");
}

TEST(JsonPieces, AListMayBeAllThereIs) {
  JsonPieces pieces;
  pieces.put(pieces.list(2, [](size_t i) -> Json { return i; }));
  EXPECT_EQ(written(pieces), "[0,1]");
}

TEST(JsonPieces, BytesStandWhereTheyWerePut) {
  JsonPieces pieces;
  const std::string long_text(3 * JsonPieces::kStepBytes, 'x');
  std::string expected;
  for (int i = 0; i < 3; ++i) {
    pieces.put_bytes("data: ");
    pieces.put({{"text", long_text}, {"items", pieces.list(2, [](size_t k) -> Json { return k; })}});
    pieces.put_bytes("\n");
    pieces.put_bytes("\n");
    expected += R"(data: {"text":")" + long_text + "\",\"items\":[0,1]}\n\n";
  }
  EXPECT_EQ(written(pieces, 1), expected);
  pieces.put_bytes("more");
  EXPECT_FALSE(pieces.is_done());
  EXPECT_EQ(written(pieces), "more");
}

TEST(JsonPieces, WhatIsPutLaterIsWrittenLater) {
  JsonPieces pieces;
  pieces.put({{"a", pieces.list(1, [](size_t i) -> Json { return i; })}});
  pieces.put("b");
  EXPECT_EQ(written(pieces), R"({"a":[0]}"b")");
}

// Lengths around the size of a slice, with whole characters, parts of some, and invalid bytes.
TEST(JsonPieces, LongTextsAreCutBetweenCharacters) {
  constexpr size_t kStep = JsonPieces::kStepBytes;
  const std::vector<std::string> fillers{
      "a", "ä", "日", "🦆", "\"", "\x80", "\xf0\x9f", "\xf0\x9f\xa6\x86\x86", "\xe2\x28\xa1"};
  for (const std::string& filler : fillers) {
    for (size_t n_before = 0; n_before < 5; ++n_before) {
      std::string text(n_before, 'x');
      while (text.size() < 2 * kStep + 3) text += filler;
      EXPECT_EQ(written_of(text, 1), dump(text)) << filler << n_before;
    }
  }
  std::mt19937 random(7);
  std::string noise;
  for (size_t i = 0; i < 5 * kStep; ++i) noise += static_cast<char>(random());
  EXPECT_EQ(written_of({{"noise", noise}}, 1), dump({{"noise", noise}}));
}

// Each step is short, however long the output: it goes little beyond n_bytes.
TEST(JsonPieces, NoStepIsLong) {
  constexpr size_t kStep = JsonPieces::kStepBytes, kPiece = 4096;
  JsonPieces pieces;
  Json json{{"text", std::string(20 * kStep, 'a')}, {"control", std::string(3 * kStep, '\n')}};
  for (int i = 0; i < 20000; ++i) json["many"].push_back({{"i", i}, {"text", "some text"}});
  for (int i = 0; i < 5000; ++i) json["named"]["a name " + std::to_string(i)] = i;
  const std::string expected_begin = dump(json);
  json["list"] = pieces.list(1000, [&](size_t i) -> Json {
    return {{"text", std::string(i % 10 == 0 ? 3 * kStep : 10, 'b')},
            {"ids", pieces.list(100, [](size_t k) { return Json(k); })}};
  });
  pieces.put(std::move(json));
  size_t n_bytes = 0, longest = 0;
  std::string all;
  while (!pieces.is_done()) {
    const uint64_t n_steps = pieces.n_steps();
    std::string piece;
    pieces.write(piece, kPiece);
    EXPECT_LE(pieces.n_steps() - n_steps, kPiece + 1);
    n_bytes += piece.size();
    longest = std::max(longest, piece.size());
    if (all.size() < expected_begin.size()) all += piece;
  }
  EXPECT_LE(longest, kPiece + 2 * kStep + 100);  // a control character takes two bytes here
  EXPECT_GT(n_bytes, 100 * 3 * kStep);
  EXPECT_TRUE(all.starts_with(expected_begin.substr(0, expected_begin.size() - 1)));
}

TEST(JsonPieces, ItemsAreMadeWhenTheyAreWrittenAndNotKept) {
  JsonPieces pieces;
  const auto kept = std::make_shared<int>(1);
  size_t n_made = 0;
  pieces.put(pieces.list(1000, [&n_made, kept](size_t) -> Json { return ++n_made, std::string(100, 'x'); }));
  EXPECT_EQ(n_made, 0u);
  std::string some;
  pieces.write(some, 1000);
  EXPECT_LE(n_made, 10u);
  EXPECT_EQ(kept.use_count(), 2);
  static_cast<void>(written(pieces));
  EXPECT_EQ(n_made, 1000u);
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace realizar::server
