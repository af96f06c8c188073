#include "hub/search.h"

#include <gtest/gtest.h>

#include <string>

#include "hub/hf_hub.h"

namespace realizar::hub {
namespace {

using Words = std::vector<std::string>;

Words names(const std::vector<SearchHit>& hits) {
  Words names;
  for (const SearchHit& hit : hits) names.push_back(to_string(hit.name));
  return names;
}

TEST(SearchTable, WantsEveryWordInAnyCase) {
  EXPECT_EQ(names(search_table(Words{"Deepseek", "distill", "7B"})), Words{"deepseek-r1:7b"});
  EXPECT_EQ(names(search_table(Words{"bartowski", "phi"})), Words{"phi4:14b"});
  EXPECT_EQ(search_table(Words{"qwen3", "mistral"}).size(), 0u);
  EXPECT_EQ(search_table(Words{"no-such-model"}).size(), 0u);
}

TEST(SearchTable, HasEachModelOnceAndItsParametersWhereTheTagSaysThem) {
  const auto hits = search_table(Words{"qwen3:"});
  EXPECT_EQ(names(hits),
            (Words{"qwen3:0.6b", "qwen3:1.7b", "qwen3:4b", "qwen3:8b", "qwen3:14b", "qwen3:30b-a3b", "qwen3:32b"}));
  EXPECT_EQ(hits[1].n_parameters, 1'700'000'000u);
  EXPECT_EQ(hits[5].n_parameters, 30'000'000'000u);
  const auto untagged = search_table(Words{"nomic"});
  EXPECT_EQ(names(untagged), Words{"nomic-embed-text"});
  EXPECT_EQ(untagged[0].n_parameters, std::nullopt);
}

TEST(SearchMerge, GivesRowsWhatTheHubKnowsAndNoRepositoryTwice) {
  const auto hub = [](const char* name, uint64_t n_parameters, uint64_t n_downloads) {
    return SearchHit{*parse_name(name), std::nullopt, n_parameters, n_downloads};
  };
  const auto hits = merged(search_table(Words{"qwen3:1.7b"}),
                           {hub("hf:other/Qwen3-1.7B-GGUF", 2, 20), hub("hf:Qwen/Qwen3-1.7B-GGUF", 1, 10)});
  EXPECT_EQ(names(hits), (Words{"qwen3:1.7b", "hf:other/Qwen3-1.7B-GGUF"}));
  EXPECT_EQ(hits[0].n_downloads, 10u);
  EXPECT_EQ(hits[0].n_parameters, 1u);
  EXPECT_EQ(hits[1].n_downloads, 20u);
}

TEST(HfSearch, KeepsWhatCanBePulledAndNumbersThatAreThere) {
  const auto repos = parse_hf_search(R"([{"id":"a/b-GGUF","downloads":7,"gguf":{"total":1000,"architecture":"qwen3"}},
                                         {"id":"gpt2","downloads":9},
                                         {"id":"a/../b","downloads":9},
                                         {"id":"a/b:Q8_0","downloads":9},
                                         {"id":"c/d","downloads":-1,"gguf":{"total":1.5}}])",
                                     "x");
  ASSERT_TRUE(repos.ok()) << repos.error().message;
  ASSERT_EQ(repos->size(), 2u);
  EXPECT_EQ(to_string((*repos)[0].name), "hf:a/b-GGUF");
  EXPECT_EQ((*repos)[0].n_downloads, 7u);
  EXPECT_EQ((*repos)[0].n_parameters, 1000u);
  EXPECT_EQ(to_string((*repos)[1].name), "hf:c/d");
  EXPECT_EQ((*repos)[1].n_downloads, std::nullopt);
  EXPECT_EQ((*repos)[1].n_parameters, std::nullopt);
}

TEST(HfSearch, RefusesWhatIsNone) {
  for (const std::string text : {"", "{}", "[1]", "[{}]", R"([{"id":7}])"}) {
    EXPECT_FALSE(parse_hf_search(text, "x").ok()) << text;
  }
}

}  // namespace
}  // namespace realizar::hub
