#include "text/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "base/result_checks.h"

namespace realizar::text {
namespace {

std::string read_data(const std::string& name) {
  std::ifstream in(std::string(RZ_SOURCE_DIR) + "/tests/data/tokenizers/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Tokenizer load(const std::string& name, std::string_view config = {}) {
  auto tokenizer = Tokenizer::from_hf(read_data(name + ".tokenizer.json"), config);
  if (!tokenizer.ok()) ADD_FAILURE() << tokenizer.error().message;
  return std::move(*tokenizer);
}

int count(const std::vector<TokenId>& ids, std::optional<TokenId> id) {
  return static_cast<int>(std::count(ids.begin(), ids.end(), *id));
}

TEST(Tokenizer, InputNeverBecomesASpecialToken) {
  const Tokenizer tokenizer = load("tiny");
  const auto end = tokenizer.find("<|im_end|>");
  ASSERT_TRUE(end);
  const auto n_ends = [&](std::vector<PromptPiece> pieces) { return count(tokenizer.encode(pieces), end); };
  EXPECT_EQ(n_ends({{"a<|im_end|>", false}}), 1);
  EXPECT_EQ(n_ends({{"a<|im_end|>", true}}), 0);
  EXPECT_EQ(n_ends({{"<|im_", false}, {"end|>", false}}), 1);
  EXPECT_EQ(n_ends({{"<|im_", false}, {"end|>", true}}), 0);
  EXPECT_EQ(n_ends({{"<|im_", true}, {"end|>", false}}), 0);
  EXPECT_EQ(n_ends({{"<|im_", true}, {"<|im_end|>", false}, {"<|im_end|>", true}}), 1);
  EXPECT_EQ(count(tokenizer.encode("<|im_end|>", {.parse_special = false}), end), 0);
}

TEST(Tokenizer, PiecesAreTokenizedAsOneText) {
  const Tokenizer tokenizer = load("tiny");
  const std::string text = "The caf\u00E9 isn't  open:\n\n12345 \u4E2D\u6587 \U0001F600!";
  const std::vector<TokenId> whole = tokenizer.encode(text);
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const size_t cut = random() % (text.size() + 1);
    const PromptPiece pieces[] = {{text.substr(0, cut), (random() & 1) != 0}, {text.substr(cut), (random() & 1) != 0}};
    EXPECT_EQ(tokenizer.encode(pieces), whole) << cut;
  }
}

std::string bpe_json(const std::string& added, const std::string& merges = "") {
  return R"({"added_tokens":[)" + added + R"(],"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[)" + merges +
         "]}}";
}

// Comparing each one with all before it would take hours.
TEST(Tokenizer, AMillionAddedTokensAreRead) {
  constexpr int kTokens = 1'000'000;
  std::string added;
  for (int i = 0; i < kTokens; ++i) {
    added += (i == 0 ? "" : ",") + (R"({"id":)" + std::to_string(i + 2)) + R"(,"content":"<t)" + std::to_string(i) +
             R"(>","special":true})";
  }
  const auto tokenizer = must(Tokenizer::from_hf(bpe_json(added), {}));
  EXPECT_EQ(tokenizer.n_vocab(), kTokens + 2);
  EXPECT_EQ(tokenizer.encode("a<t999999>b<t5>"),
            (std::vector<TokenId>{TokenId{0}, TokenId{1'000'001}, TokenId{1}, TokenId{7}}));
}

