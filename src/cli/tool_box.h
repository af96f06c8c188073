// The tools of the configured MCP servers in a chat: what the model is told about them, and their calls, each permitted
// by the user.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/conversation.h"
#include "cli/generation.h"
#include "cli/line_editor.h"
#include "cli/mcp_flags.h"
#include "cli/writer.h"
#include "realizar/engine.h"

namespace realizar::cli {

// The user who decides about calls, and sees them.
struct Person {
  int side;           // the descriptor for display
  bool json = false;  // standard output gets events for calls and results
  // Reads a line in answer to a question; empty: nobody can be asked.
  std::function<LineStatus(const std::string& question, std::string& line)> ask = {};
};

class ToolBox {
 public:
  // Lists the tools of every configured server. A server that fails is an error if `wants_all`, else it is skipped with
  // a line on standard error, like tools that violate the protocol. Errors: those of the list and of mcp::Client;
  // InvalidArgument if a name in --mcp-allow or --tool-choice does not exist.
  static Result<std::unique_ptr<ToolBox>> open(const ToolFlags& flags, bool wants_all);
  // Ends the servers' sessions.
  ~ToolBox();
  ToolBox(const ToolBox&) = delete;
  ToolBox& operator=(const ToolBox&) = delete;

  // In the format of OpenAI's API; null if the model must not call any.
  const mcp::Json& tools() const { return tools_json_; }
  // Tools of which the model must call one before its first answer; null: not required.
  const mcp::Json& required() const { return required_json_; }
  // For /tools: printable.
  std::string listing() const;

  // Shows the call, asks for permission, makes it and shows its result. A tool may be called without its server's name
  // if only one server has a tool of that name. Failures and denials are results too, which tell the model about them.
  // Errors: Cancelled, by Ctrl-C.
  Result<mcp::ToolResult> run(const ToolCall& call, const Person& person);

 private:
  struct Entry {
    mcp::Tool tool;
    mcp::Client* server;
  };

  ToolBox() = default;
  Status add_server(std::unique_ptr<mcp::Client> server, bool wants_all);
  Status allow(const std::string& name);
  Status choose(const std::string& choice);
  // Like mcp::find_tool; null: none.
  const Entry* find(const std::string& name) const;
  std::vector<const mcp::Tool*> all_tools() const;
  Result<bool> may_run(const Entry& entry, const Person& person);

  std::vector<std::unique_ptr<mcp::Client>> servers_;
  std::vector<Entry> entries_;
  std::set<std::string> allowed_;  // call names
  mcp::Json tools_json_, required_json_;
};

// Returns the prompt for the current conversation.
using MakePrompt = std::function<Result<Prompt>()>;

// Answers a conversation's last question, with the model's tool calls on the way, and adds every turn to the
// conversation. `tools`: null if there are none. A model that keeps calling tools gets 16
// rounds. Ctrl-C ends the answer, or the current call. Errors: those of the prompt and of the model; the conversation
// may then end with a part of the answer's turns.
Result<Answer> answer_question(Writer& writer, Conversation& conversation, const MakePrompt& make_prompt,
                               const AnswerOptions& options, ToolBox* tools, const Person& person);

}  // namespace realizar::cli
