// Adapters at run time: GET and POST /lora-adapters as in llama.cpp's server (the list, and the default adapter of
// requests), POST /v1/load_lora_adapter and /v1/unload_lora_adapter as in vLLM. Changes require --lora-dir, or for the
// former llama-server's answers, and only use files in that folder.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"
#include "engine/adapters.h"
#include "engine/engine.h"
#include "server/call/context.h"
#include "server/call/request_fields.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

bool may_change(const Call& call) {
  return !call.context.options.lora_dir.empty();
}

ApiError not_allowed() {
  return {403, "adapters do not change here: the server was started without --lora-dir", "", "not_allowed"};
}

// A path, absolute or relative to the adapters' folder; after following links it must be in that folder.
Result<std::string> allowed_path(const std::string& path, const std::string& folder) {
  std::error_code error;
  const auto root = std::filesystem::canonical(folder, error);
  if (error) return not_found("the folder of --lora-dir cannot be read: " + error.message(), "lora_path");
  const auto whole = std::filesystem::canonical(root / path, error);
  const Error unknown = not_found("the folder of adapters has no '" + shown(path) + "'", "lora_path");
  if (error || path.find('\0') != std::string::npos) return unknown;
  const bool is_inside = std::mismatch(root.begin(), root.end(), whole.begin(), whole.end()).first == root.end();
  return is_inside && whole != root ? Result<std::string>(whole.string()) : Result<std::string>(unknown);
}

// Error messages name files, but the folder must not be disclosed.
Error without_folder(Error error, const std::string& folder) {
  std::error_code ignored;
  const std::string root = std::filesystem::canonical(folder, ignored).string() + "/";
  for (size_t at = error.message.find(root); at != std::string::npos; at = error.message.find(root)) {
    error.message.erase(at, root.size());
  }
  return error;
}

HttpResponse success(const std::string& name, const char* done) {
  return {200, "text/plain; charset=utf-8", fmt::format("Success: LoRA adapter '{}' {} successfully.", name, done), {}};
}

struct Asked {
  AdapterSource wish;
  ServedModelPtr model;
};

// The change that the body requests; an error if the call is over because it has no right to do this or its body cannot
// be decoded.
Task<Result<Asked>> read_asked(Call& call, bool wants_path) {
  if (!may_change(call)) call.fail(not_allowed());
  if (!call.is_over()) RZ_CO_CHECK_OK(co_await decode(call));
  if (call.is_over()) co_return Asked{};
  RZ_CO_TRY(const Json body, parse_json(call.body.bytes));
  if (!body.is_object()) co_return invalid_argument("the body is not a JSON object");
  Fields fields(body);
  AdapterSource wish;
  wish.name = fields.text("lora_name").value_or("");
  wish.path = fields.text("lora_path").value_or("");
  const std::string model = fields.text("model").value_or("");
  wish.scale = static_cast<float>(fields.number("scale").value_or(1));
  if (wish.name.empty()) fields.fail("lora_name", "expected the adapter's name");
  if (wants_path && wish.path.empty()) fields.fail("lora_path", "expected a file or a folder of PEFT");
  if (wish.name.find(':') != std::string::npos) fields.fail("lora_name", "expected a name without ':'");
  RZ_CO_CHECK_OK(fields.status());
  RZ_CO_TRY(ServedModelPtr loaded, loaded_model(call, model));
  co_return Asked{std::move(wish), std::move(loaded)};
}

Status set_default_adapter(const Call& call) {
  RZ_TRY(const ServedModelPtr model, loaded_model(call, ""));
  RZ_TRY(const Json list, parse_json(call.body.bytes));
  RZ_TRY(const AdapterWish wish, read_adapter_list(list, "adapters", *model));
  RZ_CHECK_OK(model->loaded->engine->adapters().set_default(wish.name, wish.scale));
  spdlog::info("{}: requests that name no adapter have {}", model->id, wish.name.empty() ? "none" : wish.name);
  return {};
}

}  // namespace

Result<ServedModelPtr> loaded_model(const Call& call, const std::string& name) {
  const auto* entry = call.context.models.find(name);
  if (entry == nullptr) return call.context.models.no_such_model(name);
  if (entry->model != nullptr) return entry->model;
  return Error{ErrorCode::kResourceExhausted, "the model is not loaded", std::string(kOutOfResources)};
}

HttpResponse get_lora_adapters(const Call& call) {
  const auto model = loaded_model(call, "");
  if (!model.ok()) return llama_error_response(to_api_error(model.error()));
  Json list = Json::array();
  for (const AdapterInfo& info : (*model)->loaded->engine->adapters().list()) {
    list.push_back({{"id", list.size()},
                    {"path", std::filesystem::path(info.path).filename().string()},
                    {"scale", info.is_default ? decimal(info.default_scale) : 0.0},
                    {"name", info.name},
                    {"rank", info.rank}});
  }
  return json_response(list);
}

Task<Status> post_lora_adapters(Call& call) {
  // llama-server allows every client to set the default.
  if (!may_change(call) && !call.context.options.llama_answers) co_return call.refuse(not_allowed());
  RZ_CO_CHECK_OK(co_await decode(call));
  if (call.is_over()) co_return Status();
  RZ_CO_CHECK_OK(set_default_adapter(call));
  co_return call.finish(json_response({{"success", true}}));
}

Task<Status> post_load_lora_adapter(Call& call) {
  RZ_CO_TRY(const Asked asked, co_await read_asked(call, true));
  if (call.is_over()) co_return Status();
  const AdapterSource& wish = asked.wish;
  const ServedModelPtr& model = asked.model;
  const std::string& folder = call.context.options.lora_dir;
  OnWorker opening(call, 0, [&]() -> Result<std::unique_ptr<engine::AdapterLoad>> {
    RZ_TRY(const std::string path, allowed_path(wish.path, folder));
    auto load = model->loaded->engine->adapters().read({wish.name, path, wish.scale});
    if (!load.ok()) return without_folder(load.error(), folder);
    return load;
  });
  RZ_CO_TRY(std::unique_ptr<engine::AdapterLoad> load, co_await opening);
  const auto loaded = std::make_shared<Status>();
  Lent loading(call, [&](const std::function<void()>& give_back) {
    model->thread->load_adapter(std::move(load), [loaded, give_back](Status status) {
      *loaded = std::move(status);
      give_back();
    });
  });
  co_await loading;
  if (!loaded->ok()) co_return *loaded;
  spdlog::info("{}: adapter {} is loaded", model->id, wish.name);
  co_return call.finish(success(wish.name, "added"));
}

Task<Status> post_unload_lora_adapter(Call& call) {
  RZ_CO_TRY(const Asked asked, co_await read_asked(call, false));
  if (call.is_over()) co_return Status();
  const std::string& name = asked.wish.name;
  RZ_CO_CHECK_OK(asked.model->loaded->engine->adapters().remove(name));
  spdlog::info("{}: adapter {} is unloaded", asked.model->id, name);
  co_return call.finish(success(name, "removed"));
}

}  // namespace realizar::server
