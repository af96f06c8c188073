#include "text/tokenizer/hf_parts.h"

#include <gtest/gtest.h>
#include <simdjson.h>

namespace realizar::text {
namespace {

simdjson::dom::element parse(simdjson::dom::parser& parser, const std::string& json) {
  return parser.parse(json);
}

// The pieces of `text`, separated by '|', or the error.
std::string split(const std::string& json, std::string text, bool at_start = true) {
  simdjson::dom::parser parser;
  auto read = read_pre_tokenizer(parse(parser, json), false);
  if (!read.ok()) return read.error().message;
  Pieces pieces;
  pieces.ranges = {{0, text.size()}};
  pieces.text = std::move(text);
  pieces.at_start = at_start;
  if (read->part) read->part(pieces);
  std::string shown;
  for (const TextRange& range : pieces.ranges) {
    if (!shown.empty()) shown += '|';
    shown.append(pieces.text, range.begin, range.end - range.begin);
  }
  return shown;
}

std::string normalize_with(const std::string& json, std::string text) {
  simdjson::dom::parser parser;
  auto read = read_normalizer(parse(parser, json));
  if (!read.ok()) return read.error().message;
  if (*read) (*read)(text, true);
  return text;
}

std::string at_dashes(const std::string& behavior) {
  return split(R"({"type":"Split","pattern":{"String":"-"},"behavior":")" + behavior + R"("})", "the-final--countdown");
}

TEST(HfPreTokenizer, SplitBehaviors) {
  EXPECT_EQ(at_dashes("Removed"), "the|final|countdown");
  EXPECT_EQ(at_dashes("Isolated"), "the|-|final|-|-|countdown");
  EXPECT_EQ(at_dashes("MergedWithPrevious"), "the-|final-|-|countdown");
  EXPECT_EQ(at_dashes("MergedWithNext"), "the|-final|-|-countdown");
  EXPECT_EQ(at_dashes("Contiguous"), "the|-|final|--|countdown");
  EXPECT_EQ(split(R"({"type":"Split","pattern":{"Regex":"[a-z]+"},"behavior":"Removed","invert":true})", "ab-c  d"),
            "ab|c|d");
  EXPECT_EQ(split(R"j({"type":"Split","pattern":{"Regex":"(?=[A-Z])"},"behavior":"Isolated"})j", "aBcD"), "a|Bc|D");
}

TEST(HfPreTokenizer, EachComponent) {
  EXPECT_EQ(split(R"({"type":"Whitespace"})", "How are  you_1 doing?!"), "How|are|you_1|doing|?!");
  EXPECT_EQ(split(R"({"type":"WhitespaceSplit"})", "How are\u00A0you?\n"), "How|are|you?");
  EXPECT_EQ(split(R"({"type":"BertPreTokenizer"})", "Hey friend!  How?!"), "Hey|friend|!|How|?|!");
  EXPECT_EQ(split(R"({"type":"Digits"})", "Call 123 please"), "Call |123| please");
  EXPECT_EQ(split(R"({"type":"Digits","individual_digits":true})", "a12"), "a|1|2");
  EXPECT_EQ(split(R"({"type":"Punctuation"})", "Hey!?  you$"), "Hey|!|?|  you|$");
  EXPECT_EQ(split(R"({"type":"FixedLength","length":2})", "a\u00e9\n\u4e2db"), "a\u00e9|\n\u4e2d|b");
  EXPECT_EQ(split(R"({"type":"CharDelimiterSplit","delimiter":","})", "a,b,,c"), "a|b|c");
  EXPECT_EQ(split(R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":true})", "don't \u00E9"),
            "\u0120don|'t|\u0120\u00C3\u00A9");
  EXPECT_EQ(split("null", "a b"), "a b");
}

TEST(HfPreTokenizer, Metaspace) {
  const std::string always = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"always"})";
  EXPECT_EQ(split(always, "Hey   friend!"), "_Hey|_|_|_friend!");
  EXPECT_EQ(split(always, " Hey"), "_Hey");
  const std::string first = R"({"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false})";
  EXPECT_EQ(split(first, "a b"), "_a_b");
  EXPECT_EQ(split(first, "a b", false), "a_b");
  EXPECT_EQ(split(R"({"type":"Metaspace","replacement":"_","add_prefix_space":false})", "a b"), "a|_b");
}

TEST(HfPreTokenizer, RefusesByName) {
  EXPECT_EQ(split(R"({"type":"UnicodeScripts"})", ""), "pre_tokenizer: type 'UnicodeScripts' is not built");
  EXPECT_EQ(split(R"({"type":"Sequence","pretokenizers":[{"type":"Zap"}]})", ""),
            "pre_tokenizer: type 'Zap' is not built");
  EXPECT_NE(split(R"({"type":"Metaspace","replacement":"__"})", "").find("one character"), std::string::npos);
  EXPECT_NE(
      split(R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"ByteLevel"}]})", "").find("once"),
      std::string::npos);
  EXPECT_NE(split(R"({"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"})", "").find("offset"),
            std::string::npos);
}

