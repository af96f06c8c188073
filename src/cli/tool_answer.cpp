#include "cli/tool_answer.h"

#include "base/try.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

constexpr int kMaxRounds = 16;

AnswerOptions with_tools(const AnswerOptions& options, const ToolBox& tools, bool is_first) {
  AnswerOptions own = options;
  if (tools.tools().is_null()) return own;
  own.tools_json = mcp::dump(tools.tools());
  if (is_first && !tools.required().is_null()) own.required_tools_json = mcp::dump(tools.required());
  return own;
}

// False if the answer ends with these calls.
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

Result<Answer> answer_question(Writer& writer, Conversation& conversation, const MakePrompt& make_prompt,
                               const AnswerOptions& options, ToolBox* tools, const Person& person) {
  for (int round = 1;; ++round) {
    RZ_TRY(const Prompt prompt, make_prompt());
    const AnswerOptions own = tools == nullptr ? options : with_tools(options, *tools, round == 1);
    RZ_TRY(Answer answer, stream_answer(writer, prompt, own));
    TextGeneration& generation = answer.generation;
    const bool is_cut = answer.interrupted || answer.output_failed ||
                        generation.finish_reason == FinishReason::kLength ||
                        generation.finish_reason == FinishReason::kContext;
    // The rest of an incomplete call is unknown.
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

}  // namespace realizar::cli
