#include "formats/end_claims.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

// "source=token", with "!" before a denial.
std::vector<std::string> texts_of(const EndClaims& found) {
  std::vector<std::string> texts;
  for (const EndClaim& claim : found.claims) {
    const auto* id = std::get_if<int64_t>(&claim.token);
    texts.push_back((claim.is_denial ? "!" : "") + claim.source + "=" +
                    (id != nullptr ? std::to_string(*id) : std::get<std::string>(claim.token)));
  }
  return texts;
}

TEST(EndClaims, GgufKeysHaveANumberOrAList) {
  Metadata metadata;
  metadata.set("tokenizer.ggml.eos_token_id", uint64_t{7});
  metadata.set("tokenizer.ggml.eot_token_id", int64_t{-1});
  metadata.set("tokenizer.ggml.eom_token_id", MetaArray(std::vector<uint64_t>{3, 4}));
  metadata.set("tokenizer.ggml.eos_token_ids", MetaArray(std::vector<int64_t>{7, 9}));
  metadata.set(kNoEndIdsKey, MetaArray(std::vector<uint64_t>{4}));
  metadata.set("tokenizer.ggml.eot_token_ids", std::string("x"));
  const EndClaims found = gguf_end_claims(metadata);
  EXPECT_EQ(texts_of(found),
            (std::vector<std::string>{"tokenizer.ggml.eos_token_id=7", "tokenizer.ggml.eot_token_id=-1",
                                      "tokenizer.ggml.eom_token_id=3", "tokenizer.ggml.eom_token_id=4",
                                      "tokenizer.ggml.eos_token_ids=7", "tokenizer.ggml.eos_token_ids=9",
                                      "!tokenizer.ggml.no_end_token_ids=4"}));
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_TRUE(found.notes[0].starts_with("tokenizer.ggml.eot_token_ids is left out"));
}

TEST(EndClaims, EveryFileOfAFolderSaysAPart) {
  SideFiles files;
  files.tokenizer_config_json = R"({"eos_token":{"content":"<a>"},"eot_token":"<b>","bos_token":"<c>"})";
  files.generation_config_json = R"({"eos_token_id":[1,2],"no_end_token_ids":[9]})";
  files.config_json = R"({"eos_token_id":3,"text_config":{"eos_token_id":[4]},
                          "thinker_config":{"text_config":{"eos_token_id":5}},
                          "talker_config":{"eos_token_id":6},"vision_config":{"eos_token_id":7}})";
  files.special_tokens_map_json = R"({"eos_token":"<d>"})";
  EXPECT_EQ(texts_of(folder_end_claims(files)),
            (std::vector<std::string>{
                "tokenizer_config.json: eos_token=<a>", "tokenizer_config.json: eot_token=<b>",
                "generation_config.json: eos_token_id=1", "generation_config.json: eos_token_id=2",
                "!generation_config.json: no_end_token_ids=9", "config.json: eos_token_id=3",
                "config.json: text_config.eos_token_id=4", "config.json: thinker_config.text_config.eos_token_id=5",
                "special_tokens_map.json: eos_token=<d>"}));
}

TEST(EndClaims, NullSaysNothingAndATextIsNoId) {
  SideFiles files;
  files.tokenizer_config_json = R"({"eos_token":null})";
  files.config_json = R"({"eos_token_id":null})";
  files.generation_config_json = R"({"eos_token_id":[null,"x",2]})";
  files.special_tokens_map_json = "no JSON";
  const EndClaims found = folder_end_claims(files);
  EXPECT_EQ(texts_of(found), (std::vector<std::string>{"generation_config.json: eos_token_id=2"}));
  EXPECT_EQ(found.notes.size(), 2u);
}

TEST(EndClaims, NumbersOfPythonDoNotHideTheOthers) {
  SideFiles files;
  files.config_json = R"({"eos_token_id":3,"a":-Infinity,"b":"NaN \" NaN"})";
  files.generation_config_json = R"({"eos_token_id":4,"top_p":NaN})";
  EXPECT_EQ(folder_end_claims(files).claims.size(), 2u);
}

}  // namespace
}  // namespace realizar
