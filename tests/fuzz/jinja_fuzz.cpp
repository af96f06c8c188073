// Any bytes as a chat template, rendered with a fixed conversation.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text/chat_template.h"
#include "text/jinja/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto variables = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "a b\nc"},
                 {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "n": 7, "l": [3, 1.5, "x"]})");
  const auto parsed =
      realizar::text::ChatTemplate::parse({reinterpret_cast<const char*>(data), std::min<size_t>(size, 4096)});
  // A template may run for a second, and with the sanitizers fifty times as long.
  const realizar::text::jinja::Work bound(1'000'000);
  if (parsed.ok()) (void)parsed->render(variables, 1785067200).ok();
  return 0;
}
