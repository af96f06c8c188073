// MCP servers for the chat page: GET /mcp lists them, GET /mcp/NAME/tools returns the tools of one, and POST
// /mcp/NAME/call calls a tool. The page asks its user before calling.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/context.h"
#include "server/call/foreign_work.h"
#include "server/call/mcp_proxy.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxCallBytes = 1u << 20;

// A server's error is not the client's fault.
ApiError mcp_error(const Error& error) {
  if (error.subject == kForeignSlots) return to_api_error(error);
  const bool is_late = error.subject == mcp::kTimeout;
  return {is_late ? 504 : 502, error.message, "", is_late ? "mcp_timeout" : "mcp_error"};
}

// Null if the list has no such server; then the call is over.
McpProxy::ClientPtr find_server(Call& call) {
  McpProxy::ClientPtr server = call.context.mcp == nullptr ? nullptr : call.context.mcp->find(call.path_id);
  if (server == nullptr) {
    call.fail(
        ApiError{404, "there is no MCP server '" + shown(call.path_id) + "' on this server's list", "", "not_found"});
  }
  return server;
}

struct ToolCallBody {
  std::string tool;
  Json arguments;
};

Result<ToolCallBody> read_call(const std::string& text) {
  RZ_TRY(Json body, parse_json(text));
  const TakenApartAtEnd end{body};
  if (!body.is_object()) return invalid_argument("the body is not a JSON object");
  Fields fields(body);
  const auto tool = fields.text("tool");
  const Json* arguments = fields.object("arguments");
  if (!fields.status().ok()) return fields.status().error();
  if (!tool || tool->empty()) return wrong("tool", "expected the name of a tool");
  return ToolCallBody{*tool, arguments == nullptr ? Json::object() : *arguments};
}

}  // namespace

HttpResponse get_mcp(const Call& call) {
  Json servers = Json::array();
  if (call.context.mcp != nullptr) {
    for (const auto& server : call.context.mcp->servers()) servers.push_back({{"name", server->name()}});
  }
  return {200, "application/json", dump({{"servers", std::move(servers)}}), {{"Cache-Control", "no-store"}}};
}

Task<Status> get_mcp_tools(Call& call) {
  const McpProxy::ClientPtr server = find_server(call);
  if (server == nullptr) co_return Status();
  ForeignWork::Work work = [server](const std::atomic<bool>& cancelled) -> Result<Json> {
    RZ_TRY(const mcp::ToolList list, server->list_tools(&cancelled));
    // Each is a function in the format of /v1/chat/completions, and keeps its server's name, by which it is called
    // here.
    Json tools = mcp::tools_json(list.tools);
    for (size_t i = 0; i < list.tools.size(); ++i) tools[i]["name"] = list.tools[i].name;
    return Json{{"tools", std::move(tools)}, {"notes", list.notes}};
  };
  Task<Status> answering = answer_by(call, std::move(work), call.context.mcp->slots(), mcp_error);
  co_return co_await answering;
}

Task<Status> post_mcp_call(Call& call) {
  const McpProxy::ClientPtr server = find_server(call);
  if (server == nullptr) co_return Status();
  RZ_CO_CHECK_OK(co_await decode(call));
  if (call.is_over()) co_return Status();
  if (call.body.bytes.size() > kMaxCallBytes) {
    co_return call.refuse({413, fmt::format("a call of a tool has at most {} bytes", kMaxCallBytes), "", ""});
  }
  OnWorker reading(call, call.body.bytes.size(), [&] { return read_call(call.body.bytes); });
  RZ_CO_TRY(const ToolCallBody asked, co_await reading);
  ForeignWork::Work work = [server, asked](const std::atomic<bool>& cancelled) -> Result<Json> {
    RZ_TRY(const mcp::ToolResult result, server->call_tool(asked.tool, asked.arguments, &cancelled));
    return Json{{"text", result.text}, {"is_error", result.is_error}};
  };
  Task<Status> answering = answer_by(call, std::move(work), call.context.mcp->slots(), mcp_error);
  co_return co_await answering;
}

}  // namespace realizar::server
