// The fields that every generating route shares, from JSON to a Request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"
#include "server/call/request_context.h"
#include "server/call/token_rules.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct GenerationFields {
  Request request;  // all but the prompt
  std::vector<std::string> stop;
  TokenRules rules;        // for with_rules
  bool has_limit = false;  // of tokens, also where that is none
  int64_t id_slot = -1;    // under which slots.h notes what it leaves; -1: any
  uint32_t n = 1;
  bool stream = false;
  bool include_usage = false;
};

// The parameters of sampling/parameters.h, samplers, dry_sequence_breakers, logit_bias, n, stop, stop_token_ids,
// max_tokens, max_completion_tokens, n_predict (-1: no limit), min_tokens, allowed_token_ids, bad_words, stream,
// stream_options, priority, ignore_eos, cache_salt, id_slot, timeout_ms, timeout. What is absent keeps the model's own
// recommendation. Errors: InvalidArgument naming the field.
Result<GenerationFields> read_generation_fields(Fields& body, const ServedModel& model, const RequestContext& context);

// Calls of different keys share no cached prefixes, and neither do those of one key that name different salts. How soon
// an answer comes would tell what others asked.
uint64_t cache_salt_of(const KeyDigest& key, const ServedModel& model, std::string_view named = "");

// A request for the vector, or the score, of a prompt.
Request pooled_request(std::vector<TokenId> prompt, Pooling pooling, const ServedModel& model,
                       const RequestContext& context);

// The request of the i-th of several choices: its own seed, the rest alike.
Request nth_request(const Request& request, uint32_t i);

// "chatcmpl-" and 24 random letters and digits.
std::string random_id(const char* prefix);
int64_t unix_now_s();

}  // namespace realizar::server
