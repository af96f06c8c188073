// The configured MCP servers, and what a chat allows a model to do with their tools.
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
  // The list, with a line on standard error for ignored parts of it. Errors: those of mcp::add_server and
  // add_server_file.
  Result<mcp::ServerList> read() const;
  mcp::ClientOptions client_options() const;

 private:
  std::vector<std::string> servers_;  // NAME=URL
  std::string config_;
  uint32_t timeout_s_ = 60;
};

// McpFlags with --mcp-allow and --tool-choice.
struct ToolFlags {
  McpFlags mcp;
  std::vector<std::string> allowed;  // tools and servers whose calls need no confirmation
  std::string choice = "auto";

  void add_to(Flags flags);
  // Problems with them; empty: none.
  std::string complaint() const;
};

}  // namespace realizar::cli
