#include "cli/generation.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/json_text.h"
#include "base/try.h"
#include "cli/answer_view.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/writer.h"

namespace realizar::cli {
namespace {

double tokens_per_s(uint32_t n_tokens, double ms) {
  return ms > 0 ? n_tokens / ms * 1e3 : 0;
}

nlohmann::ordered_json token_event(const TextEvent& event) {
  nlohmann::ordered_json json{{"type", "token"}, {"text", event.text}};
  if (event.kind == TextKind::kReasoning) json["reasoning"] = true;
  if (event.token == nullptr) return json;
  json["id"] = to_index(event.token->id);
  json["index"] = event.token->index;
  json["ms"] = event.token->ms;
  if (event.token->logprob) json["logprob"] = *event.token->logprob;
  for (const TokenLogprob& top : event.token->top) {
    json["top_logprobs"].push_back({{"id", to_index(top.id)}, {"logprob", top.logprob}});
  }
  return json;
}

std::string call_events(const std::vector<ToolCall>& calls) {
  std::string events;
  for (const ToolCall& call : calls) {
    events += json_text({{"type", "tool_call"}, {"name", call.name}, {"arguments", call.arguments_json}}) + '\n';
  }
  return events;
}

}  // namespace

uint64_t seed_or_drawn(const std::optional<uint64_t>& seed) {
  return seed ? *seed : uint64_t{std::random_device{}()} << 32 | std::random_device{}();
}

nlohmann::ordered_json ending_json(const TextGeneration& generation) {
  const GenerationStats& stats = generation.stats;
  return {{"finish_reason", to_string(generation.finish_reason)},
          {"n_prompt", stats.n_prompt},
          {"n_cached", stats.n_cached},
          {"n_generated", stats.n_generated},
          {"prefill_ms", stats.prefill_ms},
          {"first_token_ms", stats.first_token_ms},
          {"decode_ms", stats.decode_ms}};
}

Result<std::vector<TokenId>> chat_tokens(const LanguageModel& model, nlohmann::ordered_json variables,
                                         const ReasoningOptions& reasoning) {
  RZ_TRY(const ReasoningPlan plan, plan_reasoning(model, reasoning));
  variables.update(nlohmann::ordered_json::parse(plan.variables_json));
  return model.apply_chat_template(json_text(variables));
}

Status constrain(const LanguageModel& model, const AnswerOptions& options, Request& request) {
  if (options.form) {
    // Without the chat template there is no reasoning before the form.
    const std::span<const TokenId> marks = options.split_reasoning ? request.prompt : std::span<const TokenId>();
    RZ_TRY(request.constraint, constraint_of(model, *options.form, marks));
  }
  RZ_TRY(const ReasoningPlan plan, plan_reasoning(model, options.reasoning));
  if (!plan.budget) return {};
  RZ_TRY(request.constraint, reasoning_constraint(model, *plan.budget, request.prompt, std::move(request.constraint)));
  return {};
}

Result<Answer> stream_answer(Writer& writer, const Prompt& prompt, const AnswerOptions& options) {
  Answer answer;
  bool has_text = false;
  AnswerView view(AnswerView::for_stdout(options.hide_reasoning));
  const InterruptScope interrupt(writer);
  const bool has_spinner = !options.json && obeys_escapes(STDOUT_FILENO) && obeys_escapes(STDERR_FILENO);
  Spinner spinner(fmt::format("reading {} tokens", prompt.n_tokens), has_spinner);
  const auto on_text = [&](const TextEvent& event) {
    spinner.stop();
    if (interrupt.interrupted()) return false;
    if (event.token != nullptr) answer.token_times.push_back({event.token->ms, event.token->device_ms});
    const bool is_reasoning = event.kind == TextKind::kReasoning;
    const bool is_call = !is_reasoning && event.kind != TextKind::kContent;
    const bool is_hidden = options.hide_reasoning && is_reasoning;
    if (is_call) return true;
    has_text = has_text || !event.text.empty();
    const bool written = options.json ? is_hidden || print_model_text(json_text(token_event(event)) + '\n')
                                      : print(view.show(event.text, is_reasoning));
    answer.output_failed = !written;
    return written;
  };
  RZ_TRY(answer.generation, writer.write(prompt, options, on_text));
  spinner.stop();
  answer.interrupted = interrupt.interrupted();
  if (answer.output_failed) return answer;
  const TextGeneration& generation = answer.generation;
  if (options.json) {
    nlohmann::ordered_json done{{"type", "done"}};
    done.update(ending_json(generation));
    answer.output_failed = !print_model_text(call_events(generation.calls) + json_text(done) + '\n');
  } else if (has_text || generation.calls.empty()) {
    answer.output_failed = !print(view.end() + '\n');
  }
  return answer;
}

std::string memory_text(const ModelInfo& info) {
  const auto mb = [](uint64_t n_bytes) { return static_cast<double>(n_bytes) / 1e6; };
  return fmt::format("memory          {:10.1f} MB of weights, {:.1f} MB of KV cache, {:.1f} MB to compute in\n",
                     mb(info.weight_bytes), mb(info.kv_bytes), mb(info.scratch_bytes));
}

std::string stats_text(const std::string& backend, const std::optional<StartTimes>& start,
                       const GenerationStats& stats) {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const uint32_t n_computed = stats.n_prompt - stats.n_cached;
  // The first token comes from the prompt's last row; the others took one decode step each.
  const uint32_t n_decoded = stats.n_generated > 0 ? stats.n_generated - 1 : 0;
  std::string load_line, since_start;
  if (start) {
    load_line = fmt::format("load            {:10.1f} ms\n", start->load_ms);
    since_start =
        fmt::format(", {:.1f} ms after the start", start->load_ms + start->tokenize_ms + stats.first_token_ms);
  }
  return fmt::format(
      "backend         {}\n"
      "{}"
      "first token     {:10.1f} ms after the request{}\n"
      "prefill         {:10.1f} tokens/s ({} tokens, {} from the cache, {:.1f} ms)\n"
      "decode          {:10.1f} tokens/s ({} tokens, {:.1f} ms)\n"
      "peak memory     {:10.1f} MB\n",
      backend, load_line, stats.first_token_ms, since_start, tokens_per_s(n_computed, stats.prefill_ms), stats.n_prompt,
      stats.n_cached, stats.prefill_ms, tokens_per_s(n_decoded, stats.decode_ms), n_decoded, stats.decode_ms,
      static_cast<double>(usage.ru_maxrss) / 1024.0);
}

}  // namespace realizar::cli
