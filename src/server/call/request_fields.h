// The fields that every generating route shares, from JSON to a Request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"
#include "server/call/request_context.h"
#include "server/call/token_rules.h"
#include "server/http/field_table.h"
#include "server/http/json.h"
#include "server/models/answer_form.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct GenerationFields {
  Request request;         // all but the prompt
  std::string cache_name;  // as cache_name_of has it; "": its prefixes are nobody else's
  std::vector<std::string> stop;
  TokenRules rules;        // for with_rules
  bool has_limit = false;  // of tokens, also where that is none
  int64_t id_slot = -1;    // under which slots.h notes what it leaves; -1: any
  uint32_t n = 1;
  bool stream = false;
  bool include_usage = false;
};

// A body while its fields are read. What the body does not name stays as the model recommends it, or the server.
struct GenerationReading {
  GenerationReading(const ServedModel& served, const RequestContext& asked);

  const ServedModel& model;
  const RequestContext& context;
  GenerationFields generation;
  uint64_t unnamed_seed = 0;  // which the request has unless it names one

  // To be called once all fields are read: what depends on several. Errors: InvalidArgument naming the field.
  Status finish_generation();
};

// Fields that all dialects spell alike: the parameters of sampling/parameters.h, and this server's own. Errors:
// InvalidArgument naming the field.
Status read_common_fields(Fields& body, GenerationReading& into);
KnownFields common_fields();

// Reads these too, and limits, stops and the number of answers as OpenAI's and llama.cpp's clients spell them.
Status read_generation_fields(Fields& body, GenerationReading& into);
KnownFields generation_fields();

// For rows of tables.
Status read_sampling(Fields& body, GenerationReading& into);
Status read_stop(Fields& body, const char* name, GenerationReading& into);
Status read_limit(Fields& body, const char* name, int64_t least, GenerationReading& into);  // below 0: no limit
template <int64_t least>
Status read_max_tokens(Fields& body, const char* name, GenerationReading& into) {
  return read_limit(body, name, least, into);
}
template <auto generation>
constexpr auto take_n = take_whole<1, 128, generation, &GenerationFields::n>;
Status read_stream_options(Fields& options, GenerationReading& into);

// The most answers of one request: each holds some 10 to 50 KB until the last is there.
inline constexpr size_t kMaxAnswers = 1024;

// Holds an answer to the form; null: that is free. Errors: those of masks_of.
Result<std::shared_ptr<TokenConstraint>> constraint_of(const AnswerForm& form, const ServedModel& model);
// Holds the answers of a request that is no chat to the form that its body asks for and to the rules of its tokens.
// Errors: those of read_answer_form and masks_of.
Status constrain_text(const Json& body, GenerationFields& generation, const ServedModel& model);

// Calls of different keys share no cached prefixes, and neither do those of one key that name different salts. How soon
// an answer comes would tell what others asked.
std::string cache_name_of(const KeyDigest& key, std::string_view named = "");
uint64_t cache_salt_of(const KeyDigest& key, const ServedModel& model, std::string_view named = "");

// The request of the i-th of several choices: its own seed, the rest alike.
Request nth_request(const Request& request, uint32_t i);

uint64_t random_number();
// "chatcmpl-" and 24 random letters and digits.
std::string random_id(const char* prefix);
int64_t unix_now_s();

}  // namespace realizar::server
