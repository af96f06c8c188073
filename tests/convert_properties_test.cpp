// A folder with arbitrary side files and the GGUF file converted from it are one model: the same ids, ends, templates,
// recommendations and logits; otherwise a note reports what GGUF cannot store.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/loaded_model.h"
#include "base/temp_folder.h"
#include "engine/engine.h"
#include "model/arch/list.h"
#include "support/hf_folder.h"
#include "support/tiny_model.h"
#include "tools/convert.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A vocabulary like GPT-2's: the letters of all bytes, two merges, and special tokens with any flags.
struct Vocabulary {
  std::vector<std::string> pieces;
  json added = json::array();
};

std::string utf8(uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

std::vector<std::string> byte_letters() {
  std::vector<std::string> letters;
  uint32_t n_moved = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_plain = (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
    letters.push_back(utf8(is_plain ? byte : 256 + n_moved++));
  }
  return letters;
}

template <typename T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}
bool maybe() {
  return *rc::gen::arbitrary<bool>();
}

Vocabulary make_vocabulary() {
  Vocabulary vocabulary{byte_letters()};
  vocabulary.pieces.insert(vocabulary.pieces.end(), {"th", "the"});
  const std::vector<std::string> names = {"<|bos|>",    "<|eos|>",       "<|im_end|>", "<|end|>", "<end_of_turn>",
                                          "<|eot_id|>", "<|endoftext|>", "[PAD]",      "<x>",     "<tool_call>"};
  for (const std::string& name : names) {
    if (name != "<|bos|>" && name != "<|eos|>" && maybe()) continue;
    vocabulary.added.push_back({{"id", vocabulary.pieces.size()},
                                {"content", name},
                                {"single_word", false},
                                {"lstrip", one_of<int>({0, 0, 0, 1}) == 1},
                                {"rstrip", one_of<int>({0, 0, 0, 1}) == 1},
                                {"normalized", false},
                                {"special", maybe()}});
    vocabulary.pieces.push_back(name);
  }
  return vocabulary;
}

json tokenizer_json(const Vocabulary& vocabulary) {
  json vocab = json::object();
  for (size_t i = 0; i < vocabulary.pieces.size(); ++i) vocab[vocabulary.pieces[i]] = i;
  const json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  json root = {{"version", "1.0"},
               {"added_tokens", vocabulary.added},
               {"normalizer", nullptr},
               {"pre_tokenizer", byte_level},
               {"decoder", byte_level},
               {"post_processor", nullptr},
               {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"t h", "th e"}}}}};
  if (maybe()) {
    const uint32_t bos = vocab["<|bos|>"];
    const json sequence = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
               first = {{"SpecialToken", {{"id", "<|bos|>"}, {"type_id", 0}}}};
    root["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {first, sequence}},
        {"pair", {first, sequence, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
        {"special_tokens", {{"<|bos|>", {{"id", "<|bos|>"}, {"ids", {bos}}, {"tokens", {"<|bos|>"}}}}}}};
  }
  return root;
}

// Ids of some special tokens: a number, a list or nothing.
json some_ends(const Vocabulary& vocabulary) {
  const auto id = [&] { return *rc::gen::inRange<size_t>(258, vocabulary.pieces.size()); };
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return id();
    case 1:
      return {id(), id()};
    default:
      return nullptr;
  }
}

void write_side_files(const fs::path& folder, const Vocabulary& vocabulary) {
  const auto put = [&](const char* name, const json& content) { std::ofstream(folder / name) << content.dump(); };
  put("tokenizer.json", tokenizer_json(vocabulary));
  json config = {{"tokenizer_class", one_of<std::string>({"PreTrainedTokenizerFast", "LlamaTokenizerFast"})},
                 {"eos_token", "<|eos|>"}};
  if (maybe()) config["bos_token"] = "<|bos|>";
  if (maybe()) config["add_bos_token"] = maybe();
  if (maybe()) config["add_eos_token"] = maybe();
  if (maybe()) config["model_max_length"] = 1e30;
  const json list = {{{"name", "default"}, {"template", "D{{ messages[0].content }}"}},
                     {{"name", "tool_use"}, {"template", "T{{ tools[0].name }}"}}};
  if (maybe()) config["chat_template"] = maybe() ? list : json("D{{ messages[0].content }}");
  put("tokenizer_config.json", config);
  if (maybe()) {
    json generation = {{"eos_token_id", some_ends(vocabulary)}};
    if (maybe()) generation["temperature"] = one_of<double>({0.25, 0.5, -1.0});
    if (maybe()) generation["top_k"] = one_of<int>({-1, 0, 20});
    put("generation_config.json", generation);
  }
}

