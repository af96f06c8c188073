// Any bytes as a chat template of Ollama's clients: an error with a message, or a template that renders a conversation
// or says why not.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text/ollama_template.h"

using namespace realizar;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kVariables = nlohmann::ordered_json::parse(
      R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
          {"role": "assistant", "content": "A", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}]})");
  const auto compiled = text::compile_ollama_template({reinterpret_cast<const char*>(data), size});
  if (!compiled.ok()) {
    if (compiled.error().message.empty() || compiled.error().subject != "template") std::abort();
    return 0;
  }
  const auto pieces = (*compiled)->render(kVariables, 0);
  if (!pieces.ok() && pieces.error().message.empty()) std::abort();
  return 0;
}
