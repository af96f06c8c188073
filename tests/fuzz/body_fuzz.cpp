// Any bytes as the body of a chat completion, and of other APIs: parsed, its fields read, its
// messages rendered and tokenized. Invariants: an error names its cause; an accepted body is within limits and can be
// written as JSON again; both readers of a body see the same model.
#include <nlohmann/json.hpp>

#include "bundled_rig.h"
#include "server/call/chat_prompt.h"
#include "server/call/request_fields.h"
#include "server/dialects/ollama/ollama_request.h"
#include "server/dialects/openai/chat_fields.h"
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

  GenerationReading asked(rig().model(), rig().context);
  Status fields = read_generation_fields(named, asked);
  if (fields.ok()) fields = asked.finish_generation();
  if (fields.ok()) {
    require(asked.generation.n >= 1 && asked.generation.n <= 128);
    require(asked.generation.request.sampling.temperature >= 0);
  } else {
    require(!fields.error().message.empty());
  }
  const auto form = read_answer_form(*body);
  require(form.ok() || !form.error().message.empty());
  Fields ollama(*body);
  OllamaRequest request(rig().model(), rig().context);
  const Status ollama_status = read_ollama_request(ollama, request);
  require(ollama_status.ok() || !ollama_status.error().message.empty());
  if (const Json* messages = ollama.array("messages")) {
    const auto read = read_ollama_messages(*messages);
    require(read.ok() ? read->size() == messages->size() : !read.error().message.empty());
  }
  Fields responses(*body);
  ResponseReading response(rig().model(), rig().context);
  const Status response_status = read_response_input(responses, response);
  require(response_status.ok() || !response_status.error().message.empty());
  Fields body_fields(*body);
  OpenAiChat chat(rig().model(), rig().context);
  const Status status = read_openai_chat(body_fields, chat);
  const auto prompt = status.ok() ? chat_prompt(chat.chat, rig().model()) : Result<ChatPrompt>(status.error());
  require(prompt.ok() ? !prompt->text.empty() : !prompt.error().message.empty());
  return 0;
}
