// One generated answer on its way to a client: its tokens become text, then reasoning, content and tool calls. I/O
// thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/token_stream.h"
#include "server/content_tokens.h"
#include "server/model_registry.h"
#include "text/detokenizer.h"
#include "text/output/output_parser.h"

namespace realizar::server {

struct ChoiceOptions {
  std::vector<std::string> stop;  // strings
  uint32_t min_tokens = 0;        // within which none of them ends the answer
  // Set for chats: splits the text.
  std::optional<text::OutputFormat> format;
  std::vector<text::ToolSpec> tools;
  bool starts_in_reasoning = false;
  bool one_call = false;             // the answer ends with its first tool call
  bool content_tokens_only = false;  // news tell no tokens of reasoning and calls
};

// What is new since the last call.
struct ChoiceNews {
  std::vector<text::OutputEvent> events;
  std::vector<TokenInfo> tokens;         // where log-probabilities are asked for
  std::vector<TokenInfo> prompt_tokens;  // the prompt's from the second on, where those are
  bool ended = false;
};

class Choice {
 public:
  Choice(ServedModelPtr model, Request request, const ChoiceOptions& options);
  ~Choice();
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  // Hands the request to the engine; `on_ready` is called when there is news. Errors: EngineThread::submit's.
  Status submit(std::function<void()> on_ready);
  // Called when there is news, or room to send it. `on_token` is called with each token's time.
  ChoiceNews take_news(const std::function<void(Sequence::Clock::time_point)>& on_token);
  void cancel();

  // After the end:
  const TokenStream::End& end() const { return end_; }
  // "stop", "tool_calls", or "length" also where a call was cut; of an aborted one "stop".
  const char* finish_reason() const;
  // The answer ended at its limit of tokens, or at the context's.
  bool is_cut() const;
  // For metrics and log, also of those that did not end well: "abort", "timeout" or "error".
  const char* end_label() const;
  bool has_ended() const { return has_ended_; }

  uint32_t n_tokens() const { return n_tokens_; }
  uint32_t n_reasoning_tokens() const { return n_reasoning_tokens_; }
  double sum_logprob() const { return sum_logprob_; }
  const Request& request() const { return stream_->request(); }

 private:
  void take_token(const TokenStream::Token& token, ChoiceNews& news);
  void take_text(std::string text, ChoiceNews& news);
  void take_end(const TokenStream::End& end, ChoiceNews& news);
  void find_content(std::string_view text, const std::vector<text::OutputEvent>& events, ChoiceNews& news);
  void add_events(std::vector<text::OutputEvent> events, ChoiceNews& news);
  TokenInfo info_of(const TokenStream::Token& token) const;
  void release_infos(ChoiceNews& news);

  ServedModelPtr model_;
  std::shared_ptr<TokenStream> stream_;
  text::StreamingDetokenizer detokenizer_;
  std::optional<text::OutputParser> parser_;
  TokenStream::End end_;
  bool has_ended_ = false;
  bool stopped_by_text_ = false;
  bool has_calls_ = false;
  bool one_call_;
  bool in_reasoning_ = false;
  uint32_t n_tokens_ = 0, n_reasoning_tokens_ = 0;
  double sum_logprob_ = 0;
  // Tokens whose text is held back, since it may yet be of a stop string, and where in the text each begins.
  struct HeldInfo {
    TokenInfo info;
    size_t begin;
  };
  std::deque<HeldInfo> held_infos_;
  std::optional<ContentTokens> content_tokens_;  // in place of held_infos_
};

}  // namespace realizar::server
