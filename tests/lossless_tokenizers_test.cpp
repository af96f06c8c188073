// No byte of a text is lost, for any vocabulary and any types of its tokens: a text encoded as plain text is decoded
// unchanged, even if tokens for characters are typed as special, unused or unknown.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

// Letters of the byte alphabet, spellings of bytes and of spaces, and the padding of tokens.
const Texts kParts = {"a",      "b",      "!",  "\"", " ",  "\n",    "\t",  "\u00e9",     "\u0111", "\u00d6", "\u0120",
                      "\u4e2d", "<0x41>", "em", "!!", "  ", "<|a|>", "<s>", "\U0001f600", "\u010a", "0",      "ab"};

std::string any_text(bool has_bytes = false) {
  std::string text;
  const auto n = *rc::gen::inRange(1, 24);
  for (int i = 0; i < n; ++i) {
    const bool is_byte = has_bytes && *rc::gen::inRange(0, 4) == 0;
    text += is_byte ? std::string(1, static_cast<char>(*rc::gen::inRange(0, 0xC0))) : *rc::gen::elementOf(kParts);
  }
  return text;
}

void check_texts(const Result<Tokenizer>& tokenizer, bool has_bytes = false) {
  if (!tokenizer.ok()) RC_FAIL(tokenizer.error().message);
  for (int i = 0; i < 8; ++i) {
    const std::string text = any_text(has_bytes);
    const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = false});
    RC_ASSERT(tokenizer->decode(ids, {.skip_special = false}) == text);
    RC_ASSERT(tokenizer->decode(ids) == text);
  }
}

struct Pieces {
  Texts texts;
  std::set<std::string> known = {};

  void add(const std::string& piece) {
    if (known.insert(piece).second) texts.push_back(piece);
  }
};

// Rules between pieces, whose results become pieces.
std::vector<std::pair<std::string, std::string>> add_merges(Pieces& pieces) {
  std::vector<std::pair<std::string, std::string>> merges;
  const auto n = *rc::gen::inRange(0, 12);
  for (int i = 0; i < n; ++i) {
    const std::string left = *rc::gen::elementOf(pieces.texts), right = *rc::gen::elementOf(pieces.texts);
    pieces.add(left + right);
    merges.emplace_back(left, right);
  }
  return merges;
}

Texts some_parts() {
  return *rc::gen::container<Texts>(rc::gen::elementOf(kParts));
}

std::vector<std::string_view> views_of(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

std::vector<int32_t> any_types(size_t n) {
  return *rc::gen::container<std::vector<int32_t>>(
      n, rc::gen::weightedElement<int32_t>({{4, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}}));
}

TEST(LosslessTokenizers, BytesOfAGgufVocabulary) {
  EXPECT_TRUE(rc::check([] {
    Pieces pieces;
    for (int byte = 0; byte < 256; ++byte) pieces.add(std::string(spell_byte(static_cast<uint8_t>(byte))));
    const auto rules = add_merges(pieces);
    for (const std::string& part : some_parts()) pieces.add(part);
    Texts merges;
    for (const auto& [left, right] : rules) merges.push_back(left + " " + right);
    GgufVocab vocab;
    vocab.model = "gpt2";
    vocab.pre = *rc::gen::element<std::string>("gpt-2", "llama-bpe", "tekken");
    vocab.tokens = views_of(pieces.texts);
    vocab.token_types = any_types(pieces.texts.size());
    vocab.merges = views_of(merges);
    check_texts(Tokenizer::from_gguf(vocab), true);
  }));
}

TEST(LosslessTokenizers, PiecesOfAGgufVocabulary) {
  EXPECT_TRUE(rc::check([] {
    Pieces pieces;
    pieces.add("\u2581");
    for (const std::string& part : some_parts()) pieces.add(part);
    // Characters without a piece are spelled in bytes.
    for (int byte = 0; byte < 256; ++byte) pieces.add(spell_byte_token(static_cast<uint8_t>(byte)));
    add_merges(pieces);
    GgufVocab vocab;
    vocab.model = *rc::gen::element<std::string>("llama", "t5");
    vocab.tokens = views_of(pieces.texts);
    vocab.token_types = any_types(pieces.texts.size());
    vocab.token_types.back() = 6;
    vocab.scores = *rc::gen::container<std::vector<float>>(
        pieces.texts.size(), rc::gen::map(rc::gen::inRange(-20, 0), [](int s) { return static_cast<float>(s); }));
    vocab.add_space_prefix = false;
    vocab.add_eos = false;
    check_texts(Tokenizer::from_gguf(vocab));
  }));
}

Json any_added(const Pieces& pieces) {
  Json added = Json::array();
  std::set<std::string> seen;
  size_t next = pieces.texts.size();
  Texts contents = some_parts();
  for (int i = 0; i < 3; ++i) contents.push_back(*rc::gen::elementOf(pieces.texts));
  for (const std::string& content : contents) {
    if (!seen.insert(content).second) continue;
    const auto known = std::find(pieces.texts.begin(), pieces.texts.end(), content);
    const size_t id = known == pieces.texts.end() ? next++ : static_cast<size_t>(known - pieces.texts.begin());
    added.push_back(
        {{"id", id}, {"content", content}, {"special", *rc::gen::arbitrary<bool>()}, {"normalized", false}});
  }
  return added;
}

TEST(LosslessTokenizers, BytesOfTokenizerJson) {
  EXPECT_TRUE(rc::check([] {
    Pieces pieces;
    for (int byte = 0; byte < 256; ++byte) pieces.add(std::string(spell_byte(static_cast<uint8_t>(byte))));
    const auto rules = add_merges(pieces);
    Json vocab = Json::object();
    for (size_t i = 0; i < pieces.texts.size(); ++i) vocab[pieces.texts[i]] = i;
    const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
    const Json json = {
        {"added_tokens", any_added(pieces)},
        {"pre_tokenizer", byte_level},
        {"decoder", byte_level},
        {"model",
         {{"type", "BPE"}, {"vocab", vocab}, {"merges", rules}, {"ignore_merges", *rc::gen::arbitrary<bool>()}}}};
    check_texts(Tokenizer::from_hf(json.dump(), ""), true);
  }));
}

TEST(LosslessTokenizers, PiecesOfTokenizerJson) {
  EXPECT_TRUE(rc::check([] {
    Pieces pieces;
    for (const std::string& part : some_parts()) pieces.add(part);
    for (int byte = 0; byte < 256; ++byte) pieces.add(spell_byte_token(static_cast<uint8_t>(byte)));
    const bool is_unigram = *rc::gen::arbitrary<bool>();
    Json model = {{"type", is_unigram ? "Unigram" : "BPE"}, {"byte_fallback", true}};
    if (is_unigram) {
      model["vocab"] = Json::array();
      for (const std::string& piece : pieces.texts) model["vocab"].push_back({piece, -*rc::gen::inRange(1, 20)});
    } else {
      model["merges"] = Json::array();
      for (size_t i = 0; i < pieces.texts.size(); ++i) model["vocab"][pieces.texts[i]] = i;
    }
    const Json json = {{"added_tokens", any_added(pieces)}, {"decoder", {{"type", "ByteFallback"}}}, {"model", model}};
    check_texts(Tokenizer::from_hf(json.dump(), ""));
  }));
}

}  // namespace
}  // namespace realizar::text
