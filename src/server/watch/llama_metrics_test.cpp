#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(LlamaMetrics, AreSumsOverTheModels) {
  engine::EngineCounters one, two;
  one.n_prompt_tokens = 100;
  one.n_prefix_hits = 40;
  one.n_generated_tokens = 30;
  one.prefill_steps.n = 2;
  one.prefill_steps.sum_s = 0.5;
  one.decode_steps.n = 30;
  one.decode_steps.sum_s = 1.5;
  one.n_running = 3;
  one.n_step_seqs = 48;
  one.n_tokens_max = 70;
  one.n_drafts = 4;
  two.n_generated_tokens = 6;
  two.n_waiting = 4;
  two.n_tokens_max = 90;
  two.n_prefix_hits = 5;  // of a prompt without an output token yet
  const ModelState models[] = {{"a", {}, &one}, {"b", {}, &two}};
  const std::string text = prometheus::TextSerializer().Serialize(llama_metrics(models));
  for (const char* line :
       {"llamacpp:prompt_tokens_total 60", "llamacpp:prompt_tokens_cached_total 45",
        "llamacpp:prompt_seconds_total 0.5", "llamacpp:prompt_tokens_seconds 120", "llamacpp:tokens_predicted_total 36",
        "llamacpp:tokens_predicted_seconds_total 1.5", "llamacpp:predicted_tokens_seconds 24",
        "llamacpp:requests_processing 3", "llamacpp:requests_deferred 4", "llamacpp:n_decode_total 32",
        "# TYPE llamacpp:n_decode_total counter", "llamacpp:n_busy_slots_per_decode 1.5", "llamacpp:n_tokens_max 90",
        "llamacpp:spec_decode_num_drafts_total 4"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(LlamaMetrics, HaveNoRatesOfNothing) {
  const std::string text = prometheus::TextSerializer().Serialize(llama_metrics({}));
  EXPECT_TRUE(has_line(text, "llamacpp:predicted_tokens_seconds 0")) << text;
}

}  // namespace
}  // namespace realizar::server
