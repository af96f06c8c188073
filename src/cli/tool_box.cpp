#include "cli/tool_box.h"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "base/utf8.h"
#include "cli/generation.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

constexpr size_t kMaxShownLines = 8, kMaxShownBytes = 800;  // of a result, on screen
constexpr size_t kMaxShownDescription = 100;

void show(const Person& person, const std::string& text, Style style = Style::kPlain) {
  const std::string line = styled(text, style, person.side) + '\n';
  if (person.side == STDOUT_FILENO) {
    print(line);
  } else {
    std::fputs(line.c_str(), stderr);
  }
}

void show_event(const Person& person, const mcp::Json& event) {
  if (person.json) print_model_text(json_text(event) + '\n');
}

mcp::Json result_event(const ToolCall& call, const mcp::ToolResult& result) {
  return {{"type", "tool_result"}, {"name", call.name}, {"text", result.text}, {"is_error", result.is_error}};
}

// The beginning of a result, and its total size.
std::string beginning(const std::string& text) {
  size_t end = 0;
  for (size_t n_lines = 0; n_lines < kMaxShownLines && end < text.size(); ++n_lines) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  end = std::min(end, kMaxShownBytes);
  while (end < text.size() && end > 0 && continues_character(text[end])) --end;
  std::string shown = printable(text.substr(0, end), Lines::kMany);
  while (shown.ends_with('\n')) shown.pop_back();
  return end == text.size() ? shown : fmt::format("{}\n... ({} bytes)", shown, text.size());
}

// While waiting for a server, Ctrl-C ends the wait.
template <class F>
auto while_waiting(const std::string& what, F f) {
  std::atomic<bool> is_interrupted{false};
  const InterruptScope interrupt(is_interrupted);
  const Spinner spinner(what, obeys_escapes(STDERR_FILENO));
  return f(&is_interrupted);
}

constexpr int kMaxRounds = 16;

