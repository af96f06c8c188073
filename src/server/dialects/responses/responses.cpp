// POST /v1/responses and POST /v1/responses/input_tokens (https://platform.openai.com/docs/api-reference/responses).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/adapter_fields.h"
#include "server/call/chat_request.h"
#include "server/call/logprobs.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/call/truncation.h"
#include "server/dialects/responses/response_input.h"
#include "server/dialects/responses/response_items.h"
#include "server/dialects/responses/response_speller.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxMetadata = 16, kMaxMetadataKeyBytes = 64, kMaxMetadataBytes = 512;

// Fields of the answer that are there only where they are asked for. Two of OpenAI's mean something here.
constexpr std::string_view kLogprobs = "message.output_text.logprobs", kReasoning = "reasoning.encrypted_content";
constexpr std::array<std::string_view, 8> kIncludable = {"code_interpreter_call.outputs",
                                                         "computer_call_output.output.image_url",
                                                         "file_search_call.results",
                                                         "message.input_image.image_url",
                                                         kLogprobs,
                                                         kReasoning,
                                                         "web_search_call.action.sources",
                                                         "web_search_call.results"};

// What is asked of the answer, apart from the conversation.
struct ResponseOptions {
  bool stores = true, in_background = false, truncates = false;
  bool includes_logprobs = false, includes_reasoning = false;
  uint32_t n_logprobs = 0;
};

Status read_include(Fields& body, ResponseOptions& options) {
  const Json* include = body.array("include");
  for (size_t i = 0; include != nullptr && i < include->size(); ++i) {
    const Json& one = (*include)[i];
    const bool is_known =
        one.is_string() && std::ranges::find(kIncludable, one.get_ref<const std::string&>()) != kIncludable.end();
    if (!is_known) {
      return wrong(fmt::format("include[{}]", i),
                   fmt::format("expected one of {}, actual {}", fmt::join(kIncludable, ", "), shown(dump(one))));
    }
    options.includes_logprobs = options.includes_logprobs || one == kLogprobs;
    options.includes_reasoning = options.includes_reasoning || one == kReasoning;
  }
  options.n_logprobs = static_cast<uint32_t>(body.integer("top_logprobs", 0, kMaxTopLogprobs).value_or(0));
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

void check_metadata(Fields& body) {
  const Json* metadata = body.object("metadata");
  if (metadata == nullptr || is_metadata(*metadata)) return;
  body.fail("metadata", fmt::format("expected at most {} members with names of up to {} bytes and strings of up to {}",
                                    kMaxMetadata, kMaxMetadataKeyBytes, kMaxMetadataBytes));
}

Result<ResponseOptions> read_response_options(Fields& body) {
  ResponseOptions options;
  RZ_CHECK_OK(read_include(body, options));
  check_metadata(body);
  options.stores = body.boolean("store").value_or(true);
  options.in_background = body.boolean("background").value_or(false);
  if (options.in_background && !options.stores) body.fail("background", "needs store to be true");
  const auto truncation = body.text("truncation");
  if (truncation && truncation != "auto" && truncation != "disabled") {
    body.fail("truncation", "expected auto or disabled");
  }
  options.truncates = truncation == "auto";
  // Only calls of hosted tools are counted, and there are none.
  body.integer("max_tool_calls", 1, INT32_MAX);
  if (!body.status().ok()) return body.status().error();
  return options;
}

Result<ChatRequest> read_response_chat(const Json& chat, const ResponseOptions& options, const ServedModel& model,
                                       const RequestContext& context) {
  RZ_TRY(ChatRequest read, options.truncates ? read_newest_messages(chat, "input", model, context)
                                             : read_whole_chat(chat, "input", model, context));
  Request& request = read.generation.request;
  request.logprobs = options.includes_logprobs;
  if (request.logprobs) request.n_logprobs = options.n_logprobs;
  return read;
}

Result<CompletionPlan> plan_response(ResponseChat& asked, Fields& body, const ServedModel& model,
                                     const RequestContext& context) {
  RZ_TRY(const ResponseOptions options, read_response_options(body));
  RZ_TRY(ChatRequest chat, read_response_chat(asked.body, options, model, context));
  ResponseTelling telling{.id = random_id("resp_"),
                          .model = told_name(context, model),
                          .token = token_text(model.tokenizer()),
                          .echoed = response_echo(body.json(), chat.generation.request, options.stores),
                          .tool_names = std::move(asked.tool_names),
                          .custom_tools = chat.prompt.custom_tools,
                          .shelf = {},
                          .tells_reasoning = options.includes_reasoning,
                          .in_background = options.in_background,
                          .extras = read_answer_extras(body),
                          .n_prompt = chat.prompt.tokens.size()};
  if (!body.status().ok()) return body.status().error();
  const bool tells_progress = telling.extras.progress;
  if (options.stores) {
    std::vector<std::string> input_ids = complete_items(asked.input);
    telling.shelf = ResponseShelf{context.responses, context.tenant, dump(asked.input), std::move(input_ids)};
  }
  CompletionPlan plan = plan_of(std::move(chat), model, context);
  plan.choice.content_tokens_only = options.includes_logprobs;
  plan.tells_progress = tells_progress;
  if (options.in_background) plan.background_id = telling.id;
  plan.speller = std::make_unique<ResponseSpeller>(std::move(telling));
  return plan;
}

Result<Prepared> read_response(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(ResponseChat asked, chat_of_response(body, *context.responses, context.tenant));
  auto plan = plan_response(asked, body, *model, context);
  if (!plan.ok()) return at_client_place(std::move(plan).error(), asked.places);
  return prepared(std::move(*plan));
}

// How many tokens the prompt of a response would have.
Result<Prepared> count_response(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(const ResponseChat asked, chat_of_response(body, *context.responses, context.tenant));
  Fields chat(asked.body);
  const auto prompt = read_chat_prompt(chat, *model);
  if (!prompt.ok()) return at_client_place(prompt.error(), asked.places);
  const Json counted{{"object", "response.input_tokens"}, {"input_tokens", prompt->tokens.size()}};
  return Prepared(HttpResponse{200, "application/json", dump(counted), {}});
}

}  // namespace

const Protocol kResponses{.read = read_response, .gives_text = true, .tells_limits = true, .terminator = ""};
const Protocol kResponseTokens{.read = count_response, .gives_text = true, .tells_limits = true};

}  // namespace realizar::server