TEST(HfNormalizer, EachComponent) {
  EXPECT_EQ(normalize_with(R"({"type":"NFC"})", "e\u0301\xFF"), "\u00E9\xFF");
  EXPECT_EQ(normalize_with(R"({"type":"NFKC"})", "\uFB01"), "fi");
  EXPECT_EQ(normalize_with(R"({"type":"NFD"})", "\u00E9"), "e\u0301");
  EXPECT_EQ(normalize_with(R"({"type":"Lowercase"})", "\u00C9A"), "\u00E9a");
  EXPECT_EQ(normalize_with(R"({"type":"Strip"})", " \u00A0a b\n"), "a b");
  EXPECT_EQ(normalize_with(R"({"type":"Strip","strip_left":false})", " a "), " a");
  EXPECT_EQ(normalize_with(R"({"type":"Prepend","prepend":"_"})", "a"), "_a");
  EXPECT_EQ(normalize_with(R"({"type":"Prepend","prepend":"_"})", ""), "");
  EXPECT_EQ(normalize_with(R"({"type":"Replace","pattern":{"String":" "},"content":"__"})", "a b "), "a__b__");
  EXPECT_EQ(normalize_with(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})", "a    b c"), "a b c");
  EXPECT_EQ(normalize_with(R"({"type":"ByteLevel"})", " \u00E9"), "\u0120\u00C3\u00A9");
  EXPECT_EQ(normalize_with(R"({"type":"BertNormalizer"})", "H\u00E9llo\t\u4E2D\u0001!"), "hello  \u4E2D !");
  EXPECT_EQ(normalize_with(R"({"type":"BertNormalizer","strip_accents":false})", "\u00C9"), "\u00E9");
  EXPECT_EQ(normalize_with(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]})", "\u00E9"),
            "e");
  EXPECT_EQ(normalize_with(R"({"type":"Zap"})", ""), "normalizer: type 'Zap' is not built");
}

TEST(HfNormalizer, Nmt) {
  EXPECT_EQ(normalize_with(R"({"type":"Nmt"})", "a\x01\x7f\tb\u200bc\u2028\u2581d\u00a0\ufeff"), "a b c  d\u00a0 ");
}

TEST(HfNormalizer, LongRunsOfMarksTakeNoQuadraticTime) {
  std::string marks = "e";
  for (int i = 0; i < 200'000; ++i) marks += "\u0301\u0323";
  const std::string composed = normalize_with(R"({"type":"NFC"})", marks);
  EXPECT_EQ(composed.substr(0, 7), "\u1EB9\u0323\u0323");
  EXPECT_EQ(composed.substr(composed.size() - 4), "\u0301\u0301");
  EXPECT_EQ(normalize_with(R"({"type":"NFC"})", "\u1100\u1161\u11A8 \u0958"), "\uAC01 \u0915\u093C");
}

TEST(HfNormalizer, RefusesStepsThatTogetherBlowATextUp) {
  std::string steps;
  for (int i = 0; i < 20; ++i) {
    steps += std::string(i > 0 ? "," : "") + R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  }
  EXPECT_NE(normalize_with(R"({"type":"Sequence","normalizers":[)" + steps + "]}", "a").find("times longer"),
            std::string::npos);
}

std::string decode_with(const std::string& json, std::string_view piece) {
  simdjson::dom::parser parser;
  const Vocabulary vocab(std::span(&piece, 1), {});
  auto read = read_decoder(parse(parser, json), vocab);
  if (!read.ok()) return read.error().message;
  return (read->strips_leading_space ? "^" : "") + std::string(read->decoded[0]);
}

TEST(HfDecoder, EachComponent) {
  EXPECT_EQ(decode_with(R"({"type":"ByteLevel"})", "\u0120\u00C3\u00A9"), " \u00E9");
  EXPECT_EQ(decode_with(R"({"type":"ByteLevel"})", "<\u4E2D>"), "<\u4E2D>");
  EXPECT_EQ(decode_with(R"({"type":"ByteFallback"})", "<0xFf>"), "\xFF");
  EXPECT_EQ(decode_with(R"({"type":"ByteFallback"})", "<0xG0>"), "<0xG0>");
  EXPECT_EQ(decode_with(R"({"type":"Metaspace","prepend_scheme":"always"})", "\u2581a"), "^ a");
  EXPECT_EQ(decode_with(R"({"type":"WordPiece"})", "##ing"), "^ing");
  EXPECT_EQ(decode_with(R"({"type":"WordPiece"})", "go"), "^ go");
  EXPECT_EQ(decode_with(R"({"type":"WordPiece"})", "."), "^.");
  EXPECT_EQ(decode_with(R"({"type":"BPEDecoder"})", "go</w>"), "go ");
  EXPECT_EQ(decode_with(R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"_"},"content":" "},
                        {"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
                        "_a"),
            "^ a");
  EXPECT_EQ(decode_with(R"({"type":"CTC"})", ""), "decoder: type 'CTC' is not built");
}

std::string post_of(const std::string& json) {
  simdjson::dom::parser parser;
  const std::string_view pieces[] = {"a", "b", "c"};
  const Vocabulary vocab(pieces, {});
  auto read = read_post_processor(parse(parser, json), vocab);
  if (!read.ok()) return read.error().message;
  std::string shown;
  for (TokenId id : read->prefix) shown += std::to_string(to_index(id));
  shown += "A";
  for (TokenId id : read->suffix) shown += std::to_string(to_index(id));
  return shown;
}

TEST(HfPostProcessor, PutsSpecialTokensAround) {
  EXPECT_EQ(post_of(R"({"type":"ByteLevel"})"), "A");
  EXPECT_EQ(post_of(R"({"type":"RobertaProcessing","sep":["c",2],"cls":["b",1]})"), "1A2");
  const std::string single =
      R"("single":[{"SpecialToken":{"id":"b"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"c"}}])";
  EXPECT_EQ(post_of(R"({"type":"TemplateProcessing",)" + single +
                    R"(,"special_tokens":{"b":{"ids":[1,1]},"c":{"ids":[2]}}})"),
            "11A2");
  EXPECT_NE(post_of(R"({"type":"TemplateProcessing",)" + single + R"(,"special_tokens":{"b":{"ids":[9]}}})")
                .find("below 3, got 9"),
            std::string::npos);
  EXPECT_EQ(post_of(R"({"type":"Zap"})"), "post_processor: type 'Zap' is not built");
}

}  // namespace
}  // namespace realizar::text
