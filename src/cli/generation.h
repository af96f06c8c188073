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
  SamplingParams sampling;       // without the seed
  std::optional<uint64_t> seed;  // nullopt: drawn for each answer
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop;
  bool ignore_eos = false;  // the model's own end tokens do not stop the answer
  uint32_t n_logprobs = 0;
  bool json = false;
  bool split_reasoning = true;  // separates reasoning from the answer, if the model's chat template marks it
  bool hide_reasoning = false;  // and only writes the answer
  ReasoningOptions reasoning = {};
  std::optional<AnswerForm> form = {};
  std::string tools_json = {};           // as in TextOptions
  std::string required_tools_json = {};  // the answer must call one of these; empty: not required
};

// Time since the token before, for the first since the request; and the device's share of it.
struct TokenTime {
  double ms = 0, device_ms = 0;
};

struct Answer {
  TextGeneration generation;
  std::vector<TokenTime> token_times;
  bool interrupted = false;    // by Ctrl-C
  bool output_failed = false;  // standard output could not be written; already reported
};

// The given seed, or one drawn now.
uint64_t seed_or_drawn(const std::optional<uint64_t>& seed);

// The prompt of a conversation. `variables`: for the model's template, {"messages": [...]}; bytes in them that are not
// UTF-8 become U+FFFD.
Result<std::vector<TokenId>> chat_tokens(const LanguageModel& model, nlohmann::ordered_json variables,
                                         const ReasoningOptions& reasoning);
// Adds the options' constraint and reasoning budget to a request whose prompt is set.
Status constrain(const LanguageModel& model, const AnswerOptions& options, Request& request);

// Streams the answer to `prompt`; after a Ctrl-C nothing more of it is written. Text output ends with a line break,
// JSON output with a "done" event. Tool calls are not text; in JSON output each becomes an event when it is complete.
Result<Answer> stream_answer(Writer& writer, const Prompt& prompt, const AnswerOptions& options);

// How an answer ended and its statistics, in the form of JSON events.
nlohmann::ordered_json ending_json(const TextGeneration& generation);
// Milliseconds spent before the engine got the request.
struct StartTimes {
  double load_ms = 0;
  double tokenize_ms = 0;
};

// The line of --stats about the model's memory.
std::string memory_text(const ModelInfo& info);

// The lines of --stats: device and kernels, load time, time to first token, prefill and decode tokens/s, peak memory.
// `start`: for the first answer of a process that loaded the model for it.
std::string stats_text(const std::string& backend, const std::optional<StartTimes>& start,
                       const GenerationStats& stats);

}  // namespace realizar::cli
