// Vocabularies in other files than tokenizer.json: tekken.json, and vocab.json with merges.txt.
#include "text/tokenizer/json_forms.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/encodings.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

using FormJson = nlohmann::json;
using Ids = std::vector<int>;

FormJson tekken_of(const std::vector<std::string>& more, size_t n_specials) {
  FormJson vocab = FormJson::array();
  const auto add = [&](const std::string& bytes) {
    vocab.push_back({{"rank", vocab.size()}, {"token_bytes", encode_base64(bytes)}, {"token_str", nullptr}});
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const std::string& bytes : more) add(bytes);
  const FormJson config = {{"pattern", "\\p{L}+|[^\\p{L}]+"},
                           {"num_vocab_tokens", vocab.size()},
                           {"default_vocab_size", vocab.size() + n_specials},
                           {"default_num_special_tokens", n_specials},
                           {"version", "v3"}};
  return {{"config", config}, {"vocab", vocab}};
}

FormJson specials_of(const std::vector<std::string>& names) {
  FormJson specials = FormJson::array();
  for (const std::string& name : names) {
    specials.push_back({{"rank", specials.size()}, {"token_str", name}, {"is_control", true}});
  }
  return specials;
}

Tokenizer tokenizer_of(const Result<TokenizerJson>& form) {
  if (!form.ok()) ADD_FAILURE() << form.error().message;
  auto tokenizer = Tokenizer::from_hf(form->tokenizer, form->config);
  if (!tokenizer.ok()) ADD_FAILURE() << tokenizer.error().message;
  return std::move(*tokenizer);
}

Ids form_ids(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {.add_special = false}) {
  Ids ids;
  for (const TokenId id : tokenizer.encode(text, options)) ids.push_back(to_index(id));
  return ids;
}

TEST(Tekken, IdsAreRanksAfterTheSpecialTokens) {
  FormJson tekken = tekken_of({"th", "the", "\xC3\xA9", "the the"}, 16);
  tekken["special_tokens"] = specials_of({"<unk>", "<s>", "</s>", "[INST]"});
  const Tokenizer tokenizer = tokenizer_of(json_of_tekken(tekken.dump(), ""));
  EXPECT_EQ(tokenizer.n_vocab(), 16 + 256 + 4);
  EXPECT_EQ(form_ids(tokenizer, "the th"), (Ids{16 + 257, 16 + ' ', 16 + 256}));
  EXPECT_EQ(form_ids(tokenizer, "\u00e9\"\\"), (Ids{16 + 258, 16 + '"', 16 + '\\'}));
  EXPECT_EQ(form_ids(tokenizer, "[INST]a", {}), (Ids{1, 3, 16 + 'a'}));
  EXPECT_EQ(tokenizer.piece(TokenId{15}), "<SPECIAL_15>");
  EXPECT_EQ(tokenizer.bos(), TokenId{1});
  EXPECT_EQ(tokenizer.eos(), TokenId{2});
  const std::string text = "any \xFF bytes\n\u4e2d";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {.add_special = false})), text);
}

TEST(Tekken, TheFirstVersionsListNoSpecialTokens) {
  const Tokenizer tokenizer = tokenizer_of(json_of_tekken(tekken_of({}, 32).dump(), ""));
  EXPECT_EQ(tokenizer.piece(TokenId{9}), "[TOOL_CALLS]");
  EXPECT_EQ(tokenizer.piece(TokenId{19}), "[TOOL_CONTENT]");
  EXPECT_EQ(tokenizer.piece(TokenId{20}), "<SPECIAL_20>");
  EXPECT_EQ(form_ids(tokenizer, "a"), Ids{32 + 'a'});
}

TEST(Tekken, RanksBeyondTheVocabularyAreLeftOut) {
  FormJson tekken = tekken_of({"ab", "cd"}, 20);
  tekken["config"]["default_vocab_size"] = 20 + 257;
  const Tokenizer tokenizer = tokenizer_of(json_of_tekken(tekken.dump(), ""));
  EXPECT_EQ(tokenizer.n_vocab(), 20 + 257);
  EXPECT_EQ(form_ids(tokenizer, "abcd"), (Ids{20 + 256, 20 + 'c', 20 + 'd'}));
}