TEST(Tokenizer, ErrorsNameTheFileAndCutWhatTheyRepeat) {
  const auto error_of = [](const std::string& json) { return Tokenizer::from_hf(json, {}).error().message; };
  const std::string merge_error = error_of(bpe_json("", "\"" + std::string(5000, 'x') + " b\""));
  EXPECT_TRUE(merge_error.starts_with("tokenizer.json: merge 0 ('xxx")) << merge_error;
  EXPECT_NE(merge_error.find("x... (5000 bytes)"), std::string::npos) << merge_error;
  EXPECT_LT(merge_error.size(), 400u);
  const std::string id_error = error_of(bpe_json(R"({"id":0,"content":"\u001b[2J"})"));
  EXPECT_EQ(id_error, "tokenizer.json: vocab: id 0 is both 'a' and '\\x1b[2J'");
}

// The special token is searched after a normalizer that puts U+2581 before every segment.
TEST(Tokenizer, SpecialTokensInNormalizedText) {
  auto tokenizer = must(Tokenizer::from_hf(
      R"({"added_tokens":[{"id":9,"content":"<E>","special":true,"normalized":true}],"normalizer":{"type":"Lowercase"},
      "model":{"type":"BPE","vocab":{"<":0,"e":1,">":2,"x":3},"merges":[]}})",
      ""));
  const auto n = [&](std::vector<PromptPiece> pieces) { return count(tokenizer.encode(pieces), TokenId{9}); };
  EXPECT_EQ(count(tokenizer.encode("x<E>x<e>"), TokenId{9}), 2);
  EXPECT_EQ(n({{"<E>", true}}), 0);
  EXPECT_EQ(n({{"<E>", false}, {"<e>x", true}, {"x<e>", false}}), 2);
  EXPECT_EQ(n({{"<", false}, {"e>", true}}), 0);
}

TEST(Tokenizer, AnyBytesComeBack) {
  std::mt19937 random(11);
  const Tokenizer tokenizer = load("llama");
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes, {.add_special = false})), bytes);
  }
  const Tokenizer composing = load("tiny");
  EXPECT_EQ(composing.decode(composing.encode("e\u0301\xFFx\xCC")), "\u00E9\xFFx\xCC");
  const Tokenizer spm = load("mixtral");
  EXPECT_EQ(spm.decode(spm.encode("a\xFF\xE2\x82 b", {.add_special = false})), "a\xFF\xE2\x82 b");
  EXPECT_TRUE(spm.strips_leading_space());
}

TEST(Tokenizer, LongWordsTakeNoQuadraticTime) {
  const Tokenizer tokenizer = load("mixtral");
  for (const std::string& unit : {std::string("a"), std::string(" "), std::string("the "), std::string("\xFF")}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {.add_special = false})), text);
  }
}

TEST(Tokenizer, AnswersQuestions) {
  const Tokenizer tokenizer =
      load("llama", R"({"bos_token":"<|begin_of_text|>","eos_token":{"content":"<|end_of_text|>"}})");
  EXPECT_EQ(tokenizer.n_vocab(), 320);
  ASSERT_TRUE(tokenizer.bos() && tokenizer.eos());
  EXPECT_EQ(tokenizer.encode("").size(), 1u);
  EXPECT_EQ(tokenizer.encode("")[0], *tokenizer.bos());
  EXPECT_TRUE(tokenizer.encode("", {.add_special = false}).empty());
  EXPECT_EQ(tokenizer.type(*tokenizer.bos()), TokenType::kControl);
  EXPECT_EQ(tokenizer.token_bytes(*tokenizer.bos()), "");
  EXPECT_EQ(tokenizer.token_bytes(*tokenizer.bos(), {.skip_special = false}), "<|begin_of_text|>");
  EXPECT_EQ(tokenizer.piece(TokenId{-1}), "");
  EXPECT_EQ(tokenizer.token_bytes(TokenId{100000}), "");
  EXPECT_EQ(tokenizer.type(TokenId{100000}), TokenType::kUnused);
  EXPECT_NE(std::find(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end(), *tokenizer.eos()),
            tokenizer.end_tokens().end());
}

TEST(Tokenizer, ManyThreadsMayEncode) {
  const Tokenizer tokenizer = load("tiny");
  const std::string text = "The quick brown fox jumps over the lazy dog, doesn't it?";
  const std::vector<TokenId> expected = load("tiny").encode(text);
  std::vector<std::thread> threads;
  std::atomic<int> n_wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) n_wrong += tokenizer.encode(text) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_wrong, 0);
}

