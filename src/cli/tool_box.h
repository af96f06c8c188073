// The tools of the listed MCP servers in one chat: what the model is told of them, and their calls, each of which a
// person has allowed.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/line_editor.h"
#include "cli/mcp_flags.h"
#include "realizar/engine.h"

namespace realizar::cli {

// Who is asked about calls, and shown them.
struct Person {
  int side;           // the descriptor of what is shown
  bool json = false;  // standard output gets events of calls and results
  // Reads a line after a question; empty: nobody can be asked.
  std::function<LineStatus(const std::string& question, std::string& line)> ask = {};
};

class ToolBox {
 public:
  // Asks every listed server for its tools. A server that fails is an error where `wants_all`, else it is left out with
  // a line on standard error, as are tools that break the protocol. Errors: those of the list and of mcp::Client;
  // InvalidArgument for a name of --mcp-allow or --tool-choice that nothing has.
  static Result<std::unique_ptr<ToolBox>> open(const ToolFlags& flags, bool wants_all);
  // Ends the servers' sessions.
  ~ToolBox();
  ToolBox(const ToolBox&) = delete;
  ToolBox& operator=(const ToolBox&) = delete;

  // As OpenAI's API has them; null where the model is to call none.
  const mcp::Json& tools() const { return tools_json_; }
  // Those of which the model must call one before its first answer; null: it need not.
  const mcp::Json& required() const { return required_json_; }
  // For /tools: printable.
  std::string listing() const;

  // Shows the call, asks about it, makes it and shows its result. A tool may be called without its server's name where
  // no other server has one of that name. What fails, or is not allowed, is a result too, which tells the model so.
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
  // As mcp::find_tool; null: there is none.
  const Entry* find(const std::string& name) const;
  std::vector<const mcp::Tool*> all_tools() const;
  Result<bool> may_run(const Entry& entry, const Person& person);

  std::vector<std::unique_ptr<mcp::Client>> servers_;
  std::vector<Entry> entries_;
  std::set<std::string> allowed_;  // call names
  mcp::Json tools_json_, required_json_;
};

}  // namespace realizar::cli
