// WordPiece takes the longest known beginning; a word that cannot be split completely is one unknown token.
#include <gtest/gtest.h>

#include "base/result_checks.h"
#include "text/tokenizer/builders.h"

namespace realizar::text {
namespace {

std::vector<int32_t> encode(const MergeModel& model, std::string_view word) {
  std::vector<TokenId> ids;
  model.encode_word(word, ids);
  std::vector<int32_t> numbers;
  for (TokenId id : ids) numbers.push_back(to_index(id));
  return numbers;
}

const std::vector<std::string_view> kPieces = {"[UNK]", "un", "##aff", "##able", "##a", "una", "##ff", "able"};

TEST(WordPiece, TakesTheLongestPiece) {
  const Vocabulary vocab(kPieces, {});
  auto model = must(make_wordpiece_model(vocab, {}));
  EXPECT_EQ(encode(*model, "unaffable"), (std::vector<int32_t>{5, 6, 3}));
  EXPECT_EQ(encode(*model, "able"), (std::vector<int32_t>{7}));
  EXPECT_EQ(encode(*model, "unx"), (std::vector<int32_t>{0}));
  EXPECT_EQ(encode(*model, "una" + std::string(97, 'a')).size(), 98u);
  EXPECT_EQ(encode(*model, "una" + std::string(98, 'a')), (std::vector<int32_t>{0}));
  EXPECT_EQ(encode(*model, std::string(10'000'000, 'a')), (std::vector<int32_t>{0}));
}

TEST(WordPiece, NeedsItsUnknownToken) {
  const Vocabulary vocab(kPieces, {});
  WordPieceOptions options;
  options.unk_token = "<unk>";
  EXPECT_EQ(make_wordpiece_model(vocab, options).error().code, ErrorCode::kFormatError);
  EXPECT_EQ(make_wordlevel_model(vocab, "<unk>").error().code, ErrorCode::kFormatError);
}

TEST(WordLevel, KnowsWholeWords) {
  const Vocabulary vocab(kPieces, {});
  auto model = must(make_wordlevel_model(vocab, "[UNK]"));
  EXPECT_EQ(encode(*model, "able"), (std::vector<int32_t>{7}));
  EXPECT_EQ(encode(*model, "ab"), (std::vector<int32_t>{0}));
}

}  // namespace
}  // namespace realizar::text
