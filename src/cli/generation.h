// One answer, streamed to standard output as text or as JSON events, with its statistics.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer_form.h"
#include "realizar/engine.h"
#include "realizar/reasoning.h"

namespace realizar::cli {

class Writer;
struct Prompt;

struct AnswerOptions {
  SamplingParams sampling;       // but for its seed
  std::optional<uint64_t> seed;  // nullopt: each answer draws one
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop;
  bool ignore_eos = false;  // the model's own end tokens do not stop
  uint32_t n_logprobs = 0;
  bool json = false;
  bool split_reasoning = true;  // tell reasoning from the answer, where the model's chat template marks it
  bool hide_reasoning = false;  // and write the answer alone
  ReasoningOptions reasoning = {};
  std::optional<AnswerForm> form = {};
  std::string tools_json = {};           // as of TextOptions
  std::string required_tools_json = {};  // the answer is a call of one of these; empty: it need not be
};

// Since the token before, the first since the request; and what the device computed for of that.
struct TokenTime {
  double ms = 0, device_ms = 0;
};

struct Answer {
  TextGeneration generation;
  std::vector<TokenTime> token_times;
  bool interrupted = false;    // by Ctrl-C
  bool output_failed = false;  // standard output could not be written; reported already
};

// The seed that is given, or one that is drawn now.
uint64_t seed_or_drawn(const std::optional<uint64_t>& seed);

// The prompt of a conversation. `variables`: of the model's template, {"messages": [...]}; bytes of theirs that are not
// UTF-8 become U+FFFD.
Result<std::vector<TokenId>> chat_tokens(const LanguageModel& model, nlohmann::ordered_json variables,
                                         const ReasoningOptions& reasoning);
// Holds a request, whose prompt is there, to the options' form and to the budget that they give its reasoning.
Status constrain(const LanguageModel& model, const AnswerOptions& options, Request& request);

// Streams the answer to `prompt`; after a Ctrl-C no more of it is written. As text it ends with a line break, as JSON
// with a "done" event. Calls of tools are no text; as JSON each is an event when it is whole.
Result<Answer> stream_answer(Writer& writer, const Prompt& prompt, const AnswerOptions& options);

// How an answer ended and its statistics, as JSON events tell them.
nlohmann::ordered_json ending_json(const TextGeneration& generation);
// The JSON on one line; bytes that are not UTF-8 become U+FFFD.
std::string dump(const nlohmann::ordered_json& json);

// Milliseconds before the engine saw the request.
struct StartTimes {
  double load_ms = 0;
  double tokenize_ms = 0;
};

// The line of --stats that says what the model's memory is for.
std::string memory_text(const ModelInfo& info);

// The lines of --stats: device and kernels, load time, time to first token, prefill and decode tokens/s, peak memory.
// `start`: of the first answer of a process, whose model was loaded for it.
std::string stats_text(const std::string& backend, const std::optional<StartTimes>& start,
                       const GenerationStats& stats);

}  // namespace realizar::cli