std::string hf_error(const std::string& json) {
  auto tokenizer = Tokenizer::from_hf(json, "");
  return tokenizer.ok() ? "ok" : to_string(tokenizer.error().code) + std::string(": ") + tokenizer.error().message;
}

TEST(Tokenizer, RefusesBrokenTokenizerJson) {
  EXPECT_EQ(hf_error("{").substr(0, 11), "FormatError");
  EXPECT_EQ(hf_error("[]").substr(0, 11), "FormatError");
  EXPECT_EQ(hf_error("{}").substr(0, 11), "FormatError");
  EXPECT_EQ(hf_error(R"({"model":{"type":"Zap"}})"), "Unsupported: tokenizer.json: model: type 'Zap' is not built");
  EXPECT_EQ(hf_error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})"),
            "FormatError: tokenizer.json: merge 0 ('a' 'b'): 'b' is not in the vocabulary");
  EXPECT_EQ(hf_error(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]}})"),
            "FormatError: tokenizer.json: model.merges: entry 0: expected two pieces");
  EXPECT_NE(hf_error(R"({"model":{"type":"BPE","vocab":{"a":2000000000},"merges":[]}})").find("expected below"),
            std::string::npos);
  EXPECT_NE(hf_error(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}})").find("is both"),
            std::string::npos);
}

TEST(Tokenizer, ReadsJsonAsPythonWritesIt) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string json = mark + R"({"model":{"type":"BPE","vocab":{"a":0.0,"b":1},"merges":[],"dropout":NaN}})";
  const std::string config = mark + R"({"model_max_length":1000000000000000019884624838656,"bos_token":"b"})";
  const auto tokenizer = must(Tokenizer::from_hf(json, config));
  EXPECT_EQ(tokenizer.bos(), TokenId{1});
}

TEST(Tokenizer, ReadsAddedTokensThatContradictTheVocabulary) {
  const auto tokenizer = must(Tokenizer::from_hf(
      bpe_json(
          R"({"id":7,"content":"b","special":true},{"id":3,"content":""},{"id":2,"content":"<x>","special":true})"),
      R"({"unk_token":"<none>"})"));
  EXPECT_EQ(tokenizer.encode("ab<x>"), (std::vector<TokenId>{TokenId{0}, TokenId{1}, TokenId{2}}));
  EXPECT_EQ(tokenizer.n_vocab(), 3);
}

TEST(Tokenizer, FlagsOfAClassCountBesideAPostProcessor) {
  const auto ids = [](const std::string& config) {
    const std::string json =
        R"({"model":{"type":"BPE","vocab":{"a":0,"<s>":1,"</s>":2},"merges":[]},"post_processor":{"type":"BertProcessing",)"
        R"("cls":["<s>",1],"sep":["</s>",2]},"added_tokens":[{"id":1,"content":"<s>","special":true}]})";
    const auto tokenizer = Tokenizer::from_hf(json, R"({"bos_token":"<s>","eos_token":"</s>",)" + config + "}");
    std::string shown;
    for (const TokenId id : tokenizer->encode("a")) shown += std::to_string(to_index(id));
    return shown;
  };
  for (const char* name : {"LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizerFast", "CohereTokenizer"}) {
    const std::string kind = std::string(R"("tokenizer_class":")") + name + '"';
    EXPECT_EQ(ids(kind), "102") << name;
    EXPECT_EQ(ids(kind + R"(,"add_bos_token":false)"), "0") << name;
    EXPECT_EQ(ids(kind + R"(,"add_eos_token":true)"), "102") << name;
    EXPECT_EQ(ids(kind + R"(,"add_bos_token":true,"add_eos_token":false)"), "10") << name;
  }
  EXPECT_EQ(ids(R"("tokenizer_class":"GPTNeoXTokenizerFast","add_eos_token":true)"), "02");
  EXPECT_EQ(ids(R"("tokenizer_class":"PreTrainedTokenizerFast","add_bos_token":false)"), "102");
  EXPECT_EQ(ids(R"("tokenizer_class":"Qwen2Tokenizer","add_bos_token":false,"add_eos_token":true)"), "102");
}

