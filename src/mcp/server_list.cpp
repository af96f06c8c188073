#include "mcp/server_list.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/files.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "mcp/json_rpc.h"
#include "mcp/tool.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxServers = 16;
constexpr size_t kMaxFileBytes = 1u << 20;
constexpr size_t kMaxHeaderBytes = 16u << 10;
constexpr size_t kMaxProgramTexts = 256;         // arguments, and as many variables
constexpr size_t kMaxProgramBytes = 100u << 10;  // for each; Linux allows 128 KB

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

// A token, and a value of visible ASCII and spaces.
bool is_header(std::string_view name, std::string_view value) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const bool is_token = !name.empty() && std::ranges::all_of(name, [&](char c) {
    const bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_alnum || kMarks.find(c) != std::string_view::npos;
  });
  return is_token && !value.empty() && std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7f; });
}

// A malformed URL is not quoted, since it may contain a password.
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
    if (!is_one) return wrong(name, "the header '" + shown(key) + "' cannot be sent");
    if (value.get_ref<const std::string&>().find("${") != std::string::npos) {
      return wrong(name,
                   "the header '" + shown(key) + "' names a variable, which is not filled in here: write its value");
    }
    read.emplace_back(key, value);
  }
  return read;
}

// The transport that a client should use for the server. Most files do not state it.
Status check_type(const std::string& name, const Json& type, bool is_program) {
  if (type.is_null() || (is_program && type == "stdio")) return {};
  for (const char* http : {"http", "streamable-http", "streamableHttp", "streamable_http"}) {
    if (!is_program && type == http) return {};
  }
  return unsupported(fmt::format("the MCP server '{}' requires the transport {}: only stdio, for a command, and "
                                 "streamable HTTP, for a url, are supported",
                                 name, shown(json_text(type))),
                     "mcp");
}

// Editors substitute these, each in its own way.
bool names_a_variable(std::string_view text) {
  for (const char* variable : {"${env:", "${input:", "${command:", "${config:", "${workspaceFolder", "${userHome}"}) {
    if (text.find(variable) != std::string_view::npos) return true;
  }
  return false;
}

// `what`: the field's name in errors. Errors: InvalidArgument.
Result<std::string> read_text(const std::string& name, const std::string& what, const Json& value) {
  if (!value.is_string()) return wrong(name, fmt::format("expected {} to be a text", what));
  std::string text = value;
  const bool is_one = text.size() <= kMaxProgramBytes && text.find('\0') == std::string::npos;
  if (!is_one) return wrong(name, fmt::format("{} cannot be passed to a program", what));
  if (names_a_variable(text)) {
    return wrong(name, fmt::format("{} names a variable, which is not filled in here: write its value", what));
  }
  return text;
}

Result<std::vector<std::string>> read_args(const std::string& name, const Json& args) {
  if (!args.is_array() || args.size() > kMaxProgramTexts) {
    return wrong(name, fmt::format("expected args to be a list of at most {} texts", kMaxProgramTexts));
  }
  std::vector<std::string> read;
  for (const Json& arg : args) {
    RZ_TRY(read.emplace_back(), read_text(name, "an argument", arg));
  }
  return read;
}

// The variables in the file, and those of `base` that it does not set.
Result<Environment> read_environment(const std::string& name, const Json& variables, const Environment& base) {
  if (!variables.is_object() || variables.size() > kMaxProgramTexts) {
    return wrong(name, fmt::format("expected env to be an object of at most {} texts", kMaxProgramTexts));
  }
  Environment read;
  for (const auto& [key, value] : variables.items()) {
    const bool is_name = !key.empty() && key.find_first_of(std::string_view("=\0", 2)) == std::string::npos;
    if (!is_name) return wrong(name, "the variable '" + shown(key) + "' cannot be a program's variable");
    RZ_TRY(std::string text, read_text(name, "the variable '" + shown(key) + "'", value));
    read.emplace_back(key, std::move(text));
  }
  for (const auto& variable : base) {
    const bool is_named = std::ranges::any_of(read, [&](const auto& other) { return other.first == variable.first; });
    if (!is_named) read.push_back(variable);
  }
  return read;
}

bool can_be_run(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// A command with a slash is a path relative to the program's working directory; otherwise it is searched in PATH.
std::optional<std::string> find_program(const ProgramSource& source, const std::string& command) {
  if (command.find('/') != std::string::npos) {
    const std::string path = std::filesystem::path(source.folder) / command;
    return can_be_run(path) ? std::optional(std::filesystem::absolute(path).string()) : std::nullopt;
  }
  const auto is_path = [](const auto& variable) { return variable.first == "PATH"; };
  const auto variable = std::ranges::find_if(source.environment, is_path);
  std::string_view folders = variable == source.environment.end() ? std::string_view() : variable->second;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
    const std::string path = std::filesystem::path(folder) / command;
    if (folder.starts_with('/') && can_be_run(path)) return path;
  }
  return std::nullopt;
}

