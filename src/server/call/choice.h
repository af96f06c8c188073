// One generated answer on its way to a client: the engine's tokens go through text::Answer, and with their
// log-probabilities into news. I/O thread.
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

// Ends of an answer that its lines decide, as editors ask llama.cpp's server for them.
struct LineRules {
  uint32_t n_indent = 0;  // a line that begins with fewer spaces and tabs ends the answer; 0: none does
  uint32_t max_ms = 0;    // after the first token, once a line is complete; 0: no limit
};

// Watches the text of one answer while it arrives.
class LineWatch {
 public:
  explicit LineWatch(const LineRules& rules) : rules_(rules) {}

  // The text that is certain to be part of the answer: the beginning of a line waits for the end of its indentation.
  std::string take(std::string text);
  // `ms`: from the first token to the last one.
  void note_time(double ms) { is_over_ = is_over_ || (rules_.max_ms > 0 && has_new_line_ && ms > rules_.max_ms); }
  // What still waits, at the end of the answer.
  std::string finish();
  // A rule has ended the answer: later text is no part of it.
  bool is_over() const { return is_over_; }

 private:
  const LineRules rules_;
  std::string indentation_;  // a line break and the blanks after it, while these may go on
  bool has_new_line_ = false, is_over_ = false;
};

// Answers that go on beyond the context, as Ollama's clients ask for with `shift`: where it is full, the older half of
// what may be forgotten is left out, and the rest is the prompt of a request that writes on. Its tokens depend on the
// request alone, as all do.
struct ContextShift {
  uint32_t n_ctx = 0;       // of prompt and answer; 0: nothing is shifted
  uint32_t n_keep = 0;      // tokens of the prompt's beginning that stay, half of the context at most
  uint32_t max_tokens = 0;  // of the whole answer

  bool is_on() const { return n_ctx > 0; }
};

// What the first request may generate before the context is full.
uint32_t first_limit(const ContextShift& shift, size_t n_prompt);

// The request that goes on where `before`, which generated `tokens`, has filled the context. `n_generated`: of the
// answer so far. The constraint goes on where it stands; draws have a seed of their own.
Request shifted_request(const Request& before, std::span<const TokenId> tokens, uint32_t n_generated,
                        const ContextShift& shift);

// What is new since the last call.
struct ChoiceNews {
  std::vector<text::OutputEvent> events;
  TokenLog tokens;                                      // where they or their log-probabilities are asked for
  TokenLog prompt_tokens;                               // the prompt's from the second on, where those are
  std::vector<engine::TokenStream::Progress> progress;  // of the prompt, where that is asked for
  Timings timings;                                      // so far
  bool ended = false;
};

class Choice {
 public:
  // The answer's tokens are told where the options say so, or the request asks for log-probabilities. `is_streamed`:
  // the client gets them as they come.
  Choice(ServedModelPtr model, Request request, text::AnswerOptions options, bool is_streamed,
         const LineRules& lines = {});
  ~Choice();
  // How far the prompt is comes as news. To be called before submit.
  void tell_progress() { stream_->tells_progress = true; }
  // Where the context is full the answer goes on in a further request. To be called before submit.
  void shift_context(const ContextShift& shift) { shift_ = shift; }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  // Hands the request to the engine; `on_ready` is called when there is news. Errors: EngineThread::submit's.
  Status submit(std::function<void()> on_ready);
  // Called when there is news, or room to send it. `on_token` is called with each generated token.
  ChoiceNews take_news(const std::function<void(const TokenEvent&)>& on_token);
  // The client takes no more for now, or again.
  void set_blocked(bool is_blocked) { stream_->set_blocked(is_blocked); }
  // Ends the request within a step, which is told.
  void stop() { stream_->cancel(); }

  // After the end:
  const engine::TokenStream::End& end() const { return end_; }
  // "stop", "tool_calls", or "length" also where a call was cut; of an aborted one "stop".
  const char* finish_reason() const;
  // The answer ended at its limit of tokens, or at the context's.
  bool is_cut() const { return answer_.is_cut(); }
  // The stop string that ended it; "": none did.
  const std::string& stop_string() const { return answer_.stop_string(); }
  // Of the prompt and of the tokens so far.
  Timings timings() const;
  // For metrics and log, also of those that did not end well: "abort", "timeout" or "error".
  const char* end_label() const;
  bool has_ended() const { return has_ended_; }

  // Those that n_tokens() counts.
  const std::vector<TokenId>& tokens() const { return tokens_; }
  uint32_t n_tokens() const { return answer_.n_tokens(); }
  uint32_t n_reasoning_tokens() const { return answer_.n_reasoning_tokens(); }
  double sum_logprob() const { return sum_logprob_; }
  const Request& request() const { return first_stream_->request(); }
  // The context was full: the answer ended there, or went on without its oldest tokens.
  bool is_truncated() const { return stream_ != first_stream_ || end_.finish_reason == FinishReason::kContext; }

 private:
  std::shared_ptr<engine::TokenStream> make_stream(Request request) const;
  bool goes_on(const engine::TokenStream::End& end) const;
  void go_on(const engine::TokenStream::End& end, ChoiceNews& news);
  void take_progress(ChoiceNews& news);
  void take_token(const TokenEvent& token, ChoiceNews& news);
  void take_end(const engine::TokenStream::End& end, ChoiceNews& news);
  void add(text::AnswerPart part, ChoiceNews& news);
  void add_event(text::OutputEvent event, ChoiceNews& news);
  bool is_over() const { return answer_.is_stopped() || lines_.is_over(); }

  ServedModelPtr model_;
  const bool is_streamed_;
  std::shared_ptr<engine::TokenStream> stream_;
  std::shared_ptr<engine::TokenStream> first_stream_;  // another one once the context was shifted
  ContextShift shift_;
  GenerationStats stats_before_;  // of the streams before this one
  size_t first_token_ = 0;        // in tokens_, of this stream
  std::chrono::steady_clock::time_point submitted_at_;
  text::Answer answer_;
  LineWatch lines_;
  engine::TokenStream::End end_;
  bool has_ended_ = false;
  double sum_logprob_ = 0;
  double decode_ms_ = 0;            // from the first token to the last one
  std::optional<uint32_t> n_told_;  // of the prompt's tokens, as progress
  const bool tells_tokens_;
  std::vector<TokenId> tokens_;
  struct OpenToken {
    TokenId id;
    float logprob;
    std::vector<TokenLogprob> top;
  };
  std::deque<OpenToken> open_tokens_;  // of which it is not known whether the answer has them
  uint32_t first_open_token_ = 0;      // which token the first of them is
};

}  // namespace realizar::server
