// Models at run time, as in llama.cpp's router: POST /models downloads one, POST /models/load and /models/unload,
// DELETE /models, and GET /models/sse, which reports their changes.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "formats/gguf_folder.h"
#include "server/call/context.h"
#include "server/call/store_changes.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// A stream that the server ends gets no last event.
class EventWriter final : public ResponseWriter {
 public:
  std::string stream_error(const ApiError&) override { return {}; }
  Json whole(const Choices&, const Usage&, JsonPieces&) override { return {}; }
};

HttpResponse success() {
  return {200, "application/json", R"({"success":true})", {}};
}

Result<std::string> named_model(const Json& body) {
  return required_text(body, "model", "expected the name of a model");
}

// The first part of a split file means all parts; a folder belongs to the model, since it is in the models' folder.
Status delete_files(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_folder = fs::is_directory(fs::symlink_status(path, error));
  const std::vector<fs::path> parts = is_folder ? std::vector<fs::path>{path} : parts_of_gguf(path);
  for (const fs::path& part : parts) {
    fs::remove_all(part, error);
    if (error) return invalid_argument("the files cannot be deleted: " + error.message(), "model");
  }
  return {};
}

}  // namespace

Status post_models_load(Call& call, const Json& body) {
  RZ_TRY(const std::string name, named_model(body));
  RZ_CHECK_OK(call.context.models.load_now(name, call.tenant));
  return call.finish(success());
}

Status post_models_unload(Call& call, const Json& body) {
  RZ_TRY(const std::string name, named_model(body));
  const bool was_download = call.context.downloads != nullptr && call.context.downloads->cancel(name);
  if (!was_download) RZ_CHECK_OK(call.context.models.unload_now(name));
  return call.finish(success());
}

// The last model is kept: a server without models cannot answer anything.
Task<Status> delete_models(Call& call) {
  ModelRegistry& models = call.context.models;
  const std::string name = query_value(call.request.query, "model");
  const auto* entry = models.find_named(name);
  if (entry == nullptr) co_return models.no_such_model(name);
  const auto store_name = entry->source.store_name;
  const bool is_of_store = store_name && may_change_store(call);
  if (!entry->source.is_deletable && !is_of_store) {
    co_return call.refuse({403,
                           "the model '" + shown(name) +
                               "' is not to be deleted: --delete-models lets clients delete those of --models-dir, and "
                               "--manage-models those of the store",
                           "model", ""});
  }
  if (models.entries().size() == 1) co_return wrong("model", "the last model cannot be deleted");
  const std::string id = entry->source.id, path = entry->source.path;
  OnWorker deleting(call, 0, [&, store = call.context.options.store] {
    return is_of_store ? delete_stored(*store, *store_name) : delete_files(path);
  });
  RZ_CO_CHECK_OK(co_await deleting);
  if (is_of_store) {
    drop_stored(call, *store_name);
  } else {
    RZ_CO_CHECK_OK(models.remove(id));
  }
  co_return call.finish(success());
}

Task<Status> get_models_sse(Call& call) {
  call.writer = std::make_unique<EventWriter>();
  call.begin_stream(
      {200, "text/event-stream; charset=utf-8", "", {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
  call.listens = true;
  const ModelEvents& events = call.context.model_events;
  uint64_t next = events.end();
  while (true) {
    UpdateWait wait(call);
    const Status update = co_await wait;
    if (call.is_over()) co_return Status();
    if (!update.ok()) break;
    if (!call.is_congested()) call.write(events.since(next));
  }
  call.end();
  co_return Status();
}

// Begins a download, whose progress is reported by events.
Status post_models(Call& call, const Json& body) {
  RZ_TRY(const std::string given, named_model(body));
  RZ_TRY(const hub::ModelName name, name_to_pull(given));
  if (refuse_store_change(call)) return {};
  ServerContext& context = call.context;
  if (context.models.find_named(given) != nullptr) return wrong("model", "the model exists already");
  const auto on_stored = [&models = context.models](ModelSource model) { models.put(std::move(model)); };
  RZ_CHECK_OK(context.downloads->start(call.tenant, given, name, source_for_llama(name), on_stored));
  return call.finish(success());
}

}  // namespace realizar::server
