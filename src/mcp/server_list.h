// The servers that may be asked: a list that a person gives, on the command line or in a file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hub/url.h"
#include "realizar/result.h"

namespace realizar::mcp {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ServerSource {
  std::string name;
  hub::Url url;
  Headers headers;  // of every request; they may hold secrets, and are never shown
};

struct ServerList {
  std::vector<ServerSource> servers;
  std::vector<std::string> notes;  // what of a file has no effect; printable
};

// NAME=URL. Errors: InvalidArgument.
Status add_server(ServerList& list, std::string_view text);

// A file as other clients of the protocol have it: {"mcpServers": {"NAME": {"url": ..., "headers": {...}}}}. A server
// that is "disabled" is left out. Errors: those of read_file; FormatError; Unsupported for a server that is a program
// to be started, by its name.
Status add_server_file(ServerList& list, const std::filesystem::path& path);
Status add_server_json(ServerList& list, std::string_view text);

}  // namespace realizar::mcp
