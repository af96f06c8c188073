#include "mcp/server_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "mcp/json_rpc.h"
#include "mcp/tool.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxServers = 16;
constexpr size_t kMaxFileBytes = 1u << 20;
constexpr size_t kMaxHeaderBytes = 16u << 10;

Error wrong(const std::string& name, const std::string& why) {
  return invalid_argument(fmt::format("the MCP server '{}': {}", shown(name), why), "mcp");
}

Status add(ServerList& list, ServerSource source) {
  if (!is_server_name(source.name)) {
    return wrong(source.name,
                 "expected a name of 1 to 32 letters, digits, '-' and '_', without '__' and '_' at the end");
  }
  if (std::ranges::any_of(list.servers, [&](const auto& other) { return other.name == source.name; })) {
    return wrong(source.name, "two servers have this name");
  }
  if (list.servers.size() == kMaxServers) return wrong(source.name, fmt::format("there are {} already", kMaxServers));
  list.servers.push_back(std::move(source));
  return {};
}

// A token, and visible ASCII with spaces between.
bool is_header(std::string_view name, std::string_view value) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const bool is_token = !name.empty() && std::ranges::all_of(name, [&](char c) {
    const bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_alnum || kMarks.find(c) != std::string_view::npos;
  });
  return is_token && !value.empty() && std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7f; });
}

// What is no URL is not repeated, since it may hold a password.
Result<hub::Url> read_url(const std::string& name, std::string_view text) {
  auto url = hub::parse_url(text);
  if (url.ok()) return url;
  return wrong(name, "expected a url of http:// or https:// and a host, without a user's name or a password");
}

Result<Headers> read_headers(const std::string& name, const Json& headers) {
  if (!headers.is_object()) return wrong(name, "expected headers to be an object");
  Headers read;
  for (const auto& [key, value] : headers.items()) {
    const bool is_one = value.is_string() && is_header(key, value.get_ref<const std::string&>()) &&
                        key.size() + value.get_ref<const std::string&>().size() <= kMaxHeaderBytes;
    if (!is_one) return wrong(name, "the header '" + shown(key) + "' is none that can be sent");
    if (value.get_ref<const std::string&>().find("${") != std::string::npos) {
      return wrong(name,
                   "the header '" + shown(key) + "' names a variable, which is not filled in here: write its value");
    }
    read.emplace_back(key, value);
  }
  return read;
}

// Over which transport a client should reach the server. Most files do not say it.
Status check_type(const std::string& name, const Json& type) {
  for (const char* http : {"http", "streamable-http", "streamableHttp", "streamable_http"}) {
    if (type == http) return {};
  }
  if (type.is_null()) return {};
  return unsupported(fmt::format("the MCP server '{}' wants the transport {}: only streamable HTTP is built here", name,
                                 shown(dump(type))),
                     "mcp");
}

Status add_entry(ServerList& list, const std::string& name, const Json& entry) {
  if (!entry.is_object()) return wrong(name, "expected an object with its url");
  if (entry.value("disabled", Json()) == true) return {};
  if (entry.contains("command")) {
    return unsupported(
        fmt::format("the MCP server '{}' is a program to be started: only servers with a url can be used", shown(name)),
        "mcp");
  }
  RZ_CHECK_OK(check_type(name, entry.value("type", Json())));
  const Json url = entry.value("url", Json());
  if (!url.is_string()) return wrong(name, "expected its url");
  ServerSource source;
  source.name = name;
  RZ_TRY(source.url, read_url(name, url.get_ref<const std::string&>()));
  RZ_TRY(source.headers, read_headers(name, entry.value("headers", Json::object())));
  for (const auto& [key, value] : entry.items()) {
    const bool is_known = key == "url" || key == "headers" || key == "type" || key == "disabled";
    if (!is_known)
      list.notes.push_back(fmt::format("the MCP server '{}': '{}' has no effect here", shown(name), shown(key)));
  }
  return add(list, std::move(source));
}

}  // namespace

Status add_server(ServerList& list, std::string_view text) {
  const size_t sign = text.find('=');
  if (sign == std::string_view::npos) return wrong(std::string(text), "expected NAME=URL");
  ServerSource source;
  source.name = text.substr(0, sign);
  RZ_TRY(source.url, read_url(source.name, text.substr(sign + 1)));
  return add(list, std::move(source));
}

Status add_server_file(ServerList& list, const std::filesystem::path& path) {
  RZ_TRY(const std::string text, read_file_or_pipe(path, kMaxFileBytes));
  Status added = add_server_json(list, text);
  if (added.ok()) return added;
  Error error = added.error();
  error.message = path.string() + ": " + error.message;
  return error;
}

Status add_server_json(ServerList& list, std::string_view text) {
  // Errors of a parser may quote what stands in the file: a secret.
  const auto json = parse_json(text);
  const Json servers = json.ok() && json->is_object() ? json->value("mcpServers", Json()) : Json();
  if (!servers.is_object()) return format_error(R"(expected {"mcpServers": {"NAME": {"url": ...}}})", "mcp");
  for (const auto& [name, entry] : servers.items()) RZ_CHECK_OK(add_entry(list, name, entry));
  return {};
}

}  // namespace realizar::mcp