TEST(Tekken, RefusesBrokenFiles) {
  const auto error = [](const FormJson& tekken) {
    const auto form = json_of_tekken(tekken.dump(), "");
    return form.ok() ? std::string("ok") : form.error().message;
  };
  EXPECT_EQ(error(FormJson::object()), "tekken.json: expected an object 'config'");
  FormJson broken = tekken_of({}, 20);
  broken["config"].erase("pattern");
  EXPECT_EQ(error(broken), "tekken.json: config.pattern: expected a regular expression");
  broken = tekken_of({}, 20);
  broken["vocab"].erase(65);
  EXPECT_EQ(error(broken), "tekken.json: vocab: the rank 65 is missing");
  broken = tekken_of({"ab", "ab"}, 20);
  EXPECT_EQ(error(broken), "tekken.json: vocab: the rank 257 has the bytes of another");
  broken = tekken_of({}, 20);
  broken["vocab"][3]["token_bytes"] = "!";
  EXPECT_NE(error(broken).find("rank 3"), std::string::npos);
}

FormJson gpt2_vocab(const std::vector<std::string>& more) {
  FormJson vocab = FormJson::object();
  for (int byte = 0; byte < 256; ++byte) vocab[std::string(spell_byte(static_cast<uint8_t>(byte)))] = byte;
  for (const std::string& piece : more) vocab[piece] = vocab.size();
  return vocab;
}

TEST(MergesFile, IsReadAsTheClassReadsIt) {
  const std::string vocab = gpt2_vocab({"ab", "\u0120ab", "<|endoftext|>"}).dump();
  const std::string merges = "#version: 0.2\r\na b\r\n\u0120 ab\r\n";
  const Tokenizer gpt2 = tokenizer_of(json_of_merges(vocab, merges, "", "gpt2"));
  EXPECT_EQ(form_ids(gpt2, "ab ab<|endoftext|>"), (Ids{256, 257, 258}));
  EXPECT_EQ(gpt2.eos(), TokenId{258});
  EXPECT_EQ(gpt2.type(TokenId{258}), TokenType::kControl);
  const Tokenizer with_bos =
      tokenizer_of(json_of_merges(vocab, merges, R"({"tokenizer_class":"GPT2Tokenizer","add_bos_token":true})", ""));
  EXPECT_EQ(form_ids(with_bos, "ab", {}), (Ids{258, 256}));
  const Tokenizer qwen = tokenizer_of(json_of_merges(
      vocab, merges,
      R"({"tokenizer_class":"Qwen2Tokenizer","added_tokens_decoder":{"259":{"content":"<|im_end|>","special":true}}})",
      ""));
  EXPECT_EQ(form_ids(qwen, "ab ab<|im_end|>"), (Ids{256, 257, 259}));
  EXPECT_EQ(qwen.encode("e\u0301"), qwen.encode("\u00e9"));
  const std::string roberta_vocab = gpt2_vocab({"<s>", "</s>", "<mask>"}).dump();
  const Tokenizer roberta = tokenizer_of(json_of_merges(roberta_vocab, "", "", "roberta"));
  EXPECT_EQ(form_ids(roberta, "a <mask>", {}), (Ids{256, 'a', 258, 257}));
}

TEST(MergesFile, OtherClassesAndBrokenFilesAreRefused) {
  const auto error = [](std::string_view vocab, std::string_view merges, std::string_view config) {
    const auto form = json_of_merges(vocab, merges, config, "");
    return form.ok() ? std::string("ok") : form.error().message;
  };
  EXPECT_NE(error("{}", "", R"({"tokenizer_class":"CLIPTokenizer"})").find("'CLIPTokenizer'"), std::string::npos);
  EXPECT_NE(error("{}", "", "").find("class ''"), std::string::npos);
  const std::string gpt2 = R"({"tokenizer_class":"GPT2Tokenizer"})";
  EXPECT_EQ(error("[]", "", gpt2), "vocab.json: expected a JSON object");
  EXPECT_EQ(error("{}", "a b\nabc\n", gpt2), "merges.txt: line 2: expected two pieces, got 'abc'");
}

}  // namespace
}  // namespace realizar::text
