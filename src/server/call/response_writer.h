// Writes the results of one call in a dialect's format, with its ids, its times and its state.
#pragma once

#include <functional>
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

// The new text of the answer, of any kind.
inline std::string text_of(const ChoiceUpdate& update) {
  std::string text;
  for (const text::OutputEvent& event : update.events) text += event.text;
  return text;
}

// An error as the last event of a stream.
inline std::string plain_stream_error(const ApiError& error) {
  return "data: " + error_json(error) + "\n\n";
}

// Distinguishes answers of different versions of the program.
inline std::string system_fingerprint() {
  return "realizar-" + std::string(version());
}

// Pieces of a stream are returned as bytes to send, including "data: ...\n\n".
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  // A writer of answers that are never streamed has none of these.
  virtual std::string stream_begin() { return {}; }
  virtual std::string stream_update(size_t /*choice_idx*/, const ChoiceUpdate&) { return {}; }
  virtual std::string stream_choice_end(size_t /*choice_idx*/, const Choice&) { return {}; }
  virtual std::string stream_end(const Usage&, const Json* /*trace*/) { return {}; }  // without the terminator
  virtual std::string stream_error(const ApiError& error) { return plain_stream_error(error); }
  // The events of a dialect whose streams repeat earlier content and are as long as the answer: they are sent after the
  // results of these functions. Any thread may write them while this object is unchanged. Null: there are none.
  virtual JsonPieces* long_events() { return nullptr; }

  // Writes the server's copy of the answer, before the client gets the answer's end, and returns the maximum number of
  // bytes to keep; 0: no copy. Any thread may write it, like whole(). Call it once, after all updates.
  virtual size_t put_copy(const Choices&, const Usage&, JsonPieces&) { return 0; }
  virtual void keep_copy(std::string /*text*/) {}

  // Collects the parts of a whole answer that are not in the choices.
  virtual void collect(size_t /*choice_idx*/, ChoiceUpdate) {}
  // Long lists in it belong to `pieces`. Any thread may write them while this and the choices are unchanged.
  virtual Json whole(const Choices& choices, const Usage& usage, JsonPieces& pieces) = 0;
};

// A writer of answers that are never streamed, and whose parts are all in the choices. `whole`: as ResponseWriter's.
class WholeWriter final : public ResponseWriter {
 public:
  using Whole = std::function<Json(const Choices& choices, const Usage& usage, JsonPieces& pieces)>;
  explicit WholeWriter(Whole whole) : whole_(std::move(whole)) {}
  Json whole(const Choices& choices, const Usage& usage, JsonPieces& pieces) override {
    return whole_(choices, usage, pieces);
  }

 private:
  Whole whole_;
};

}  // namespace realizar::server
