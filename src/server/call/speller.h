// How one dialect spells the results of one call: with its ids, its times and what it has told so far.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "realizar/engine.h"
#include "server/call/choice.h"
#include "server/http/api_error.h"
#include "server/http/json.h"
#include "server/http/json_pieces.h"

namespace realizar::server {

struct Usage {
  uint32_t n_prompt = 0, n_cached = 0, n_completion = 0, n_reasoning = 0;
};

// The text of the answer that is new, whatever part of it.
inline std::string text_of(const ChoiceNews& news) {
  std::string text;
  for (const text::OutputEvent& event : news.events) text += event.text;
  return text;
}

// An error as the last event of a stream.
inline std::string plain_stream_error(const ApiError& error) {
  return "data: " + error_json(error) + "\n\n";
}

// Tells answers of one version of the program from another's.
inline std::string system_fingerprint() {
  return "realizar-" + std::string(version());
}

// A stream's pieces come as the bytes to send, "data: ...\n\n" and all.
class Speller {
 public:
  virtual ~Speller() = default;
  // A speller of answers that are never streamed has none of these.
  virtual std::string stream_begin() { return {}; }
  virtual std::string stream_news(size_t /*choice_idx*/, const ChoiceNews&) { return {}; }
  virtual std::string stream_choice_end(size_t /*choice_idx*/, const Choice&) { return {}; }
  virtual std::string stream_end(const Usage&, const Json* /*trace*/) { return {}; }  // without the terminator
  virtual std::string stream_error(const ApiError& error) { return plain_stream_error(error); }
  // Has the events of a dialect whose streams repeat what they have told, which are as long as the answer: they are
  // sent after what these functions give. Any thread may write them, while this stays as it is. Null: these give all.
  virtual JsonPieces* long_events() { return nullptr; }

  // Puts the copy of the answer that the server keeps, before the client has the answer's end, and gives the most bytes
  // that are kept; 0: there is none. Any thread may write it, as whole(). To be called once, after all news.
  virtual size_t put_copy(const std::vector<std::unique_ptr<Choice>>&, const Usage&, JsonPieces&) { return 0; }
  virtual void keep_copy(std::string /*text*/) {}

  // Collects what a whole answer is made of, apart from the choices.
  virtual void collect(size_t /*choice_idx*/, ChoiceNews) {}
  // Long lists in it are those of `pieces`. Any thread may write them, while this and the choices stay as they are.
  virtual Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces& pieces) = 0;
};

}  // namespace realizar::server
