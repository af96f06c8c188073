// The configured servers, from the command line or a file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hub/url.h"
#include "mcp/program.h"
#include "realizar/result.h"

namespace realizar::mcp {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpAddress {
  hub::Url url;
  Headers headers;  // for every request; they may contain secrets, and are never shown
};

struct ServerSource {
  std::string name;
  std::variant<HttpAddress, ProgramSource> place;
};

struct ServerList {
  std::vector<ServerSource> servers;
  std::vector<std::string> notes;  // ignored parts of a file; printable
};

// NAME=URL. Errors: InvalidArgument.
Status add_server(ServerList& list, std::string_view text);

// A file in the form that other MCP clients use: {"mcpServers": {"NAME": {"url": ..., "headers": {...}}}}, or with a
// program to start: {"NAME": {"command": ..., "args": [...], "env": {...}, "cwd": ...}}; VS Code's "servers" may
// replace "mcpServers". A "disabled" server is skipped. `base`: the environment for programs, in addition to the file's
// variables; its PATH is searched for their commands. Errors: those of read_file; FormatError; NotFound for a command
// that does not exist.
Status add_server_file(ServerList& list, const std::filesystem::path& path, const Environment& base);
Status add_server_json(ServerList& list, std::string_view text, const Environment& base);

}  // namespace realizar::mcp
