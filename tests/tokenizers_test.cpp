// Real vocabularies give exactly the ids of their own tokenizers, and decoding gives the original text.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "api/text_assets.h"
#include "formats/model_file.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(RZ_SOURCE_DIR) / "tests/data/tokenizers";
const fs::path kShared = fs::path(RZ_SHARED_DIR) / "tokenizers";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Texts divided by a line "__ggml_vocab_test__"; the newline before that line belongs to it.
std::vector<std::string> read_texts(const fs::path& path) {
  const std::string divider = "\n__ggml_vocab_test__\n";
  const std::string all = read_file(path);
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t at = all.find(divider); at != std::string::npos; at = all.find(divider, begin)) {
    texts.push_back(all.substr(begin, at - begin));
    begin = at + divider.size();
  }
  return texts;
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string show(const std::vector<TokenId>& ids) {
  std::ostringstream out;
  for (TokenId id : ids) out << ' ' << to_index(id);
  return out.str();
}

// The ids of a line of numbers, in the format of show().
std::string show(const std::string& line) {
  std::istringstream in(line);
  std::vector<TokenId> ids;
  for (int32_t id = 0; in >> id;) ids.push_back(TokenId{id});
  return show(ids);
}

void expect_matches(const Tokenizer& tokenizer, const std::string& name) {
  const std::vector<std::string> texts = read_texts(kShared / (name + ".inp"));
  const std::vector<std::string> expected = read_lines(kShared / (name + ".out"));
  ASSERT_GT(texts.size(), 10u);
  ASSERT_LE(texts.size(), expected.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<TokenId> ids = tokenizer.encode(texts[i], {.add_special = false, .parse_special = false});
    EXPECT_EQ(show(ids), show(expected[i])) << "case " << i << ": " << texts[i];
    EXPECT_EQ(tokenizer.decode(ids), texts[i]) << "case " << i;
  }
}

TEST(Tokenizers, Llama3FromTokenizerJson) {
  const fs::path path = kShared / "llama-3.tokenizer.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  auto tokenizer = Tokenizer::from_hf(read_file(path), "");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_matches(*tokenizer, "llama-3");
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (n_bits += 8; n_bits >= 6; n_bits -= 6) text += kDigits[bits >> (n_bits - 6) & 63];
  }
  if (n_bits > 0) text += kDigits[bits << (6 - n_bits) & 63];
  return text + std::string((3 - bytes.size() % 3) % 3, '=');
}

// Llama 3's tokenizer.json was made from tiktoken's ranks, which are its ids. GLM-4's text is divided by the same
// pattern.
TEST(Tokenizers, Llama3FromTiktokensRanks) {
  const fs::path path = kShared / "llama-3.tokenizer.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto document = nlohmann::json::parse(read_file(path));
  std::string ranks;
  for (const auto& [piece, id] : document["model"]["vocab"].items()) {
    const auto bytes = unspell_bytes(piece);
    ASSERT_TRUE(bytes.has_value()) << piece;
    ranks += base64(*bytes) + " " + std::to_string(id.get<int>()) + "\n";
  }
  auto tokenizer = Tokenizer::from_sentencepiece(ranks, R"({"tokenizer_class": "ChatGLM4Tokenizer"})");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_matches(*tokenizer, "llama-3");
}

class GgufVocabularies : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocabularies, GiveTheExpectedIds) {
  const std::string name = std::string(GetParam()) + ".gguf";
  if (!fs::exists(kShared / name)) GTEST_SKIP() << kShared / name << " is not there";
  auto file = ModelFile::open(kShared / name);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto vocab = read_gguf_vocab(file->metadata());
  ASSERT_TRUE(vocab.ok()) << vocab.error().message;
  auto tokenizer = Tokenizer::from_gguf(*vocab);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_matches(*tokenizer, name);
}

INSTANTIATE_TEST_SUITE_P(Bpe, GgufVocabularies, testing::Values("deepseek-llm", "gpt-2", "starcoder"));

// expected.json contains mixed texts and the ids of Hugging Face's tokenizers (the JavaScript package, 2026) for them
// with each vocabulary.
void expect_same_as_huggingface(const std::string& name, const fs::path& tokenizer_json) {
  const auto data = nlohmann::json::parse(read_file(kData / "expected.json"));
  auto tokenizer = Tokenizer::from_hf(read_file(tokenizer_json), "");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto& cases = data["cases"][name];
  ASSERT_EQ(cases.size(), data["texts"].size());
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<TokenId> expected;
    for (const auto& id : cases[i]) expected.push_back(TokenId{id.get<int32_t>()});
    const std::string text = data["texts"][i];
    EXPECT_EQ(show(tokenizer->encode(text, {.add_special = false})), show(expected)) << "case " << i << ": " << text;
  }
}

TEST(Tokenizers, SmallVocabulariesAgreeWithHuggingFace) {
  for (const std::string name : {"tiny", "gemma2", "llama", "mixtral", "phi3", "qwen2"}) {
    SCOPED_TRACE(name);
    expect_same_as_huggingface(name, kData / (name + ".tokenizer.json"));
  }
}

