// POST /tokenize, /detokenize and /apply-template: the text side of a model, without generating.
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "server/chat_prompt.h"
#include "server/context.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

Prepared answer(const Json& json) {
  return HttpResponse{200, "application/json", dump(json), {}};
}

}  // namespace

// {prompt or content, add_special_tokens, parse_special} or {messages, tools}, as llama.cpp and vLLM have it.
Result<Prepared> prepare_tokenize(const Json& body, const ServedModelPtr& model, Call&) {
  Fields fields(body);
  std::vector<TokenId> tokens;
  if (body.contains("messages")) {
    RZ_TRY(ChatPrompt prompt, read_chat_prompt(body, *model));
    tokens = std::move(prompt.tokens);
  } else {
    auto text = fields.text("prompt");
    if (!text) text = fields.text("content");
    const auto add_special = fields.boolean("add_special_tokens");
    const auto add_special_short = fields.boolean("add_special");
    const bool parse_special = fields.boolean("parse_special").value_or(true);
    if (!text) fields.fail("prompt", "expected a string");
    if (!fields.status().ok()) return fields.status().error();
    const bool adds = add_special.value_or(add_special_short.value_or(true));
    RZ_CHECK_OK(check_text_length(text->size(), "prompt", *model));
    tokens = model->tokenizer().encode(*text, {.add_special = adds, .parse_special = parse_special});
  }
  Json ids = Json::array();
  for (const TokenId id : tokens) ids.push_back(to_index(id));
  return answer({{"tokens", ids}, {"count", ids.size()}, {"max_model_len", model->loaded->info.n_ctx}});
}

Result<Prepared> prepare_detokenize(const Json& body, const ServedModelPtr& model, Call&) {
  Fields fields(body);
  const Json* ids = fields.array("tokens");
  const bool skips = fields.boolean("skip_special_tokens").value_or(false);
  if (ids == nullptr) fields.fail("tokens", "expected an array of token ids");
  if (!fields.status().ok()) return fields.status().error();
  std::vector<TokenId> tokens;
  for (const Json& id : *ids) {
    const auto token = token_id_of(id);
    const bool is_known = token && *token < static_cast<int64_t>(model->tokenizer().n_vocab());
    if (!is_known)
      return invalid_argument("tokens: expected token ids of this model, actual " + shown(dump(id)), "tokens");
    tokens.push_back(TokenId{*token});
  }
  const std::string text = model->tokenizer().decode(tokens, {.skip_special = skips});
  return answer({{"prompt", text}, {"content", text}});
}

Result<Prepared> prepare_apply_template(const Json& body, const ServedModelPtr& model, Call&) {
  RZ_TRY(const ChatPrompt prompt, read_chat_prompt(body, *model));
  return answer({{"prompt", prompt.text}});
}

}  // namespace realizar::server
