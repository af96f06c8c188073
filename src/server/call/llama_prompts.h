// Prompts in the format of llama.cpp's server.
#pragma once

#include <vector>

#include "server/call/request_context.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct LlamaPrompts {
  std::vector<std::vector<TokenId>> prompts;  // none is empty
  bool is_list = false;                       // then the answer is a list too
};

// Reads `prompt`: a text, an object with a `prompt_string`, token ids, ids and texts in one sequence, or a list of such
// prompts. A list that contains an id is a single sequence. The model's first token precedes a prompt that begins with
// text. Errors: InvalidArgument, ContextLengthExceeded, Unsupported for images and sounds.
Result<LlamaPrompts> read_llama_prompts(const Fields& body, const ServedModel& model, const RequestContext& context);

// Reads input_prefix, input_suffix, input_extra ([{filename, text}]) and prompt, a text with which the answer begins.
// Errors: as above, and InvalidArgument if the model does not support infilling.
Result<LlamaPrompts> read_llama_infill(const Fields& body, const ServedModel& model, const RequestContext& context);

}  // namespace realizar::server
