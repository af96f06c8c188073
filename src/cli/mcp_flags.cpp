#include "cli/mcp_flags.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/try.h"
#include "cli/output.h"
#include "realizar/engine.h"

namespace realizar::cli {
namespace {

// The environment variables that are passed to a server which is a program: no token of another program.
mcp::Environment shared_environment() {
  mcp::Environment shared;
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    if (const char* value = std::getenv(name)) shared.emplace_back(name, value);
  }
  return shared;
}

bool may_hold_secrets(const mcp::ServerSource& server) {
  const auto* address = std::get_if<mcp::HttpAddress>(&server.place);
  return address == nullptr || !address->headers.empty();
}

bool sends_secrets_openly(const mcp::ServerSource& server) {
  const auto* address = std::get_if<mcp::HttpAddress>(&server.place);
  return address != nullptr && !address->headers.empty() && address->url.scheme != "https" &&
         !address->url.is_loopback();
}

}  // namespace

void McpFlags::add_to(Flags flags) {
  flags.option("--mcp", servers_,
               "An MCP server, reached over streamable HTTP, whose tools the model may call; may be repeated. No other "
               "is ever asked",
               {.shown_as = "NAME=URL"});
  flags.option("--mcp-config", config_,
               "File with such servers, and with programs that are started as servers, in the format of other clients: "
               "{\"mcpServers\": {NAME: {\"url\": ..., \"headers\": {...}}, NAME: {\"command\": ..., \"args\": [...], "
               "\"env\": {...}}}}",
               {.takes = kFile});
  flags.advanced().option("--mcp-timeout-s", timeout_s_, "Seconds that an MCP server has for a request",
                          {.range = {1, 3600}, .has_default = true});
}

Result<mcp::ServerList> McpFlags::read() const {
  mcp::ServerList list;
  for (const std::string& server : servers_) RZ_CHECK_OK(mcp::add_server(list, server));
  if (!config_.empty()) RZ_CHECK_OK(mcp::add_server_file(list, config_, shared_environment()));
  for (const std::string& note : list.notes) warn(note);
  const bool has_secrets = std::ranges::any_of(list.servers, may_hold_secrets);
  const std::string exposure = config_.empty() ? "" : exposure_of(config_, "the MCP servers", has_secrets);
  if (!exposure.empty()) warn(exposure);
  for (const mcp::ServerSource& server : list.servers) {
    if (sends_secrets_openly(server)) {
      warn("the MCP server '" + server.name + "' gets its headers unencrypted: its url is not https");
    }
  }
  return list;
}

mcp::ClientOptions McpFlags::client_options() const {
  const char* certificates = std::getenv("SSL_CERT_FILE");
  return {.timeout = std::chrono::seconds(timeout_s_),
          .version = version(),
          .ca_file = certificates == nullptr ? "" : certificates,
          .on_warning = [](const std::string& line) { warn(line); }};
}

void ToolFlags::add_to(Flags flags) {
  mcp.add_to(flags);
  flags.advanced().option(
      "--mcp-allow", allowed,
      "Let the model call this tool, or all tools of this server, without asking; may be repeated. Without a "
      "terminal every other call is refused",
      {.shown_as = "NAME"});
  flags.advanced().option(
      "--tool-choice", choice,
      "Whether the model must call a tool before it answers: auto, required, none, or the required tool",
      {.shown_as = "auto|required|none|TOOL", .has_default = true});
}

std::string ToolFlags::complaint() const {
  if (mcp.is_given()) return "";
  if (!allowed.empty()) return "--mcp-allow only has an effect with --mcp or --mcp-config";
  return choice == "auto" ? "" : "--tool-choice only has an effect with --mcp or --mcp-config";
}

}  // namespace realizar::cli
