#include "server/call/timings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

TEST(Timings, TellsRatesOfWhatWasComputed) {
  const Json json = timings_json(timings_of(
      {.n_prompt = 12, .n_cached = 2, .n_generated = 5, .prefill_ms = 20, .first_token_ms = 99, .decode_ms = 8}));
  EXPECT_EQ(dump(json), R"({"cache_n":2,"prompt_n":10,"prompt_ms":20.0,"prompt_per_token_ms":2.0,)"
                        R"("prompt_per_second":500.0,"predicted_n":5,"predicted_ms":8.0,)"
                        R"("predicted_per_token_ms":2.0,"predicted_per_second":500.0})");
}

TEST(Timings, HasNoRatesOfNothing) {
  const Json none = timings_json({});
  const Json first = timings_json(timings_of({.n_prompt = 3, .n_generated = 1, .prefill_ms = 6, .decode_ms = 0.1}));
  for (const Json& json : {none, first}) {
    EXPECT_EQ(json["predicted_per_second"], 0);
    EXPECT_EQ(json["predicted_per_token_ms"], 0);
    EXPECT_EQ(json["predicted_ms"], 0);
  }
  EXPECT_EQ(none["prompt_per_second"], 0);
}

TEST(Timings, HasDraftsIfThereWereSome) {
  EXPECT_FALSE(timings_json({}).contains("draft_n"));
  const Json json = timings_json({.n_drafted = 7, .n_accepted = 4});
  EXPECT_EQ(json["draft_n"], 7);
  EXPECT_EQ(json["draft_n_accepted"], 4);
}

}  // namespace
}  // namespace realizar::server
