// One generated answer on its way to a client: the engine's tokens pass through text::Answer, and become updates with
// their log-probabilities. I/O thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/token_stream.h"
#include "server/call/logprobs.h"
#include "server/call/timings.h"
#include "server/models/served_model.h"
#include "text/answer.h"

namespace realizar::server {

// Rules for lines that end an answer, for editors that use llama.cpp's server.
struct LineRules {
  uint32_t n_indent = 0;  // a line with less indentation (spaces and tabs) ends the answer; 0: no rule
  uint32_t max_ms = 0;    // time limit after the first token, once a line is complete; 0: none
};

// Applies the rules to the text of one answer while it arrives.
class LineWatch {
 public:
  explicit LineWatch(const LineRules& rules) : rules_(rules) {}

  // The text that is certainly part of the answer: the beginning of a line waits for the end of its indentation.
  std::string take(std::string text);
  // `ms`: from the first token to the last one.
  void note_time(double ms) { is_over_ = is_over_ || (rules_.max_ms > 0 && has_new_line_ && ms > rules_.max_ms); }
  // The waiting text, at the end of the answer.
  std::string finish();
  // A rule has ended the answer: later text is not part of it.
  bool is_over() const { return is_over_; }

 private:
  const LineRules rules_;
  std::string indentation_;  // a line break and the blanks after it, while more may follow
  bool has_new_line_ = false, is_over_ = false;
};

// Answers that continue beyond the context, for Ollama's `shift`: when the context is full, the older half of its
// removable part is dropped, and the rest becomes the prompt of a request that continues. Its tokens depend only on the
// request, as always.
struct ContextShift {
  uint32_t n_ctx = 0;       // of prompt and answer; 0: no shifting
  uint32_t n_keep = 0;      // tokens kept at the prompt's beginning, at most half of the context
  uint32_t max_tokens = 0;  // for the whole answer

  bool is_on() const { return n_ctx > 0; }
};

// The tokens that the first request may generate before the context is full.
uint32_t first_limit(const ContextShift& shift, size_t n_prompt);

// The request that continues after `before`, which generated `tokens`, has filled the context. `n_generated`: tokens of
// the answer so far. The constraint keeps its state; draws get another seed.
Request shifted_request(const Request& before, std::span<const TokenId> tokens, uint32_t n_generated,
                        const ContextShift& shift);

// Updates since the last call.
struct ChoiceUpdate {
  std::vector<text::OutputEvent> events;
  TokenLog tokens;                                      // if they or their log-probabilities are requested
  TokenLog prompt_tokens;                               // those of the prompt from the second on, if requested
  std::vector<engine::TokenStream::Progress> progress;  // of the prompt, if requested
  Timings timings;                                      // so far
  bool ended = false;
};

class Choice {
 public:
  // The answer's tokens are included if the options say so, or the request asks for log-probabilities. `is_streamed`:
  // the client gets them as they are generated.
  Choice(ServedModelPtr model, Request request, text::AnswerOptions options, bool is_streamed,
         const LineRules& lines = {});
  ~Choice();
  // Includes the prompt's progress in updates. Call it before submit.
  void tell_progress() { stream_->tells_progress = true; }
  // When the context is full the answer continues in another request. Call it before submit.
  void shift_context(const ContextShift& shift) { shift_ = shift; }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  // Submits the request to the engine; `on_ready` is called when there are updates. Errors: those of
  // EngineThread::submit.
  Status submit(std::function<void()> on_ready);
  // Call it when there are updates, or room to send them. `on_token` is called with each generated token.
  ChoiceUpdate take_update(const std::function<void(const TokenEvent&)>& on_token);
  // Whether the client accepts no more for now.
  void set_blocked(bool is_blocked) { stream_->set_blocked(is_blocked); }
  // Ends the request within a step, which is reported.
  void stop() { stream_->cancel(); }

  // After the end:
  const engine::TokenStream::End& end() const { return end_; }
  // "stop", "tool_calls", or "length" (also if a call was cut); "stop" for an aborted one.
  const char* finish_reason() const;
  // The answer ended at its token limit, or at the context's.
  bool is_cut() const { return answer_.is_cut(); }
  // The stop string that ended it; "": none.
  const std::string& stop_string() const { return answer_.stop_string(); }
  // Times of the prompt and of the tokens so far.
  Timings timings() const;
  // For metrics and log, including answers that did not end well: "abort", "timeout" or "error".
  const char* end_label() const;
  bool has_ended() const { return has_ended_; }

  // The tokens counted by n_tokens().
  const std::vector<TokenId>& tokens() const { return tokens_; }
  uint32_t n_tokens() const { return answer_.n_tokens(); }
  uint32_t n_reasoning_tokens() const { return answer_.n_reasoning_tokens(); }
  double sum_logprob() const { return sum_logprob_; }
  const Request& request() const { return first_stream_->request(); }
  // The context was full: the answer ended there, or continued without its oldest tokens.
  bool is_truncated() const { return stream_ != first_stream_ || end_.finish_reason == FinishReason::kContext; }

 private:
  std::shared_ptr<engine::TokenStream> make_stream(Request request) const;
  bool goes_on(const engine::TokenStream::End& end) const;
  void go_on(const engine::TokenStream::End& end, ChoiceUpdate& update);
  void take_progress(ChoiceUpdate& update);
  void take_token(const TokenEvent& token, ChoiceUpdate& update);
  void take_end(const engine::TokenStream::End& end, ChoiceUpdate& update);
  void add(text::AnswerPart part, ChoiceUpdate& update);
  void add_event(text::OutputEvent event, ChoiceUpdate& update);
  bool is_over() const { return answer_.is_stopped() || lines_.is_over(); }

  ServedModelPtr model_;
  const bool is_streamed_;
  std::shared_ptr<engine::TokenStream> stream_;
  std::shared_ptr<engine::TokenStream> first_stream_;  // differs once the context was shifted
  ContextShift shift_;
  GenerationStats stats_before_;  // of the previous streams
  size_t first_token_ = 0;        // index in tokens_ of this stream's first token
  std::chrono::steady_clock::time_point submitted_at_;
  text::Answer answer_;
  LineWatch lines_;
  engine::TokenStream::End end_;
  bool has_ended_ = false;
  double sum_logprob_ = 0;
  double decode_ms_ = 0;            // from the first token to the last one
  std::optional<uint32_t> n_told_;  // prompt tokens that were reported as progress
  const bool tells_tokens_;
  std::vector<TokenId> tokens_;
  struct OpenToken {
    TokenId id;
    float logprob;
    std::vector<TokenLogprob> top;
  };
  std::deque<OpenToken> open_tokens_;  // not yet known to belong to the answer
  uint32_t first_open_token_ = 0;      // index of the first of them
};
using Choices = std::vector<std::unique_ptr<Choice>>;

}  // namespace realizar::server
