// POST /v1/responses and POST /v1/responses/input_tokens (https://platform.openai.com/docs/api-reference/responses).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/logprobs.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/responses/response_input.h"
#include "server/dialects/responses/response_items.h"
#include "server/dialects/responses/responses_writer.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxMetadata = 16, kMaxMetadataKeyBytes = 64, kMaxMetadataBytes = 512;

// Parts of the answer that only appear on request. Two of OpenAI's have an effect here.
constexpr std::string_view kLogprobs = "message.output_text.logprobs", kReasoning = "reasoning.encrypted_content";
constexpr std::array<std::string_view, 8> kIncludable = {"code_interpreter_call.outputs",
                                                         "computer_call_output.output.image_url",
                                                         "file_search_call.results",
                                                         "message.input_image.image_url",
                                                         kLogprobs,
                                                         kReasoning,
                                                         "web_search_call.action.sources",
                                                         "web_search_call.results"};

struct ResponseOptions {
  bool stores = true, in_background = false, truncates = false;
  bool includes_logprobs = false, includes_reasoning = false;
  uint32_t n_logprobs = 0;
  AnswerExtras extras;
};

Status read_include(const Json& include, const char* name, ResponseOptions& into) {
  for (size_t i = 0; i < include.size(); ++i) {
    const Json& one = include[i];
    const bool is_known =
        one.is_string() && std::ranges::find(kIncludable, one.get_ref<const std::string&>()) != kIncludable.end();
    if (!is_known) {
      return wrong(fmt::format("{}[{}]", name, i),
                   fmt::format("expected one of {}, actual {}", fmt::join(kIncludable, ", "), shown(dump(one))));
    }
    into.includes_logprobs = into.includes_logprobs || one == kLogprobs;
    into.includes_reasoning = into.includes_reasoning || one == kReasoning;
  }
  return {};
}

bool is_metadata(const Json& metadata) {
  if (metadata.size() > kMaxMetadata) return false;
  for (const auto& [name, value] : metadata.items()) {
    const bool is_small = name.size() <= kMaxMetadataKeyBytes && value.is_string() &&
                          value.get_ref<const std::string&>().size() <= kMaxMetadataBytes;
    if (!is_small) return false;
  }
  return true;
}

Status check_metadata(Fields& metadata, ResponseOptions&) {
  if (is_metadata(metadata.json())) return {};
  return wrong("metadata",
               fmt::format("expected at most {} members with names of up to {} bytes and strings of up to {}",
                           kMaxMetadata, kMaxMetadataKeyBytes, kMaxMetadataBytes));
}

Status read_truncation(Fields& body, const char* name, ResponseOptions& into) {
  const auto truncation = body.text(name);
  if (truncation && truncation != "auto" && truncation != "disabled") {
    return body.wrong(name, "expected auto or disabled");
  }
  into.truncates = truncation == "auto";
  return body.status();
}

// Only calls of hosted tools count, and there are none.
Status check_max_tool_calls(Fields& body, const char* name, ResponseOptions&) {
  body.integer(name, 1, INT32_MAX);
  return body.status();
}

constexpr Field<ResponseOptions> kOptionFields[] = {
    {"include", of_list<read_include>},
    {"top_logprobs", take_whole<0, kMaxTopLogprobs, &ResponseOptions::n_logprobs>},
    {"metadata", of_object<check_metadata>},
    {"store", take_flag<&ResponseOptions::stores>},
    {"background", take_flag<&ResponseOptions::in_background>},
    {"truncation", read_truncation},
    {"max_tool_calls", check_max_tool_calls},
};

Status read_response_options(Fields& body, ResponseOptions& into) {
  RZ_CHECK_OK(read_fields(kOptionFields, body, into));
  if (into.in_background && !into.stores) return wrong("background", "needs store to be true");
  return read_answer_extras(body, into.extras);
}

KnownFields all_response_fields() {
  return known_in(kOptionFields, response_fields(), extra_fields());
}

// With truncation, drops as many of the oldest messages as needed to leave room for an answer.
Result<ChatPrompt> response_prompt(const ChatRequest& chat, bool truncates, const ServedModel& model,
                                   const RequestContext& context) {
  const auto render = [&](const ChatRequest& part) -> Result<ChatPrompt> {
    RZ_TRY(ChatPrompt prompt, chat_prompt(part, model));
    RZ_CHECK_OK(check_prompt_length(prompt.tokens.size(), part.messages_field.c_str(), model, context));
    return prompt;
  };
  const auto fits = [&](const Result<ChatPrompt>& prompt) {
    return prompt.ok() && prompt->tokens.size() < model.loaded->info.n_ctx;
  };
  auto whole = render(chat);
  const bool is_wrong = !whole.ok() && whole.error().code != ErrorCode::kContextLengthExceeded;
  if (!truncates || is_wrong || fits(whole)) return whole;
  // Instructions are always kept, and the rest never begins with a tool's result without its call.
  std::vector<size_t> firsts;
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    const ChatMessage& message = chat.messages[i];
    if (message.role != Role::kTool && !text::is_system(message)) firsts.push_back(i);
  }
  if (firsts.size() < 2) return whole;
  return fit_newest(
      firsts, [&](size_t first) { return render(newest_messages(chat, first, text::is_system)); }, fits);
}

Result<Prepared> read_response(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  ResponseReading asked(*model, context);
  ResponseOptions options;
  RZ_CHECK_OK(read_whole_response(body, asked));
  RZ_CHECK_OK(read_response_options(body, options));
  Request& request = asked.chat.generation.request;
  request.logprobs = options.includes_logprobs;
  if (request.logprobs) request.n_logprobs = options.n_logprobs;
  RZ_TRY(ChatPrompt prompt, response_prompt(asked.chat, options.truncates, *model, context));
  ResponseTelling telling{.id = random_id("resp_"),
                          .model = told_name(context, *model),
                          .token = token_text(model->tokenizer()),
                          .echoed = response_echo(body.json(), request, options.stores),
                          .tool_names = std::move(asked.tool_names),
                          .custom_tools = prompt.custom_tools,
                          .shelf = {},
                          .tells_reasoning = options.includes_reasoning,
                          .in_background = options.in_background,
                          .extras = options.extras,
                          .n_prompt = prompt.tokens.size()};
  if (options.stores) {
    std::vector<std::string> input_ids = complete_items(asked.input);
    telling.shelf = ResponseShelf{context.responses, context.tenant, dump(asked.input), std::move(input_ids)};
  }
  CompletionPlan plan = plan_of(std::move(asked.chat.generation), std::move(prompt), *model, context);
  plan.choice.content_tokens_only = options.includes_logprobs;
  plan.tells_progress = options.extras.progress;
  if (options.in_background) plan.background_id = telling.id;
  plan.writer = responses_writer(std::move(telling));
  return prepared(std::move(plan));
}

Result<Prepared> count_response(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  ResponseReading asked(*model, context);
  RZ_CHECK_OK(read_response_input(body, asked));
  RZ_TRY(const ChatPrompt prompt, chat_prompt(asked.chat, *model));
  return prepared(Json{{"object", "response.input_tokens"}, {"input_tokens", prompt.tokens.size()}});
}

}  // namespace

const Protocol kResponses{
    .read = read_response, .fields = all_response_fields, .gives_text = true, .tells_limits = true, .terminator = ""};
const Protocol kResponseTokens{
    .read = count_response, .fields = all_response_fields, .gives_text = true, .tells_limits = true};

}  // namespace realizar::server
