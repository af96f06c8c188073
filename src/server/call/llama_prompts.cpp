#include "server/call/llama_prompts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/models/infill.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxLlamaPrompts = 128;

Error not_a_prompt() {
  return wrong("prompt", "expected a string, an object with a prompt_string, token ids, or a list of these");
}

Result<std::string> read_prompt_object(const Json& prompt) {
  const auto media = prompt.find("multimodal_data");
  if (media != prompt.end() && !media->empty()) {
    return unsupported("prompt.multimodal_data: this model takes text only", "prompt.multimodal_data");
  }
  const auto text = prompt.find("prompt_string");
  if (text == prompt.end() || !text->is_string()) return wrong("prompt.prompt_string", "expected a string");
  return text->get<std::string>();
}

Status append_text(const std::string& text, const ServedModel& model, std::vector<TokenId>& tokens) {
  RZ_CHECK_OK(check_text_length({text}, "prompt", model));
  const auto added = model.tokenizer().encode(text, {.add_special = tokens.empty()});
  tokens.insert(tokens.end(), added.begin(), added.end());
  return {};
}

Result<std::vector<TokenId>> read_sequence(const Json& parts, const ServedModel& model) {
  std::vector<TokenId> tokens;
  for (const Json& part : parts) {
    const auto id = token_id_of(part);
    if (!id && !part.is_string()) return not_a_prompt();
    if (id) tokens.push_back(TokenId{*id});
    if (!id) RZ_CHECK_OK(append_text(part.get_ref<const std::string&>(), model, tokens));
  }
  return tokens;
}

Result<std::vector<TokenId>> read_llama_prompt(const Json& prompt, const ServedModel& model,
                                               const RequestContext& context) {
  std::vector<TokenId> tokens;
  if (prompt.is_array()) {
    RZ_TRY(tokens, read_sequence(prompt, model));
  } else {
    if (!prompt.is_string() && !prompt.is_object()) return not_a_prompt();
    RZ_TRY(const std::string text,
           prompt.is_object() ? read_prompt_object(prompt) : Result<std::string>(prompt.get<std::string>()));
    RZ_CHECK_OK(append_text(text, model, tokens));
  }
  if (tokens.empty()) return wrong("prompt", "expected at least one token");
  RZ_CHECK_OK(check_prompt_length(tokens.size(), "prompt", model, context));
  return tokens;
}

Result<std::vector<InfillFile>> read_infill_files(Fields& fields) {
  std::vector<InfillFile> files;
  const Json* given = fields.array("input_extra");
  if (!fields.status().ok()) return fields.status().error();
  if (given == nullptr) return files;
  for (const Json& file : *given) {
    const bool is_file =
        file.is_object() && file.value("filename", Json("")).is_string() && file.value("text", Json()).is_string();
    if (!is_file) return wrong("input_extra", "expected a list of objects with filename and text");
    files.push_back({file.value("filename", ""), file.value("text", "")});
  }
  return files;
}

}  // namespace

Result<LlamaPrompts> read_llama_prompts(const Fields& body, const ServedModel& model, const RequestContext& context) {
  const Json* prompt = body.any("prompt");
  if (prompt == nullptr) return not_a_prompt();
  LlamaPrompts read;
  const auto is_number = [](const Json& part) { return part.is_number(); };
  read.is_list = prompt->is_array() && !prompt->empty() && std::ranges::none_of(*prompt, is_number);
  if (!read.is_list) {
    RZ_TRY(auto tokens, read_llama_prompt(*prompt, model, context));
    read.prompts.push_back(std::move(tokens));
    return read;
  }
  if (prompt->size() > kMaxLlamaPrompts) return wrong("prompt", "expected at most 128 prompts");
  for (size_t i = 0; i < prompt->size(); ++i) {
    auto tokens = read_llama_prompt((*prompt)[i], model, context);
    if (!tokens.ok()) return of_item(tokens.error(), "prompt", i);
    read.prompts.push_back(std::move(*tokens));
  }
  return read;
}

Result<LlamaPrompts> read_llama_infill(const Fields& body, const ServedModel& model, const RequestContext& context) {
  Fields fields(body.json());
  const auto before = fields.text("input_prefix"), after = fields.text("input_suffix");
  const std::string begun = fields.text("prompt").value_or("");
  if (!before) fields.fail("input_prefix", "expected a string");
  if (!after) fields.fail("input_suffix", "expected a string");
  if (!fields.status().ok()) return fields.status().error();
  RZ_TRY(const auto files, read_infill_files(fields));
  std::vector<std::string_view> texts{*before, *after, begun};
  for (const InfillFile& file : files) texts.insert(texts.end(), {file.name, file.text});
  RZ_CHECK_OK(check_text_length(texts, "input_prefix", model));
  auto tokens = infill_prompt(model.tokenizer(), *before, *after, files, begun);
  if (!tokens) return unsupported("input_prefix: this model cannot infill", "input_prefix");
  RZ_CHECK_OK(check_prompt_length(tokens->size(), "input_prefix", model, context));
  LlamaPrompts read;
  read.prompts.push_back(std::move(*tokens));
  return read;
}

}  // namespace realizar::server
