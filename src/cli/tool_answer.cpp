#include "cli/tool_answer.h"

#include "base/printable.h"
#include "base/try.h"
#include "cli/output.h"
#include "realizar/constraint.h"

namespace realizar::cli {
namespace {

constexpr int kMaxRounds = 16;

Result<AnswerOptions> with_tools(const LanguageModel& model, const AnswerOptions& options, const ToolBox& tools,
                                 std::span<const TokenId> prompt, bool is_first) {
  AnswerOptions own = options;
  if (tools.tools().is_null()) return own;
  own.tools_json = mcp::dump(tools.tools());
  if (!is_first || tools.required().is_null()) return own;
  RZ_TRY(own.constraint, tool_calls_constraint(model, mcp::dump(tools.required()),
                                               ToolCallOptions{.parallel = false, .prompt = prompt}));
  return own;
}

// False where the answer ends with these calls.
bool run_calls(const std::vector<ToolCall>& calls, Conversation& conversation, ToolBox& tools, const Person& person) {
  bool goes_on = true;
  for (size_t i = 0; i < calls.size(); ++i) {
    auto result = goes_on ? tools.run(calls[i], person) : Error{ErrorCode::kCancelled, "", ""};
    goes_on = result.ok();
    conversation.add_tool_result(i, result.ok() ? result->text : "The call was cancelled.");
  }
  return goes_on;
}

}  // namespace

Result<Answer> answer_question(LanguageModel& model, Conversation& conversation, const MakePrompt& make_prompt,
                               const AnswerOptions& options, ToolBox* tools, const Person& person) {
  for (int round = 1;; ++round) {
    RZ_TRY(auto prompt, make_prompt());
    AnswerOptions own = options;
    if (tools != nullptr) {
      RZ_TRY(own, with_tools(model, options, *tools, prompt, round == 1));
    }
    RZ_TRY(Answer answer, stream_answer(model, std::move(prompt), own));
    TextGeneration& generation = answer.generation;
    const bool is_cut = answer.interrupted || answer.output_failed ||
                        generation.finish_reason == FinishReason::kLength ||
                        generation.finish_reason == FinishReason::kContext;
    // Of a call that was cut nobody knows what it would have been.
    if (is_cut) generation.calls.clear();
    conversation.answer(generation);
    if (generation.calls.empty()) return answer;
    if (round == kMaxRounds) {
      warn("the model was still calling tools after 16 rounds; its answer ends here");
      for (size_t i = 0; i < generation.calls.size(); ++i) conversation.add_tool_result(i, "The call was not made.");
      return answer;
    }
    answer.interrupted = !run_calls(generation.calls, conversation, *tools, person);
    if (answer.interrupted) return answer;
  }
}

Status check_knows_tools(const LanguageModel& model, const mcp::Json& tools) {
  if (tools.is_null()) return {};
  const mcp::Json message{{"role", "user"}, {"content", "?"}};
  mcp::Json variables{{"messages", mcp::Json::array({message})}};
  RZ_TRY(const auto without, model.apply_chat_template(mcp::dump(variables)));
  variables["tools"] = tools;
  RZ_TRY(const auto with, model.apply_chat_template(mcp::dump(variables)));
  if (with != without) return {};
  return unsupported("the chat template of " + printable(model.info().path) +
                         " tells the model nothing of tools, so it cannot call those of MCP servers",
                     "mcp");
}

}  // namespace realizar::cli
