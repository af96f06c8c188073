// Which MCP servers may be asked, and what a chat lets a model do with their tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "mcp/client.h"

namespace realizar::cli {

// --mcp, --mcp-config, --mcp-timeout-s.
struct McpFlags {
  void add_to(Flags flags);
  bool is_given() const { return !servers_.empty() || !config_.empty(); }
  // The list, with a line on standard error for what has no effect in it. Errors: those of mcp::add_server and
  // add_server_file.
  Result<mcp::ServerList> read() const;
  mcp::ClientOptions client_options() const;

 private:
  std::vector<std::string> servers_;  // NAME=URL
  std::string config_;
  uint32_t timeout_s_ = 60;
};

// The same, --mcp-allow and --tool-choice.
struct ToolFlags {
  McpFlags mcp;
  std::vector<std::string> allowed;  // tools and servers whose calls nobody is asked about
  std::string choice = "auto";

  void add_to(Flags flags);
  // What is wrong with them; empty: nothing.
  std::string complaint() const;
};

}  // namespace realizar::cli
