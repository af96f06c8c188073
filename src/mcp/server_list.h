// The servers that may be asked: a list that a person gives, on the command line or in a file.
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
  Headers headers;  // of every request; they may hold secrets, and are never shown
};

struct ServerSource {
  std::string name;
  std::variant<HttpAddress, ProgramSource> place;
};

struct ServerList {
  std::vector<ServerSource> servers;
  std::vector<std::string> notes;  // what of a file has no effect; printable
};

// NAME=URL. Errors: InvalidArgument.
Status add_server(ServerList& list, std::string_view text);

// A file as other clients of the protocol have it: {"mcpServers": {"NAME": {"url": ..., "headers": {...}}}}, or with a
// program that is started: {"NAME": {"command": ..., "args": [...], "env": {...}, "cwd": ...}}; VS Code's "servers" in
// place of "mcpServers". A server that is "disabled" is left out. `base`: what programs have of the environment beside
// what the file names; its PATH leads to their commands. Errors: those of read_file; FormatError; NotFound for a
// command that is not there.
Status add_server_file(ServerList& list, const std::filesystem::path& path, const Environment& base);
Status add_server_json(ServerList& list, std::string_view text, const Environment& base);

}  // namespace realizar::mcp
