// A vocabulary keeps its ids when converted from a folder to a GGUF file and from a GGUF file to a folder: both are
// compared with the ids of the vocabulary's own program.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/text_assets.h"
#include "base/result_checks.h"
#include "formats/model_file.h"
#include "support/sentencepiece_files.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode.h"
#include "tools/folder_files.h"
#include "tools/folder_vocab.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using text::Tokenizer;

const fs::path kTokenizers = fs::path(RZ_SOURCE_DIR) / "tests/data/tokenizers";
const fs::path kSentencePiece = fs::path(RZ_SOURCE_DIR) / "tests/data/sentencepiece";
const fs::path kShared = fs::path(RZ_SHARED_DIR) / "tokenizers";

constexpr text::EncodeOptions kTextAlone{.add_special = false};
constexpr text::EncodeOptions kPlain{.add_special = false, .parse_special = false};

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<int32_t> numbers_of(const std::vector<TokenId>& ids) {
  std::vector<int32_t> numbers;
  for (const TokenId id : ids) numbers.push_back(static_cast<int32_t>(to_index(id)));
  return numbers;
}

Result<Tokenizer> own_tokenizer(const SideFiles& side) {
  const std::string settings = side.tokenizer_config_json.value_or("");
  if (side.tokenizer_json) return Tokenizer::from_hf(*side.tokenizer_json, settings);
  if (side.tokenizer_model) return Tokenizer::from_sentencepiece(*side.tokenizer_model, settings);
  return Tokenizer::from_rwkv(side.rwkv_vocab.value_or(""), settings);
}

Result<FolderVocab> vocab_of(const SideFiles& side) {
  const auto own = own_tokenizer(side);
  if (!own.ok()) return own.error();
  return read_folder_vocab(side, {}, "llama", static_cast<uint32_t>(own->n_vocab()), "");
}

struct FolderCase {
  const char* name;
  const char* pre;  // llama.cpp's name for it
};

// Neither llama.cpp nor this program composes letters for a GGUF file's vocabulary.
bool is_composed(const std::string& text) {
  return text::normalize(text, text::NormalForm::kNfc) == text;
}

class FolderTokenizers : public testing::TestWithParam<FolderCase> {};