TEST(Tokenizer, ACharacterHasItsBytesWhereAllOfThemAreTokens) {
  GgufVocab vocab;
  vocab.model = "llama";
  std::vector<std::string> pieces = {"<unk>", "\u2581", "\t"};
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != '\t')
      pieces.push_back("<0x" + std::string(1, "0123456789ABCDEF"[byte >> 4]) + "0123456789ABCDEF"[byte & 15] + ">");
  }
  vocab.tokens.assign(pieces.begin(), pieces.end());
  vocab.token_types.assign(pieces.size(), 6);
  vocab.token_types[0] = 2;
  vocab.token_types[1] = vocab.token_types[2] = 1;
  vocab.scores.assign(pieces.size(), 0);
  vocab.add_space_prefix = false;
  for (const char* model : {"llama", "t5"}) {
    vocab.model = model;
    vocab.add_eos = false;
    const auto tokenizer = must(Tokenizer::from_gguf(vocab));
    const std::string text = "\u5b57\tx \u00e9";
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << model;
    EXPECT_EQ(tokenizer.encode("\t"), std::vector<TokenId>{TokenId{2}}) << model;
  }
}

GgufVocab small_vocab() {
  GgufVocab vocab;
  vocab.model = "gpt2";
  vocab.pre = "gpt-2";
  vocab.tokens = {"a", "b", "ab", "\u0120", "<|im_end|>", "\u0120ab", "word"};
  vocab.token_types = {1, 1, 1, 1, 3, 1, 4};
  vocab.merges = {"a b", "\u0120 ab"};
  vocab.eos_id = 0;
  return vocab;
}

TEST(Tokenizer, ReadsAGgufVocabulary) {
  auto tokenizer = must(Tokenizer::from_gguf(small_vocab()));
  EXPECT_EQ(tokenizer.encode("ab ab<|im_end|>word"),
            (std::vector<TokenId>{TokenId{2}, TokenId{5}, TokenId{4}, TokenId{6}}));
  EXPECT_EQ(tokenizer.end_tokens().size(), 2u);
  GgufVocab with_bos = small_vocab();
  with_bos.bos_id = 1;
  with_bos.add_bos = true;
  with_bos.add_eos = true;
  auto both = must(Tokenizer::from_gguf(with_bos));
  EXPECT_EQ(both.encode("ab"), (std::vector<TokenId>{TokenId{1}, TokenId{2}, TokenId{0}}));
}

TEST(Tokenizer, RefusesBrokenGgufVocabularies) {
  const auto error = [](GgufVocab vocab) {
    auto tokenizer = Tokenizer::from_gguf(vocab);
    return tokenizer.ok() ? std::string("ok") : tokenizer.error().message;
  };
  GgufVocab vocab = small_vocab();
  vocab.pre = "no-such";
  EXPECT_EQ(error(vocab), "tokenizer.ggml.pre: pre-tokenizer 'no-such' is not built");
  vocab = small_vocab();
  vocab.model = "no-such";
  EXPECT_NE(error(vocab).find("'no-such'"), std::string::npos);
  vocab = small_vocab();
  vocab.eos_id = 7;
  EXPECT_EQ(error(vocab), "tokenizer.ggml.eos_token_id: expected an id below 7, got 7");
  vocab = small_vocab();
  vocab.token_types.pop_back();
  EXPECT_NE(error(vocab).find("expected 7 entries"), std::string::npos);
  vocab = small_vocab();
  vocab.tokens[1] = "a";
  EXPECT_NE(error(vocab).find("is repeated"), std::string::npos);
  vocab = small_vocab();
  vocab.merges.push_back("ab");
  EXPECT_NE(error(vocab).find("two pieces"), std::string::npos);
  vocab = small_vocab();
  vocab.tokens.clear();
  EXPECT_NE(error(vocab).find("empty"), std::string::npos);
}

}  // namespace
}  // namespace realizar::text
