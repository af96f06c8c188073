// POST /tokenize, /detokenize, /apply-template and /v1/chat/completions/input_tokens: the text side of a model, without
// generation.
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/openai/chat_fields.h"
#include "text/utf8.h"

namespace realizar::server {
namespace {

// A token's text, or its bytes if these are not whole characters.
Json piece_of(TokenId id, const ServedModel& model) {
  const std::string bytes = model.tokenizer().token_bytes(id, {.skip_special = false});
  if (text::is_valid_utf8(bytes)) return bytes;
  Json list = Json::array();
  for (const char c : bytes) list.push_back(static_cast<uint8_t>(c));
  return list;
}

Result<ChatPrompt> read_prompt_of_chat(Fields& body, const ServedModel& model, const RequestContext& context) {
  OpenAiChat asked(model, context);
  RZ_CHECK_OK(read_function_fields(body, asked));
  RZ_CHECK_OK(read_openai_chat(body, asked));
  return chat_prompt(asked.chat, model);
}

// {prompt, add_special_tokens} from vLLM, {content, add_special} from llama.cpp, or {messages, tools}. By default a
// prompt gets special tokens, and a content does not.
Result<Prepared> tokenize(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  std::vector<TokenId> tokens;
  if (body.json().contains("messages")) {
    RZ_TRY(ChatPrompt prompt, read_prompt_of_chat(body, *model, context));
    tokens = std::move(prompt.tokens);
  } else {
    auto text = body.text("prompt");
    const bool is_content = !text;
    if (is_content) text = body.text("content");
    const auto add_special = body.boolean("add_special_tokens");
    const auto add_special_short = body.boolean("add_special");
    const bool parse_special = body.boolean("parse_special").value_or(true);
    if (!text) body.fail("prompt", "expected a string");
    if (!body.status().ok()) return body.status().error();
    const bool adds = add_special.value_or(add_special_short.value_or(!is_content));
    RZ_CHECK_OK(check_text_length({*text}, "prompt", *model));
    tokens = model->tokenizer().encode(*text, {.add_special = adds, .parse_special = parse_special});
  }
  const bool with_pieces = body.boolean("with_pieces").value_or(false);
  if (!body.status().ok()) return body.status().error();
  Json ids = Json::array();
  for (const TokenId id : tokens) {
    if (!with_pieces) ids.push_back(to_index(id));
    if (with_pieces) ids.push_back({{"id", to_index(id)}, {"piece", piece_of(id, *model)}});
  }
  return prepared(Json{{"tokens", ids}, {"count", ids.size()}, {"max_model_len", model->loaded->info.n_ctx}});
}

Result<Prepared> detokenize(Fields& body, const ServedModelPtr& model, const RequestContext&) {
  const Json* ids = body.array("tokens");
  const bool skips = body.boolean("skip_special_tokens").value_or(false);
  if (ids == nullptr) body.fail("tokens", "expected an array of token ids");
  if (!body.status().ok()) return body.status().error();
  std::vector<TokenId> tokens;
  for (const Json& id : *ids) {
    const auto token = token_id_of(id);
    const bool is_known = token && *token < static_cast<int64_t>(model->tokenizer().n_vocab());
    if (!is_known)
      return invalid_argument("tokens: expected token ids of this model, actual " + shown(dump(id)), "tokens");
    tokens.push_back(TokenId{*token});
  }
  const std::string text = model->tokenizer().decode(tokens, {.skip_special = skips});
  return prepared(Json{{"prompt", text}, {"content", text}});
}

// Whether the tokenizer itself adds the token that begins a text in the template.
bool begins_texts(const ServedModel& model) {
  const auto begun = model.tokenizer().encode("", {.add_special = true});
  return !begun.empty() && begun.front() == model.tokenizer().bos();
}

// The prompt is for /completion, whose tokenizer may prepend another bos.
Result<Prepared> apply_template(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(const ChatPrompt prompt, read_prompt_of_chat(body, *model, context));
  const std::string& bos = model->loaded->template_source.bos_token;
  const bool is_twice = !bos.empty() && prompt.text.starts_with(bos) && begins_texts(*model);
  return prepared(Json{{"prompt", is_twice ? prompt.text.substr(bos.size()) : prompt.text}});
}

Result<Prepared> count_input_tokens(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(const ChatPrompt prompt, read_prompt_of_chat(body, *model, context));
  return prepared(Json{{"object", "response.input_tokens"}, {"input_tokens", prompt.tokens.size()}});
}

constexpr const char* kTemplateFields[] = {"model"};
constexpr const char* kTokenizeFields[] = {"model",       "prompt",        "content",    "add_special_tokens",
                                           "add_special", "parse_special", "with_pieces"};
constexpr const char* kDetokenizeFields[] = {"model", "tokens", "skip_special_tokens"};

}  // namespace

const Protocol kChatTokens{.read = count_input_tokens,
                           .fields = fields_of<kTemplateFields, function_fields, openai_chat_fields>};
const Protocol kTokenize{.read = tokenize, .fields = fields_of<kTokenizeFields, function_fields, openai_chat_fields>};
const Protocol kDetokenize{.read = detokenize, .fields = fields_of<kDetokenizeFields>};
const Protocol kApplyTemplate{.read = apply_template,
                              .fields = fields_of<kTemplateFields, function_fields, openai_chat_fields>};

}  // namespace realizar::server