// expected.json has the ids of Hugging Face's tokenizers.
TEST_P(FolderTokenizers, GiveTheSameIdsInAGgufFile) {
  const std::string name = GetParam().name;
  const fs::path path = (name == "llama-3" ? kShared : kTokenizers) / (name + ".tokenizer.json");
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  SideFiles side;
  side.tokenizer_json = read_text(path);
  const auto vocab = must(vocab_of(side));
  EXPECT_EQ(vocab.pre, GetParam().pre);
  const auto made = must(Tokenizer::from_gguf(as_gguf_vocab(vocab)));
  const json data = json::parse(read_text(kTokenizers / "expected.json"));
  ASSERT_GT(data["texts"].size(), 300u);
  const json root = json::parse(*side.tokenizer_json);
  const bool composes = root["normalizer"].is_object() && root["normalizer"]["type"] == "NFC";
  EXPECT_EQ(vocab.notes.size(), composes ? 1u : 0u);
  for (size_t i = 0; i < data["texts"].size(); ++i) {
    const std::string text = data["texts"][i];
    if (composes && !is_composed(text)) continue;
    EXPECT_EQ(numbers_of(made.encode(text, kTextAlone)), data["cases"][name][i].get<std::vector<int32_t>>()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Json, FolderTokenizers,
                         testing::Values(FolderCase{"llama-3", "llama-bpe"}, FolderCase{"tiny", "qwen2"},
                                         FolderCase{"gemma2", "default"}, FolderCase{"llama", "llama-bpe"},
                                         FolderCase{"mixtral", "default"}, FolderCase{"phi3", "default"},
                                         FolderCase{"qwen2", "qwen2"}));

// Its hash in llama.cpp's converter is that of the tokenizer's ids for a text.
TEST(KnownTokenizers, AreKnownByTheirIds) {
  const fs::path path = kShared / "llama-3.tokenizer.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto llama3 = must(Tokenizer::from_hf(read_text(path), ""));
  EXPECT_EQ(known_pre_tokenizer(llama3), "llama-bpe");
  const auto small = must(Tokenizer::from_hf(read_text(kTokenizers / "llama.tokenizer.json"), ""));
  EXPECT_EQ(known_pre_tokenizer(small), "") << "nobody's, though it cuts texts as Llama 3's does";
}

// expected.json has the ids of SentencePiece.
TEST(SentencePieceFolders, GiveTheSameIdsInAGgufFile) {
  std::vector<std::string> refused;
  const json data = json::parse(read_text(kSentencePiece / "expected.json"));
  for (const auto& [name, model] : data["models"].items()) {
    SCOPED_TRACE(name);
    SideFiles side;
    side.tokenizer_model = test::sentencepiece_file(name);
    const auto vocab = vocab_of(side);
    if (!vocab.ok()) {
      refused.push_back(name);
      EXPECT_EQ(vocab.error().code, ErrorCode::kUnsupported) << vocab.error().message;
      continue;
    }
    const auto made = must(Tokenizer::from_gguf(as_gguf_vocab(*vocab)));
    for (size_t i = 0; i < data["texts"].size(); ++i) {
      const std::string text = data["texts"][i];
      EXPECT_EQ(numbers_of(made.encode(text, kPlain)), model["ids"][i].get<std::vector<int32_t>>()) << text;
    }
  }
  // Merges without byte tokens, for a text whose spaces are collapsed: not supported by GGUF's "llama" vocabulary.
  EXPECT_EQ(refused, std::vector<std::string>({"bpe", "bpe_user"}));
}

TEST(RwkvFolders, GiveTheSameIdsInAGgufFile) {
  SideFiles side;
  side.rwkv_vocab = read_text(kTokenizers / "rwkv.vocab.txt");
  const auto vocab = must(vocab_of(side));
  const auto made = must(Tokenizer::from_gguf(as_gguf_vocab(vocab)));
  const json data = json::parse(read_text(kTokenizers / "rwkv.expected.json"));
  for (size_t i = 0; i < data["texts"].size(); ++i) {
    EXPECT_EQ(numbers_of(made.encode(data["texts"][i].get<std::string>())), data["ids"][i].get<std::vector<int32_t>>());
  }
}

// "Ok" tests a BERT vocabulary that keeps the case of letters.
TEST(WordPieceFolders, KeepTheCaseOfLettersWhereTheFolderDoes) {
  for (const bool lowercase : {false, true}) {
    SideFiles side;
    json root = {{"normalizer", {{"type", "BertNormalizer"}, {"lowercase", lowercase}, {"strip_accents", nullptr}}},
                 {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                 {"added_tokens", json::array()},
                 {"model",
                  {{"type", "WordPiece"},
                   {"unk_token", "[UNK]"},
                   {"continuing_subword_prefix", "##"},
                   {"vocab", {{"[UNK]", 0}, {"Ok", 1}, {"ok", 2}, {"\u00C9t", 3}, {"et", 4}}}}}};
    side.tokenizer_json = root.dump();
    const auto vocab = must(vocab_of(side));
    EXPECT_EQ(vocab.lowercase, lowercase);
    const auto made = must(Tokenizer::from_gguf(as_gguf_vocab(vocab)));
    const std::vector<int32_t> expected = lowercase ? std::vector{2, 2, 4} : std::vector{1, 2, 3};
    EXPECT_EQ(numbers_of(made.encode("Ok ok \u00C9t", kTextAlone)), expected);
  }
}

// A text for Qwen3-Embedding ends with a token different from the one that ends a turn of a chat.
TEST(FolderVocabularies, HaveTheTokenThatEndsATextAsEosAndTheOneThatEndsATurnAsEot) {
  SideFiles side;
  side.tokenizer_json = read_text(kTokenizers / "qwen2.tokenizer.json");
  json root = json::parse(*side.tokenizer_json);
  std::string end_of_text, end_of_turn;
  for (const json& added : root["added_tokens"]) {
    if (end_of_text.empty()) {
      end_of_text = added["content"];
    } else if (end_of_turn.empty()) {
      end_of_turn = added["content"];
    }
  }
  ASSERT_FALSE(end_of_turn.empty());
  const auto plain = must(own_tokenizer(side));
  const auto id_of = [&](const std::string& piece) { return static_cast<uint32_t>(to_index(*plain.find(piece))); };
  const json sequence = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
             last = {{"SpecialToken", {{"id", end_of_text}, {"type_id", 0}}}};
  root["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {sequence, last}},
      {"pair", {sequence, last}},
      {"special_tokens",
       {{end_of_text, {{"id", end_of_text}, {"ids", {id_of(end_of_text)}}, {"tokens", {end_of_text}}}}}}};
  side.tokenizer_json = root.dump();
  side.tokenizer_config_json = json{{"eos_token", end_of_turn}}.dump();
  const auto vocab = must(vocab_of(side));
  EXPECT_EQ(vocab.eos, id_of(end_of_text));
  EXPECT_EQ(vocab.eot, id_of(end_of_turn));
  EXPECT_EQ(vocab.add_eos, true);
  const auto made = must(Tokenizer::from_gguf(as_gguf_vocab(vocab)));
  EXPECT_EQ(numbers_of(made.encode("a")), numbers_of(own_tokenizer(side)->encode("a")));
}

class GgufVocabularies : public testing::TestWithParam<const char*> {};

// The .out files have the ids of llama.cpp's and Hugging Face's own test data.
TEST_P(GgufVocabularies, GiveTheSameIdsInAFolderAndBack) {
  const fs::path path = kShared / (std::string(GetParam()) + ".gguf");
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto file = must(ModelFile::open(path));
  HfPlan plan;
  must(add_folder_files(file, {}, plan));
  SideFiles side;
  for (const auto& [name, text] : plan.side_files) {
    if (name == "tokenizer.json") side.tokenizer_json = text;
    if (name == "tokenizer.model") side.tokenizer_model = text;
    if (name == "tokenizer_config.json") side.tokenizer_config_json = text;
  }
  const auto there = must(own_tokenizer(side));
  const auto vocab = must(vocab_of(side));
  const auto back = must(Tokenizer::from_gguf(as_gguf_vocab(vocab)));
  const std::string texts = read_text(path.string() + ".inp"), divider = "\n__ggml_vocab_test__\n";
  std::ifstream expected(path.string() + ".out");
  size_t n_texts = 0;
  for (size_t begin = 0, end = 0; (end = texts.find(divider, begin)) != std::string::npos;
       begin = end + divider.size()) {
    const std::string text = texts.substr(begin, end - begin);
    std::string line;
    std::getline(expected, line);
    std::istringstream words(line);
    const std::vector<int32_t> ids{std::istream_iterator<int32_t>(words), {}};
    EXPECT_EQ(numbers_of(there.encode(text, kPlain)), ids) << text;
    EXPECT_EQ(numbers_of(back.encode(text, kPlain)), ids) << text;
    ++n_texts;
  }
  EXPECT_GT(n_texts, 20u);
}

INSTANTIATE_TEST_SUITE_P(Files, GgufVocabularies, testing::Values("deepseek-llm", "gpt-2", "starcoder", "llama-spm"));

}  // namespace
}  // namespace realizar
