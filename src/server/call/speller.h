// How one dialect spells the results of one call: with its ids, its times and what it has told so far.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/call/choice.h"
#include "server/http/api_error.h"
#include "server/http/json.h"
#include "server/http/json_pieces.h"

namespace realizar::server {

struct Usage {
  uint32_t n_prompt = 0, n_cached = 0, n_completion = 0, n_reasoning = 0;
};

// A stream's pieces come as the bytes to send, "data: ...\n\n" and all.
class Speller {
 public:
  virtual ~Speller() = default;
  virtual std::string stream_begin() { return {}; }
  virtual std::string stream_news(size_t choice_idx, const ChoiceNews& news) = 0;
  virtual std::string stream_choice_end(size_t choice_idx, const Choice& choice) = 0;
  virtual std::string stream_end(const Usage& usage, const Json* trace) = 0;  // without the protocol's terminator
  virtual std::string stream_error(const ApiError& error);
  // Has the events of a dialect whose streams repeat what they have told, which are as long as the answer: they are
  // sent after what these functions give. Any thread may write them, while this stays as it is. Null: these give all.
  virtual JsonPieces* long_events() { return nullptr; }

  // Puts the copy of the answer that the server keeps, before the client has the answer's end, and gives the most bytes
  // that are kept; 0: there is none. Any thread may write it, as whole(). To be called once, after all news.
  virtual size_t put_copy(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces& copy);
  virtual void keep_copy(std::string text);

  // Collects what a whole answer is made of.
  virtual void collect(size_t choice_idx, ChoiceNews news) = 0;
  // Long lists in it are those of `pieces`. Any thread may write them, while this and the choices stay as they are.
  virtual Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces& pieces) = 0;
};

// An error as the last event of a stream.
std::string plain_stream_error(const ApiError& error);

// What tells answers of one version of the program from another's.
std::string system_fingerprint();

}  // namespace realizar::server