std::unique_ptr<LoadedModel> load(const fs::path& path) {
  LoadOptions options;
  options.backend = BackendChoice::kReference;
  options.n_ctx = 32;
  auto loaded = LoadedModel::load(path.string(), options);
  if (!loaded.ok()) RC_FAIL(loaded.error().subject + ": " + loaded.error().message);
  return std::move(*loaded);
}

std::vector<TokenId> sorted_ends(const LoadedModel& model) {
  std::vector<TokenId> sorted = model.generation_config.end_tokens;
  std::ranges::sort(sorted);
  return sorted;
}

bool is_near(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-4f)) return false;
  }
  return true;
}

void expect_one_model(LoadedModel& a, LoadedModel& b, const Vocabulary& vocabulary, bool takes_spaces) {
  const std::vector<TokenId> prompt = {TokenId{5}, TokenId{70}, TokenId{200}};
  const auto logits = a.engine->logits(prompt, 3, 1), others = b.engine->logits(prompt, 3, 1);
  RC_ASSERT(logits.ok() && others.ok() && is_near(*logits, *others));
  RC_ASSERT(sorted_ends(a) == sorted_ends(b));
  RC_ASSERT(a.generation_config.sampling.temperature == b.generation_config.sampling.temperature);
  RC_ASSERT(a.generation_config.sampling.top_k == b.generation_config.sampling.top_k);
  RC_ASSERT(a.template_source.source == b.template_source.source);
  RC_ASSERT(a.template_source.tool_source == b.template_source.tool_source);
  for (uint32_t i = 0; i < 4; ++i) {
    std::string text;
    for (uint32_t part = *rc::gen::inRange(0u, 6u); part > 0; --part) {
      text += one_of<std::string>({"the", " th", "\n", "!", "\xc3\xa9", "\xf0\x9f\x99\x82", "  ", "\xff"});
      if (maybe()) text += vocabulary.pieces[*rc::gen::inRange<size_t>(258, vocabulary.pieces.size())];
    }
    const auto ids = a.tokenizer->encode(text);
    RC_ASSERT(takes_spaces || ids == b.tokenizer->encode(text));
    RC_ASSERT(takes_spaces || a.tokenizer->encode(text, {.parse_special = false}) ==
                                  b.tokenizer->encode(text, {.parse_special = false}));
    RC_ASSERT(a.tokenizer->decode(ids) == b.tokenizer->decode(ids));
  }
}

TEST(ConvertProperties, AFolderAndItsFileAreOneModel) {
  EXPECT_TRUE(rc::check([] {
    const Vocabulary vocabulary = make_vocabulary();
    test::TinyDims dims;
    dims.n_layers = 1;
    dims.n_vocab = static_cast<uint32_t>(vocabulary.pieces.size());
    const ModelFile weights = *test::tiny_model(kLlama, false, dims).open();
    json config = {{"architectures", {"LlamaForCausalLM"}},
                   {"model_type", "llama"},
                   {"hidden_size", dims.d_model},
                   {"intermediate_size", dims.d_ff},
                   {"num_hidden_layers", 1},
                   {"num_attention_heads", dims.n_heads},
                   {"num_key_value_heads", dims.n_kv_heads},
                   {"head_dim", dims.head_dim},
                   {"vocab_size", dims.n_vocab},
                   {"max_position_embeddings", dims.n_ctx},
                   {"rms_norm_eps", 1e-5},
                   {"hidden_act", "silu"},
                   {"tie_word_embeddings", false}};
    if (maybe()) config["eos_token_id"] = some_ends(vocabulary);
    const test::HfFolder folder;
    folder.write(weights, config.dump());
    write_side_files(folder, vocabulary);

    const TempFolder made_in;
    const fs::path made = made_in / "made.gguf";
    const auto report = convert(folder, made, {}, {});
    if (!report.ok()) RC_FAIL(report.error().subject + ": " + report.error().message);
    const auto own = load(folder), file = load(made);
    // GGUF cannot store which spaces a token strips around it, and a note names each such token.
    bool takes_spaces = false;
    for (const json& token : vocabulary.added) {
      if (!token["lstrip"] && !token["rstrip"]) continue;
      takes_spaces = true;
      const std::string piece = token["content"];
      RC_ASSERT(std::ranges::any_of(report->notes,
                                    [&](const std::string& note) { return note.find(piece) != std::string::npos; }));
    }
    RC_TAG(takes_spaces, sorted_ends(*own).size());
    expect_one_model(*own, *file, vocabulary, takes_spaces);
  }));
}

}  // namespace
}  // namespace realizar
