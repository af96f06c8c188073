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

bool has_series(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string adapters_line(const std::string& max, const std::string& running, const std::string& waiting) {
  return "vllm:lora_requests_info{model_name=\"a\",max_lora=\"" + max + "\",running_lora_adapters=\"" + running +
         "\",waiting_lora_adapters=\"" + waiting + "\"} 1700000000.5";
}

TEST(GatewayMetrics, TellBlocksAndAdapters) {
  const std::string text = gateway_text({{"one", 2, 0}, {"two", 0, 0}, {"three", 1, 4}, {"four", 0, 1}}, 5);
  EXPECT_TRUE(has_series(text, "# TYPE vllm:cache_config_info gauge")) << text;
  EXPECT_TRUE(has_series(text, R"(vllm:cache_config_info{model_name="a",block_size="32",num_gpu_blocks="128"} 1)"))
      << text;
  EXPECT_TRUE(has_series(text, "# TYPE vllm:lora_requests_info gauge")) << text;
  EXPECT_TRUE(has_series(text, adapters_line("5", "one,three", "three,four"))) << text;
}

TEST(GatewayMetrics, TellOfNoAdaptersWhereNoneHasAPlace) {
  const std::string text = gateway_text({}, 0);
  EXPECT_TRUE(has_series(text, adapters_line("0", "", ""))) << text;
}

TEST(GatewayMetrics, NameNoAdapterThatWouldBeReadAsAnother) {
  const std::string text = gateway_text({{"a,b", 1, 1}, {" c", 1, 1}, {"on", 1, 0}, {"one", 1, 0}, {"one", 1, 0}}, 5);
  EXPECT_TRUE(has_series(text, adapters_line("5", "on,one", ""))) << text;
}

TEST(GatewayMetrics, TellNothingOfAModelThatIsNotLoaded) {
  const engine::EngineCounters counters;
  const ModelState model{"a", std::nullopt, &counters};
  EXPECT_TRUE(gateway_metrics({&model, 1}, 1).empty());
}

}  // namespace
}  // namespace realizar::server