AnswerOptions with_tools(const AnswerOptions& options, const ToolBox& tools, bool is_first) {
  AnswerOptions own = options;
  if (tools.tools().is_null()) return own;
  own.tools_json = json_text(tools.tools());
  if (is_first && !tools.required().is_null()) own.required_tools_json = json_text(tools.required());
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

Result<std::unique_ptr<ToolBox>> ToolBox::open(const ToolFlags& flags, bool wants_all) {
  RZ_TRY(const mcp::ServerList list, flags.mcp.read());
  std::unique_ptr<ToolBox> box(new ToolBox());
  for (const mcp::ServerSource& source : list.servers) {
    RZ_CHECK_OK(box->add_server(std::make_unique<mcp::Client>(source, flags.mcp.client_options()), wants_all));
  }
  for (const std::string& name : flags.allowed) RZ_CHECK_OK(box->allow(name));
  RZ_CHECK_OK(box->choose(flags.choice));
  return box;
}

ToolBox::~ToolBox() {
  for (const auto& server : servers_) server->close();
}

Status ToolBox::add_server(std::unique_ptr<mcp::Client> server, bool wants_all) {
  const auto list = while_waiting("asking " + server->name() + " for its tools",
                                  [&](const std::atomic<bool>* cancelled) { return server->list_tools(cancelled); });
  if (!list.ok()) {
    if (wants_all || list.error().code == ErrorCode::kCancelled) return list.error();
    warn(list.error().message + "; the chat continues without its tools");
    return {};
  }
  for (const std::string& note : list->notes) warn(note);
  if (list->tools.empty()) warn("the MCP server '" + server->name() + "' has no tools");
  for (const mcp::Tool& tool : list->tools) entries_.push_back({tool, server.get()});
  servers_.push_back(std::move(server));
  return {};
}

Status ToolBox::allow(const std::string& name) {
  for (const Entry& entry : entries_) {
    if (entry.server->name() == name) allowed_.insert(entry.tool.call_name);
  }
  if (std::ranges::any_of(servers_, [&](const auto& server) { return server->name() == name; })) return {};
  if (const Entry* entry = find(name)) {
    allowed_.insert(entry->tool.call_name);
    return {};
  }
  return invalid_argument("--mcp-allow " + name + ": no listed server and none of their tools has this name",
                          "mcp_allow");
}

Status ToolBox::choose(const std::string& choice) {
  std::vector<mcp::Tool> all;
  for (const Entry& entry : entries_) all.push_back(entry.tool);
  if (choice == "none" || all.empty()) return {};
  tools_json_ = mcp::tools_json(all);
  if (choice == "auto") return {};
  if (choice != "required") {
    const Entry* entry = find(choice);
    if (entry == nullptr) return invalid_argument("--tool-choice " + choice + ": there is no such tool", "tool_choice");
    all = {entry->tool};
  }
  required_json_ = mcp::tools_json(all);
  return {};
}

const ToolBox::Entry* ToolBox::find(const std::string& name) const {
  const size_t idx = mcp::find_tool(all_tools(), name);
  return idx == entries_.size() ? nullptr : &entries_[idx];
}

std::vector<const mcp::Tool*> ToolBox::all_tools() const {
  std::vector<const mcp::Tool*> tools;
  for (const Entry& entry : entries_) tools.push_back(&entry.tool);
  return tools;
}

std::string ToolBox::listing() const {
  if (entries_.empty()) return "There are no tools.\n";
  std::string text;
  for (const Entry& entry : entries_) {
    const std::string& description = entry.tool.description;
    const std::string line = shown(description.substr(0, description.find('\n')), kMaxShownDescription);
    const char* mark = allowed_.contains(entry.tool.call_name) ? " (runs without asking)" : "";
    text += fmt::format("{}{}{}{}\n", entry.tool.call_name, mark, line.empty() ? "" : ": ", line);
  }
  return text;
}

// Input typed before the question is shown is not an answer to it.
Result<bool> ToolBox::may_run(const Entry& entry, const Person& person) {
  if (allowed_.contains(entry.tool.call_name)) return true;
  if (!person.ask) {
    show(person, fmt::format("(not run: there is no one to ask here; --mcp-allow {} allows it)", entry.tool.call_name));
    return false;
  }
  const HeldInterrupt held;
  ::tcflush(STDIN_FILENO, TCIFLUSH);
  while (true) {
    std::string line;
    if (person.ask("Run it? [y]es, [n]o, [a]lways in this chat: ", line) != LineStatus::kLine) {
      return Error{ErrorCode::kCancelled, "nobody allowed the call", ""};
    }
    if (line == "y" || line == "yes") return true;
    if (line == "n" || line == "no") return false;
    if (line == "a" || line == "always") return allowed_.insert(entry.tool.call_name).second;
  }
}

Result<mcp::ToolResult> ToolBox::run(const ToolCall& call, const Person& person) {
  const Entry* entry = find(call.name);
  if (entry == nullptr) {
    const mcp::ToolResult result = mcp::failed_call(mcp::no_such_tool(all_tools(), call.name));
    warn("the model called " + printable(call.name) + ", a tool that does not exist, and gets an error");
    show_event(person, result_event(call, result));
    return result;
  }
  const auto arguments = mcp::parse_json(call.arguments_json.empty() ? "{}" : call.arguments_json);
  if (!arguments.ok() || !arguments->is_object()) return mcp::failed_call("its arguments are not a JSON object");
  show(person, fmt::format("{} of {} is called with:", entry->tool.name, entry->server->name()), Style::kBold);
  show(person, printable(json_text(*arguments, 2), Lines::kMany));
  RZ_TRY(const bool is_allowed, may_run(*entry, person));
  if (!is_allowed) return mcp::failed_call("the person did not allow it");
  auto result = while_waiting("waiting for " + call.name, [&](const std::atomic<bool>* cancelled) {
    return entry->server->call_tool(entry->tool.name, *arguments, cancelled);
  });
  if (!result.ok() && result.error().code == ErrorCode::kCancelled) return result.error();
  if (!result.ok()) result = mcp::failed_call(result.error().message);
  show(person, beginning(result->text), result->is_error ? Style::kRed : Style::kDim);
  show_event(person, result_event(call, *result));
  return result;
}

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
