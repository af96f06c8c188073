#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

using AdapterUses = std::vector<engine::AdapterUse>;

// The series of one loaded model.
std::string gateway_text(const AdapterUses& adapters, uint32_t n_slots) {
  engine::EngineCounters counters;
  counters.n_blocks = 128;
  counters.n_block_tokens = 32;
  ModelState model{"a", BackendNumbers{}, &counters};
  model.adapters = adapters;
  model.n_adapter_slots = n_slots;
  return prometheus::TextSerializer().Serialize(gateway_metrics({&model, 1}, 1700000000.5));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string adapters_line(const std::string& max, const std::string& running, const std::string& waiting) {
  return "vllm:lora_requests_info{model_name=\"a\",max_lora=\"" + max + "\",running_lora_adapters=\"" + running +
         "\",waiting_lora_adapters=\"" + waiting + "\"} 1700000000.5";
}

TEST(GatewayMetrics, TellBlocksAndAdapters) {
  const std::string text = gateway_text({{"one", 2, 0}, {"two", 0, 0}, {"three", 1, 4}, {"four", 0, 1}}, 5);
  EXPECT_TRUE(has_line(text, "# TYPE vllm:cache_config_info gauge")) << text;
  EXPECT_TRUE(has_line(text, R"(vllm:cache_config_info{model_name="a",block_size="32",num_gpu_blocks="128"} 1)"))
      << text;
  EXPECT_TRUE(has_line(text, "# TYPE vllm:lora_requests_info gauge")) << text;
  EXPECT_TRUE(has_line(text, adapters_line("5", "one,three", "three,four"))) << text;
}

TEST(GatewayMetrics, TellOfNoAdaptersWhereNoneHasAPlace) {
  const std::string text = gateway_text({}, 0);
  EXPECT_TRUE(has_line(text, adapters_line("0", "", ""))) << text;
}

TEST(GatewayMetrics, NameNoAdapterThatWouldBeReadAsAnother) {
  const std::string text = gateway_text({{"a,b", 1, 1}, {" c", 1, 1}, {"on", 1, 0}, {"one", 1, 0}, {"one", 1, 0}}, 5);
  EXPECT_TRUE(has_line(text, adapters_line("5", "on,one", ""))) << text;
}

TEST(GatewayMetrics, TellNothingOfAModelThatIsNotLoaded) {
  const engine::EngineCounters counters;
  const ModelState model{"a", std::nullopt, &counters};
  EXPECT_TRUE(gateway_metrics({&model, 1}, 1).empty());
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
