// Any bytes as the body of a chat completion, and of the APIs that are read as one: parsed, its fields read, its
// messages rendered and tokenized. What must hold: an error names what is wrong; what is taken is within bounds and can
// be written as JSON again; both readers of a body see the same model.
#include <nlohmann/json.hpp>

#include "bundled_rig.h"
#include "server/call/chat_prompt.h"
#include "server/call/chat_tools.h"
#include "server/call/request_fields.h"
#include "server/dialects/ollama/ollama.h"
#include "server/dialects/openai/legacy_functions.h"
#include "server/dialects/responses/response_input.h"
#include "server/models/answer_form.h"
#include "server/models/stored_messages.h"

using namespace realizar;
using namespace realizar::server;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string peeked(text);
  const auto name = peek_model_name(peeked);
  require(peeked == text);
  const auto body = parse_json(text, {1024, 8192});
  if (!body.ok()) {
    require(!body.error().message.empty());
    return 0;
  }
  require(parse_json(dump(*body)).ok());
  if (!body->is_object()) return 0;
  Fields named(*body);
  require(named.text("model").value_or("") == (name.ok() ? *name : "") && named.status().ok() == name.ok());

  const auto fields = read_generation_fields(named, rig().model(), rig().context);
  if (fields.ok()) {
    require(fields->n >= 1 && fields->n <= 128);
    require(fields->request.sampling.temperature >= 0);
  } else {
    require(!fields.error().message.empty());
  }
  const auto form = read_answer_form(*body);
  require(form.ok() || !form.error().message.empty());
  const auto tools = with_tools(*body);
  require(!tools.ok() || parse_json(dump(*tools)).ok());
  Fields ollama(*body);
  const auto request = read_ollama_request(ollama, rig().model(), rig().context);
  require(request.ok() ? request->chat.is_object() : !request.error().message.empty());
  if (const Json* messages = ollama.array("messages")) {
    const auto read = read_ollama_messages(*messages);
    require(read.ok() ? read->size() == messages->size() : !read.error().message.empty());
  }
  Fields responses(*body);
  const auto asked = chat_of_response(responses, *rig().context.responses, 1);
  if (asked.ok()) {
    Fields mapped(asked->body);
    const auto tools_read = read_chat_tools(mapped);
    require(tools_read.ok() || !tools_read.error().message.empty());
  } else {
    require(!asked.error().message.empty());
  }
  Fields chat(*body);
  const auto prompt = read_chat_prompt(chat, rig().model());
  require(prompt.ok() ? !prompt->text.empty() : !prompt.error().message.empty());
  return 0;
}
