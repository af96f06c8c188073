// The fields shared by all generating routes, from JSON to a Request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"
#include "sampling/parameters.h"
#include "server/call/request_context.h"
#include "server/call/token_rules.h"
#include "server/http/field_table.h"
#include "server/http/json.h"
#include "server/models/answer_form.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct GenerationFields {
  Request request;         // without the prompt
  std::string cache_name;  // see cache_name_of; "": its prefixes are private
  std::vector<std::string> stop;
  TokenRules rules;        // for with_rules
  bool has_limit = false;  // the client set a limit of tokens, even if it means none
  int64_t id_slot = -1;    // the slot in slots.h to update; -1: any
  uint32_t n = 1;
  bool stream = false;
  bool include_usage = false;
};

// The state while a body's fields are read. Unset fields keep the model's recommendations, or the server's.
struct GenerationReading {
  GenerationReading(const ServedModel& served, const RequestContext& asked);

  const ServedModel& model;
  const RequestContext& context;
  GenerationFields generation;
  uint64_t unnamed_seed = 0;  // used unless the request sets one

  // Call it after all fields are read: handles fields that depend on each other. Errors: InvalidArgument naming the
  // field.
  Status finish_generation();
};

// Fields spelled alike in all dialects: the parameters of sampling/parameters.h, and this server's own. Errors:
// InvalidArgument naming the field.
Status read_common_fields(Fields& body, GenerationReading& into);
KnownFields common_fields();

// Also reads limits, stops and the number of answers in the spellings of OpenAI and llama.cpp.
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

// Token ids of the model. Errors: InvalidArgument naming the field, with `what` it should be.
Result<std::vector<TokenId>> read_token_ids(const Json& ids, const char* name, const char* what,
                                            const ServedModel& model);

// The most answers of one request: each takes some 10 to 50 KB until the last one is done.
inline constexpr size_t kMaxAnswers = 1024;

// An item of a list of adapters, [{id, scale}]: the name of the requested one, "" for none, and its scale. `field`: the
// name of the list. Errors: InvalidArgument naming the field, Unsupported (several adapters).
struct AdapterWish {
  std::string name;
  float scale = 1.0f;
};
Result<AdapterWish> read_adapter_list(const Json& list, const std::string& field, const ServedModel& model);

// The model's name in answers, with the call's adapter.
std::string told_name(const RequestContext& context, const ServedModel& model);

// A parameter's value as clients see it, and all parameters of the sampler chain under their names.
Json parameter_json(const SamplingParameter& parameter, const SamplingParams& params);
Json sampling_json(const SamplingParams& params);

// The settings with which a request is generated, in the format of llama.cpp's server.
// Every parameter of the sampler chain under its name, stop, max_tokens and n_predict (-1: no limit), n_keep,
// n_discard, ignore_eos, stream, logit_bias ([{token, bias}]), n_probs, min_keep and samplers, the chain's in order.
Json generation_settings(const GenerationFields& fields);

// A constraint for the form; null: none. Errors: those of masks_of.
Result<std::shared_ptr<TokenConstraint>> constraint_of(const AnswerForm& form, const ServedModel& model);
// Constrains a request that is not a chat to the form in its body and to the rules for its tokens. Errors: those of
// read_answer_form and masks_of.
Status constrain_text(const Json& body, GenerationFields& generation, const ServedModel& model);

// Calls with different keys share no cached prefixes, and neither do those of the same key with different salts:
// response times would reveal what others asked.
std::string cache_name_of(const KeyDigest& key, std::string_view named = "");
uint64_t cache_salt_of(const KeyDigest& key, const ServedModel& model, std::string_view named = "");

// The request of the i-th of several choices: only its seed differs.
Request nth_request(const Request& request, uint32_t i);

uint64_t random_number();
// "chatcmpl-" and 24 random letters and digits.
std::string random_id(const char* prefix);
int64_t unix_now_s();

}  // namespace realizar::server
