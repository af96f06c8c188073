#include "server/call/field_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/suggest.h"
#include "sampling/parameters.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxWarnings = 4;
constexpr size_t kMaxUnknown = 64;  // fields that are looked at
constexpr size_t kMinLetters = 4;   // shorter names are near to everything

std::vector<std::string> with_sampling(std::vector<std::string> names) {
  for (const SamplingParameter& parameter : kSamplingParameters) {
    names.emplace_back(parameter.name);
    if (!parameter.other_field.empty()) names.emplace_back(parameter.other_field);
  }
  std::ranges::sort(names);
  return names;
}

// The fields of this server's routes, and those that clients of OpenAI, vLLM and llama.cpp also send: such a field
// means something elsewhere.
const std::vector<std::string> kKnown = with_sampling({"add_generation_prompt",
                                                       "add_special",
                                                       "add_special_tokens",
                                                       "allowed_token_ids",
                                                       "audio",
                                                       "background",
                                                       "bad_words",
                                                       "best_of",
                                                       "cache_prompt",
                                                       "cache_salt",
                                                       "chat_template",
                                                       "chat_template_kwargs",
                                                       "container",
                                                       "content",
                                                       "context",
                                                       "context_management",
                                                       "continue_final_message",
                                                       "conversation",
                                                       "dimensions",
                                                       "documents",
                                                       "dry_sequence_breakers",
                                                       "echo",
                                                       "enable_thinking",
                                                       "encoding_format",
                                                       "format",
                                                       "function_call",
                                                       "functions",
                                                       "grammar",
                                                       "guided_choice",
                                                       "guided_decoding_backend",
                                                       "guided_grammar",
                                                       "guided_json",
                                                       "guided_json_object",
                                                       "guided_regex",
                                                       "guided_whitespace_pattern",
                                                       "id_slot",
                                                       "ignore_eos",
                                                       "images",
                                                       "include",
                                                       "include_reasoning",
                                                       "include_stop_str_in_output",
                                                       "input",
                                                       "input_extra",
                                                       "input_prefix",
                                                       "input_suffix",
                                                       "instructions",
                                                       "json_schema",
                                                       "keep_alive",
                                                       "kv_transfer_params",
                                                       "length_penalty",
                                                       "logit_bias",
                                                       "logits_processors",
                                                       "logprobs",
                                                       "lora",
                                                       "max_completion_tokens",
                                                       "max_output_tokens",
                                                       "max_tokens",
                                                       "max_tool_calls",
                                                       "mcp_servers",
                                                       "messages",
                                                       "metadata",
                                                       "min_keep",
                                                       "min_tokens",
                                                       "mm_processor_kwargs",
                                                       "modalities",
                                                       "model",
                                                       "n",
                                                       "n_discard",
                                                       "n_indent",
                                                       "n_keep",
                                                       "n_predict",
                                                       "n_probs",
                                                       "options",
                                                       "output_config",
                                                       "output_format",
                                                       "parallel_tool_calls",
                                                       "parse_special",
                                                       "parse_tool_calls",
                                                       "post_sampling_probs",
                                                       "prediction",
                                                       "previous_response_id",
                                                       "priority",
                                                       "prompt",
                                                       "prompt_cache_key",
                                                       "prompt_cache_retention",
                                                       "prompt_logprobs",
                                                       "reasoning",
                                                       "reasoning_budget",
                                                       "reasoning_budget_tokens",
                                                       "reasoning_effort",
                                                       "reasoning_format",
                                                       "request_id",
                                                       "response_fields",
                                                       "response_format",
                                                       "return_progress",
                                                       "return_tokens",
                                                       "return_tokens_as_token_ids",
                                                       "safe_prompt",
                                                       "safety_identifier",
                                                       "samplers",
                                                       "service_tier",
                                                       "shift",
                                                       "skip_special_tokens",
                                                       "spaces_between_special_tokens",
                                                       "speed",
                                                       "stop",
                                                       "stop_sequences",
                                                       "stop_token_ids",
                                                       "store",
                                                       "stream",
                                                       "stream_options",
                                                       "structured_outputs",
                                                       "suffix",
                                                       "system",
                                                       "t_max_predict_ms",
                                                       "template",
                                                       "text",
                                                       "think",
                                                       "thinking",
                                                       "thinking_budget",
                                                       "thinking_budget_tokens",
                                                       "thinking_token_budget",
                                                       "timeout",
                                                       "timeout_ms",
                                                       "timings_per_token",
                                                       "tokens",
                                                       "tool_choice",
                                                       "tools",
                                                       "top_logprobs",
                                                       "truncate",
                                                       "truncate_prompt_tokens",
                                                       "truncation",
                                                       "use_beam_search",
                                                       "user",
                                                       "verbosity",
                                                       "vllm_xargs",
                                                       "web_search_options",
                                                       "with_pieces"});

bool is_known(const std::string& name) {
  return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
}

// maxTokens and max-tokens are max_tokens in another language's spelling.
std::string snake_case(const std::string& name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      if (!snake.empty()) snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c == '-' ? '_' : c;
    }
  }
  return snake;
}

// The field that the name is a slip of; "" where it is none.
std::string meant_by(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != '\''; });
  if (!is_plain || name.size() < kMinLetters) return {};
  const std::string snake = snake_case(name);
  if (is_known(snake)) return snake;
  const std::string near = closest(name, kKnown);
  return near.size() < kMinLetters ? std::string() : near;
}

// Ollama's clients name samplers in an object of their own.
bool asks_for_mirostat(const Json& body) {
  const auto options = body.find("options");
  if (options == body.end() || !options->is_object() || find_sampling_parameter("mirostat") != nullptr) return false;
  const Json mirostat = options->value("mirostat", Json());
  return mirostat.is_number() && mirostat != 0;
}

}  // namespace

std::string field_warnings(const Json& body) {
  std::string warnings;
  size_t n_unknown = 0, n_warnings = 0;
  for (const auto& [name, value] : body.items()) {
    if (is_known(name)) continue;
    if (++n_unknown > kMaxUnknown || n_warnings == kMaxWarnings) break;
    const std::string meant = meant_by(name);
    if (meant.empty() || body.contains(meant)) continue;
    warnings += fmt::format("{}'{}' is no field; did you mean '{}'?", n_warnings++ > 0 ? " " : "", name, meant);
  }
  if (asks_for_mirostat(body)) {
    warnings += fmt::format("{}'options.mirostat' is not built.", n_warnings > 0 ? " " : "");
  }
  return warnings;
}

}  // namespace realizar::server
