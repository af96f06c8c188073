// Prompts as llama.cpp's server takes them.
#pragma once

#include <vector>

#include "server/call/request_context.h"
#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct LlamaPrompts {
  std::vector<std::vector<TokenId>> prompts;  // none empty
  bool is_list = false;                       // so that the answer is one too
};

// Reads `prompt`: a text, an object with a `prompt_string`, token ids, ids and texts in one sequence, or a list of such
// prompts. A list with an id in it is one sequence. The model's first token comes before a prompt that begins with
// text. Errors: InvalidArgument, ContextLengthExceeded, Unsupported for images and sounds.
Result<LlamaPrompts> read_llama_prompts(const Fields& body, const ServedModel& model, const RequestContext& context);

// Reads input_prefix, input_suffix, input_extra ([{filename, text}]) and prompt, a text with which the answer begins.
// Errors: as above, and InvalidArgument where the model cannot infill.
Result<LlamaPrompts> read_llama_infill(const Fields& body, const ServedModel& model, const RequestContext& context);

}  // namespace realizar::server