Result<ProgramSource> read_program(const std::string& name, const Json& entry, const Environment& base) {
  ProgramSource source;
  RZ_TRY(const std::string command, read_text(name, "its command", entry["command"]));
  RZ_TRY(source.args, read_args(name, entry.value("args", Json::array())));
  RZ_TRY(source.environment, read_environment(name, entry.value("env", Json::object()), base));
  RZ_TRY(source.folder, read_text(name, "its cwd", entry.value("cwd", Json(""))));
  std::error_code error;
  if (!source.folder.empty() && !std::filesystem::is_directory(source.folder, error)) {
    return wrong(name, "there is no folder " + shown(source.folder));
  }
  const auto path = find_program(source, command);
  if (!path) {
    return not_found(fmt::format("the MCP server '{}': there is no program {}{}", name, shown(command),
                                 command.find('/') == std::string::npos ? " in the folders of PATH" : ""),
                     "mcp");
  }
  source.path = *path;
  return source;
}

Result<HttpAddress> read_address(const std::string& name, const Json& entry) {
  HttpAddress address;
  const Json url = entry.value("url", Json());
  if (!url.is_string()) return wrong(name, "expected its url, or the command that starts it");
  RZ_TRY(address.url, read_url(name, url.get_ref<const std::string&>()));
  RZ_TRY(address.headers, read_headers(name, entry.value("headers", Json::object())));
  return address;
}

// Adds notes about ignored fields.
void note_others(ServerList& list, const std::string& name, const Json& entry, bool is_program) {
  constexpr std::array<std::string_view, 4> kOfAddresses = {"url", "headers", "type", "disabled"};
  constexpr std::array<std::string_view, 6> kOfPrograms = {"command", "args", "env", "cwd", "type", "disabled"};
  for (const auto& field : entry.items()) {
    const std::string& key = field.key();
    const bool is_known = is_program ? std::ranges::find(kOfPrograms, key) != kOfPrograms.end()
                                     : std::ranges::find(kOfAddresses, key) != kOfAddresses.end();
    if (is_known) continue;
    list.notes.push_back(fmt::format("the MCP server '{}': '{}' has no effect here", shown(name), shown(key)));
  }
}

Status add_entry(ServerList& list, const std::string& name, const Json& entry, const Environment& base) {
  if (!entry.is_object()) return wrong(name, "expected an object with its url or its command");
  if (entry.value("disabled", Json()) == true) return {};
  const bool is_program = entry.contains("command");
  RZ_CHECK_OK(check_type(name, entry.value("type", Json()), is_program));
  ServerSource source;
  source.name = name;
  if (is_program) {
    RZ_TRY(source.place, read_program(name, entry, base));
  } else {
    RZ_TRY(source.place, read_address(name, entry));
  }
  note_others(list, name, entry, is_program);
  return add(list, std::move(source));
}

}  // namespace

Status add_server(ServerList& list, std::string_view text) {
  const size_t sign = text.find('=');
  if (sign == std::string_view::npos) return wrong(std::string(text), "expected NAME=URL");
  ServerSource source;
  source.name = text.substr(0, sign);
  HttpAddress address;
  RZ_TRY(address.url, read_url(source.name, text.substr(sign + 1)));
  source.place = std::move(address);
  return add(list, std::move(source));
}

Status add_server_file(ServerList& list, const std::filesystem::path& path, const Environment& base) {
  RZ_TRY(const std::string text, read_file_or_pipe(path, kMaxFileBytes));
  Status added = add_server_json(list, text, base);
  if (added.ok()) return added;
  Error error = added.error();
  error.message = path.string() + ": " + error.message;
  return error;
}

Status add_server_json(ServerList& list, std::string_view text, const Environment& base) {
  // A parser's error may quote text from the file, such as a secret.
  const auto json = parse_json(text);
  const Json root = json.ok() && json->is_object() ? *json : Json::object();
  const Json servers = root.contains("mcpServers") ? root["mcpServers"] : root.value("servers", Json());
  if (!servers.is_object()) {
    return format_error(R"(expected {"mcpServers": {"NAME": {"url": ...}, "NAME": {"command": ...}}})", "mcp");
  }
  for (const auto& [name, entry] : servers.items()) RZ_CHECK_OK(add_entry(list, name, entry, base));
  return {};
}

}  // namespace realizar::mcp
