// JSON bodies: parsed within limits, and read field by field with errors that name the field.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::server {

using Json = nlohmann::ordered_json;

// Token ids in a body are many and small; they have limits of their own, separate from the limit on all values.
struct IdLimits {
  size_t max_prompt_ids = 0;  // of each list in the fields "prompt" and "input": a context
  size_t max_text_ids = 0;    // of the list in the field "tokens"
};

// A parsed body takes at most some tens of MB, whatever its text: parsing ends when a limit is passed.
// Errors: InvalidArgument for text that is not JSON, is nested deeper than 100 levels, has objects with more than about
// 10,000 members or more than 200,000 values, or contains bytes that are not UTF-8; ContextLengthExceeded for a list of
// too many ids.
Result<Json> parse_json(std::string_view text, const IdLimits& ids = {});
// Empties a parsed value without allocating. nlohmann's destructor keeps a stack of the values to destroy, and the
// program ends if there is no memory for it.
void take_apart(Json& json) noexcept;
// Does so at the end of a scope.
struct TakenApartAtEnd {
  Json& json;
  ~TakenApartAtEnd() { take_apart(json); }
};
// The member "model" of a body, the last one if there are several; "" if it is missing or null, and for a text that is
// not an object or cannot be read, which parse_json() reports. Errors: InvalidArgument for a name that is not a string.
// May extend the text's memory.
Result<std::string> peek_model_name(std::string& text);
// InvalidArgument: "where: message", with the subject `where`.
Error wrong(const std::string& where, const std::string& message);
// Turns an error into one for the i-th item of the list `field`.
Error of_item(Error error, const std::string& field, size_t i);
// One line; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

// A server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html): "data: {...}\n\n".
std::string sse(const Json& json);

// Whether it is "".
bool is_empty_text(const Json& json);
// Whether it is -1, and not the largest 64-bit number.
bool is_minus_one(const Json& json);

// The texts of a list; nullopt if it contains anything else.
std::optional<std::vector<std::string>> texts_of(const Json& list);

// A token's id: a whole number of 31 bits; nullopt for anything else.
std::optional<int32_t> token_id_of(const Json& json);

// The number with the shortest text that gives the same float: 0.8, not 0.800000011920929.
double decimal(float value);

// Reads the fields of an object. A missing or null field is nullopt; a wrong type or range is an error
// (InvalidArgument, subject: the field), which status() returns.
class Fields {
 public:
  // `prefix`: the path of the object, for messages: "" or "messages[2].".
  explicit Fields(const Json& object, std::string prefix = {}) : object_(object), prefix_(std::move(prefix)) {}

  std::optional<std::string> text(const char* name);
  std::optional<bool> boolean(const char* name);
  std::optional<double> number(const char* name);
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most);
  // 64 bits; a negative number means the seed with the same bits.
  std::optional<uint64_t> seed(const char* name);
  const Json* array(const char* name);
  const Json* object(const char* name);
  const Json* any(const char* name) const;  // null if missing or null
  const Json& json() const { return object_; }

  void fail(const char* name, const std::string& message);
  // The error of a field; not stored.
  Error wrong(const char* name, const std::string& message) const;
  const Status& status() const { return status_; }

 private:
  const Json* of_type(const char* name, bool (Json::*is_such)() const noexcept, const char* expected);

  const Json& object_;
  std::string prefix_;
  Status status_;
};

// The text in an object's field. Errors: InvalidArgument naming the field, with `expected` if it is missing or empty.
Result<std::string> required_text(const Json& object, const char* name, const char* expected);

}  // namespace realizar::server
