// JSON bodies: parsed with bounds, read field by field with errors that name the field.
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

// Token ids in a body are many and small; they have bounds of their own, apart from the bound on all values.
struct IdLimits {
  size_t max_prompt_ids = 0;  // of each list in the fields "prompt" and "input": a context
  size_t max_text_ids = 0;    // of the list in the field "tokens"
};

// A parsed body takes at most some tens of MB, whatever its text: parsing ends where a bound is passed.
// Errors: InvalidArgument for what is not JSON, is nested deeper than 100, has objects of some 10,000 members or more
// than 200,000 values, or holds bytes that are not UTF-8; ContextLengthExceeded for a list of too many ids.
Result<Json> parse_json(std::string_view text, const IdLimits& ids = {});
// Empties a parsed value from within. nlohmann's destructor keeps a stack of what it destroys, and where there is no
// memory for it the program ends; this takes none.
void take_apart(Json& json) noexcept;
// The same at the end of a scope.
struct TakenApartAtEnd {
  Json& json;
  ~TakenApartAtEnd() { take_apart(json); }
};
// The member "model" of a body, the last where there are several; "" where there is none, where it is null, and for
// what is no object or cannot be read, which parse_json() tells of. Errors: InvalidArgument for a name that is no
// string. Room may be added after the text.
Result<std::string> peek_model_name(std::string& text);
// InvalidArgument: "where: message", its subject `where`.
Error wrong(const std::string& where, const std::string& message);
// The same error, told of the i-th item of a list that `field` names.
Error of_item(Error error, const std::string& field, size_t i);
// One line; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

// "", and nothing else.
bool is_empty_text(const Json& json);
// -1, which is not the largest number of 64 bits.
bool is_minus_one(const Json& json);

// The texts of a list; nullopt where it has anything else.
std::optional<std::vector<std::string>> texts_of(const Json& list);

// A token's id: a whole number from 0 that 31 bits hold; nullopt for all else.
std::optional<int32_t> token_id_of(const Json& json);

// The number that prints as shortly as the float does: 0.8, not 0.800000011920929.
double decimal(float value);

// Reads the fields of an object. A field that is absent or null is nullopt; one of the wrong type or range is an error
// (InvalidArgument, subject: the field), kept until status() is asked.
class Fields {
 public:
  // `prefix`: where the object stands, for messages: "" or "messages[2].".
  explicit Fields(const Json& object, std::string prefix = {}) : object_(object), prefix_(std::move(prefix)) {}

  std::optional<std::string> text(const char* name);
  std::optional<bool> boolean(const char* name);
  std::optional<double> number(const char* name);
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most);
  // Of 64 bits; a negative number stands for the seed that has the same bits.
  std::optional<uint64_t> seed(const char* name);
  const Json* array(const char* name);
  const Json* object(const char* name);
  const Json* any(const char* name) const;  // null where absent or null
  const Json& json() const { return object_; }

  void fail(const char* name, const std::string& message);
  // The error of a field, which is not kept.
  Error wrong(const char* name, const std::string& message) const;
  const Status& status() const { return status_; }

 private:
  const Json* of_type(const char* name, bool (Json::*is_such)() const noexcept, const char* expected);

  const Json& object_;
  std::string prefix_;
  Status status_;
};

}  // namespace realizar::server