TEST(Tokenizers, Llama3AgreesWithHuggingFace) {
  const fs::path path = kShared / "llama-3.tokenizer.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  expect_same_as_huggingface("llama-3", path);
}

// The vocabulary in GGUF's form.
Result<Tokenizer> as_gguf(const Tokenizer& tokenizer, std::optional<int64_t> unk_id = std::nullopt) {
  GgufVocab vocab;
  vocab.model = "rwkv";
  for (int32_t i = 0; i < tokenizer.n_vocab(); ++i) {
    vocab.tokens.push_back(tokenizer.piece(TokenId{i}));
    vocab.token_types.push_back(static_cast<int32_t>(tokenizer.type(TokenId{i})));
  }
  vocab.bos_id = vocab.eos_id = 0;
  vocab.eot_id = 258;
  vocab.unk_id = unk_id;
  return Tokenizer::from_gguf(vocab);
}

// rwkv.vocab.txt is a part of RWKV's World vocabulary with different ids; rwkv.expected.json contains llama.cpp's ids
// (node-llama-cpp, 2026) for its texts.
TEST(Tokenizers, RwkvAgreesWithLlamaCpp) {
  auto lines = Tokenizer::from_rwkv(read_file(kData / "rwkv.vocab.txt"), "");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  auto gguf = as_gguf(*lines);
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const auto data = nlohmann::json::parse(read_file(kData / "rwkv.expected.json"));
  for (size_t i = 0; i < data["texts"].size(); ++i) {
    const std::string text = data["texts"][i];
    std::vector<TokenId> expected;
    for (const auto& id : data["ids"][i]) expected.push_back(TokenId{id.get<int32_t>()});
    EXPECT_EQ(show(lines->encode(text)), show(expected)) << text;
    EXPECT_EQ(show(gguf->encode(text)), show(expected)) << text;
    EXPECT_EQ(lines->decode(expected), text);
    EXPECT_EQ(gguf->decode(expected), text);
  }
}

TEST(Tokenizers, RwkvTakesAnyBytesAndNoControlTokenOfInput) {
  auto lines = Tokenizer::from_rwkv(read_file(kData / "rwkv.vocab.txt"), "");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  const std::string bytes("\xff\x00\xe6\x97 \xf0\x9f\\x", 9);
  EXPECT_EQ(lines->decode(lines->encode(bytes)), bytes);
  EXPECT_EQ(show(lines->encode("<s>a")), show({TokenId{0}, TokenId{1 + 'a'}}));
  EXPECT_EQ(show(lines->encode("<s>a", {.parse_special = false})),
            show({TokenId{1 + '<'}, TokenId{1 + 's'}, TokenId{1 + '>'}, TokenId{1 + 'a'}}));
  const auto ends = lines->end_tokens();
  EXPECT_EQ(show(std::vector<TokenId>(ends.begin(), ends.end())), " 0 258") << "a turn ends with two breaks";
  auto named = Tokenizer::from_rwkv(read_file(kData / "rwkv.vocab.txt"),
                                    R"({"added_tokens_decoder":{"0":{"content":"<|end|>","special":true}}})");
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(show(named->encode("<|end|>")), " 0");
}

TEST(Tokenizers, BadVocabulariesOfRwkvAreRefused) {
  const auto message = [](std::string_view file) {
    const auto tokenizer = Tokenizer::from_rwkv(file, "");
    return tokenizer.ok() ? "" : tokenizer.error().message;
  };
  EXPECT_NE(message("1 'a' 1\n").find("the byte 0 is not a token"), std::string::npos);
  EXPECT_NE(message("1 'a' 2\n").find("line 1: expected a token of 2 bytes, got 1"), std::string::npos);
  EXPECT_NE(message("1 'a' 1\n1 'b' 1\n").find("line 2: the id 1 is taken"), std::string::npos);
  EXPECT_NE(message("1 a 1\n").find("expected a token in quotes"), std::string::npos);
  EXPECT_NE(message("1 '\\x4' 1\n").find("expected escapes"), std::string::npos);
  EXPECT_NE(message("99999999 'a' 1\n").find("expected a number below"), std::string::npos);
  EXPECT_NE(message("a\n").find("expected an id, a token and its length"), std::string::npos);
  EXPECT_NE(message("1 '" + std::string(5000, 'a') + "' 5000\n").find("expected up to 4096 bytes"), std::string::npos);
}

TEST(Tokenizers, AByteThatIsNoTokenOfRwkvIsTheUnknownOne) {
  GgufVocab vocab;
  vocab.model = "rwkv";
  vocab.tokens = {"<unk>", "a", "ab", "\\n", "\\xe6\\x97\\xa5"};
  EXPECT_FALSE(Tokenizer::from_gguf(vocab).ok());
  vocab.unk_id = 0;
  auto tokenizer = Tokenizer::from_gguf(vocab);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(show(tokenizer->encode("aabx\n\u65e5")), " 1 2 0 3 4");
  vocab.tokens.back() = "\\xz0";
  EXPECT_FALSE(Tokenizer::from_gguf(vocab).ok());
}

}  // namespace
}  // namespace realizar::text
