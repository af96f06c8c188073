#include "mcp/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "mcp/http_transport.h"
#include "mcp/stdio_transport.h"

namespace realizar::mcp {
namespace {

// Protocol versions with sessions, the newest first, which is the one requested; and the one without sessions.
constexpr std::array<std::string_view, 3> kVersions = {"2025-11-25", "2025-06-18", "2025-03-26"};
constexpr std::string_view kStatelessVersion = "2026-07-28";
constexpr int kMaxPages = 32;
constexpr size_t kMaxCursorBytes = 4096;
constexpr size_t kMaxSessionIdBytes = 1024;
constexpr auto kFarewellTime = std::chrono::seconds(2);  // for the notification at the end

Error refused(const RpcError& error) {
  return format_error(fmt::format("it refuses: {} ({})", shown(error.message, 300), error.code), "answer");
}

Result<std::string> read_version(const Json& result) {
  const Json version = result.is_object() ? result.value("protocolVersion", Json()) : Json();
  const bool is_known =
      version.is_string() && std::ranges::find(kVersions, version.get_ref<const std::string&>()) != kVersions.end();
  if (is_known) return version.get<std::string>();
  return unsupported(
      fmt::format("it speaks revision {} of the protocol; {}, {}, {} and {} are known here", shown(json_text(version)),
                  kVersions[2], kVersions[1], kVersions[0], kStatelessVersion),
      "answer");
}

// Required by the protocol: visible ASCII, which fits in a header.
Status check_session_id(std::string_view id) {
  const bool is_visible = std::ranges::all_of(id, [](char c) { return c > ' ' && c < 0x7f; });
  if (is_visible && id.size() <= kMaxSessionIdBytes) return {};
  return format_error("its MCP-Session-Id is not up to 1024 bytes of visible ASCII", "answer");
}

// Prefixes lines from a server with its name.
StdioTransport::Tell named_lines(const std::string& name, const StdioTransport::Tell& tell) {
  if (!tell) return [](const std::string&) {};
  return [name, tell](const std::string& line) { tell(fmt::format("the MCP server '{}': {}", name, line)); };
}

std::unique_ptr<Transport> make_transport(const ServerSource& source, const ClientOptions& options) {
  if (const auto* address = std::get_if<HttpAddress>(&source.place)) {
    return std::make_unique<HttpTransport>(*address, options.ca_file);
  }
  return std::make_unique<StdioTransport>(std::get<ProgramSource>(source.place),
                                          named_lines(source.name, options.on_log),
                                          named_lines(source.name, options.on_warning));
}

}  // namespace

Client::Client(const ServerSource& source, ClientOptions options)
    : name_(source.name), options_(std::move(options)), transport_(make_transport(source, options_)) {}

Error Client::named(const Error& error) const {
  Error own = error;
  own.message = fmt::format("the MCP server '{}': {}", name(), error.message);
  return own;
}

Result<Answer> Client::ask_in(const Session& session, const std::string& method, const Json& params,
                              const Patience& patience) {
  Outgoing request{next_id_++, method, params};
  if (session.is_stateless) {
    request.params["_meta"] = {{"io.modelcontextprotocol/protocolVersion", session.version},
                               {"io.modelcontextprotocol/clientInfo", own_info()},
                               {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
  }
  auto answer = transport_->ask(session, request, patience);
  // There the end of the connection reports it.
  if (session.is_stateless) return answer;
  const bool is_given_up =
      !answer.ok() && (answer.error().code == ErrorCode::kCancelled || answer.error().subject == kTimeout);
  if (is_given_up && method != "initialize") {
    const Json cancelled = {{"requestId", request.id}, {"reason", answer.error().message}};
    const std::string notification = request_text(std::nullopt, "notifications/cancelled", cancelled);
    static_cast<void>(transport_->tell(session, notification, {Clock::now() + kFarewellTime}).ok());
  }
  return answer;
}

Result<Client::SessionPtr> Client::connect(const Patience& patience) {
  const Json params = {{"protocolVersion", kVersions[0]}, {"capabilities", Json::object()}, {"clientInfo", own_info()}};
  const auto answer = ask_in({}, "initialize", params, patience);
  // A server that only supports revision 2026-07-28 refuses this request. In this order, older servers see no new
  // request.
  const bool is_refused = answer.ok() ? answer->error.has_value() : answer.error().subject == kRefusal;
  if (is_refused) {
    auto session = discover(patience);
    if (session.ok()) return session;
  }
  if (!answer.ok()) return answer.error();
  if (answer->error) return refused(*answer->error);
  return initialize(*answer, patience);
}

Result<Client::SessionPtr> Client::discover(const Patience& patience) {
  Session session{"", std::string(kStatelessVersion), true};
  RZ_TRY(const Answer answer, ask_in(session, "server/discover", Json::object(), patience));
  if (answer.error) return refused(*answer.error);
  const Json versions = answer.result.is_object() ? answer.result.value("supportedVersions", Json()) : Json();
  if (!versions.is_array() || std::ranges::find(versions, kStatelessVersion) == versions.end()) {
    return format_error("it does not know the revision of the protocol that it answers in", "answer");
  }
  return std::make_shared<const Session>(std::move(session));
}

Result<Client::SessionPtr> Client::initialize(const Answer& answer, const Patience& patience) {
  Session session;
  RZ_TRY(session.version, read_version(answer.result));
  RZ_CHECK_OK(check_session_id(answer.session_id));
  session.id = answer.session_id;
  RZ_CHECK_OK(transport_->tell(session, request_text(std::nullopt, "notifications/initialized", {}), patience));
  return std::make_shared<const Session>(std::move(session));
}

Result<Client::SessionPtr> Client::connected(const Patience& patience) {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr) {
    RZ_TRY(session_, connect(patience));
  }
  return session_;
}

void Client::forget(const SessionPtr& lost) {
  const std::lock_guard lock(mutex_);
  if (session_ == lost) session_ = nullptr;
}

// If a server has lost the session, it gets a new one, once.
Result<Answer> Client::ask(const std::string& method, const Json& params, const std::atomic<bool>* cancelled) {
  const Patience patience{Clock::now() + options_.timeout, cancelled};
  for (bool is_again = false;; is_again = true) {
    RZ_TRY(const SessionPtr session, connected(patience));
    auto answer = ask_in(*session, method, params, patience);
    if (answer.ok()) answer->is_stateless = session->is_stateless;
    const bool is_lost = !answer.ok() && answer.error().subject == kLostSession;
    if (is_lost) forget(session);
    if (!is_lost || is_again) return answer;
  }
}

Result<ToolList> Client::list_tools(const std::atomic<bool>* cancelled) {
  ToolList list;
  std::string cursor;
  for (int page = 0; page < kMaxPages; ++page) {
    const auto answer = ask("tools/list", cursor.empty() ? Json::object() : Json{{"cursor", cursor}}, cancelled);
    if (!answer.ok()) return named(answer.error());
    if (answer->error) return named(refused(*answer->error));
    const auto headers = answer->is_stateless ? ArgumentHeaders::kRefused : ArgumentHeaders::kUnknown;
    if (const Status added = add_tools(list, name(), answer->result, headers); !added.ok()) return named(added.error());
    const Json next = answer->result.value("nextCursor", Json());
    if (next.is_null() || (next.is_string() && next.get_ref<const std::string&>().empty())) return list;
    const bool is_cursor =
        next.is_string() && next != cursor && next.get_ref<const std::string&>().size() <= kMaxCursorBytes;
    if (!is_cursor) return named(format_error("its list of tools does not end", "answer"));
    cursor = next;
  }
  return named(format_error(fmt::format("its list of tools has more than {} pages", kMaxPages), "answer"));
}

Result<ToolResult> Client::call_tool(const std::string& tool, const Json& arguments,
                                     const std::atomic<bool>* cancelled) {
  const auto answer = ask("tools/call", {{"name", tool}, {"arguments", arguments}}, cancelled);
  if (!answer.ok()) return named(answer.error());
  if (answer->error) return failed_call(fmt::format("{} ({})", answer->error->message, answer->error->code));
  auto result = read_tool_result(answer->result);
  if (!result.ok()) return named(result.error());
  return result;
}

void Client::close() {
  SessionPtr session;
  {
    const std::lock_guard lock(mutex_);
    session = std::exchange(session_, nullptr);
  }
  transport_->end(session == nullptr ? Session() : *session, {Clock::now() + kFarewellTime});
}

}  // namespace realizar::mcp
