// Models at run time, as llama.cpp's router has them: POST /models downloads one, POST /models/load and /models/unload,
// DELETE /models, and GET /models/sse, which tells of their changes.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "formats/gguf_folder.h"
#include "server/call/context.h"
#include "server/call/protocol.h"
#include "server/call/store_changes.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// A stream whose end is the server's says nothing more.
class EventSpeller final : public Speller {
 public:
  std::string stream_news(size_t, const ChoiceNews&) override { return {}; }
  std::string stream_choice_end(size_t, const Choice&) override { return {}; }
  std::string stream_end(const Usage&, const Json*) override { return {}; }
  std::string stream_error(const ApiError&) override { return {}; }
  void collect(size_t, ChoiceNews) override {}
  Json whole(const std::vector<std::unique_ptr<Choice>>&, const Usage&, JsonPieces&) override { return {}; }
};

HttpResponse success() {
  return {200, "application/json", R"({"success":true})", {}};
}

Task<Result<std::string>> named_model(Call& call) {
  Task<Result<Json>> reading = json_object(call);
  const Result<Json> body = co_await reading;
  if (!body.ok()) co_return body.error();
  Fields fields(*body);
  const std::string name = fields.text("model").value_or("");
  if (!fields.status().ok()) co_return fields.status().error();
  if (name.empty() && !call.is_over()) co_return wrong("model", "expected the name of a model");
  co_return name;
}

// llama.cpp's users name a repository of Hugging Face as OWNER/REPO[:QUANTIZATION].
hub::ModelName source_for_llama(const hub::ModelName& name) {
  if (name.kind != hub::NameKind::kLocal || name.owner.empty()) return name;
  return {hub::NameKind::kHuggingFace, name.owner, name.model, "main", name.tag == "latest" ? "" : name.tag, ""};
}

// The first part of a split file stands for all; a folder is the model's own, since it lies in the folder of models.
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

Task<Status> post_models_load(Call& call) {
  Task<Result<std::string>> naming = named_model(call);
  const Result<std::string> name = co_await naming;
  if (!name.ok() || call.is_over()) co_return name.ok() ? Status() : name.error();
  const Status done = call.context.models.load_now(*name, call.tenant);
  if (done.ok()) call.send(success());
  co_return done;
}

Task<Status> post_models_unload(Call& call) {
  Task<Result<std::string>> naming = named_model(call);
  const Result<std::string> name = co_await naming;
  if (!name.ok() || call.is_over()) co_return name.ok() ? Status() : name.error();
  const bool was_download = call.context.downloads != nullptr && call.context.downloads->cancel(*name);
  const Status done = was_download ? Status() : call.context.models.unload_now(*name);
  if (done.ok()) call.send(success());
  co_return done;
}

// The last model stays: a server without any has nothing to say.
Task<Status> delete_models(Call& call) {
  ModelRegistry& models = call.context.models;
  const std::string name = query_value(call.request.query, "model");
  const auto* entry = models.find_named(name);
  if (entry == nullptr) co_return models.no_such_model(name);
  const auto store_name = entry->source.store_name;
  const bool is_of_store = store_name && may_change_store(call);
  if (!entry->source.is_deletable && !is_of_store) {
    call.fail(ApiError{403,
                       "the model '" + shown(name) +
                           "' is not to be deleted: --delete-models lets clients delete those of --models-dir, and "
                           "--manage-models those of the store",
                       "model", ""});
    co_return Status();
  }
  if (models.entries().size() == 1) co_return wrong("model", "the last model cannot be deleted");
  const std::string id = entry->source.id, path = entry->source.path;
  OnWorker deleting(call, 0, [&, store = call.context.options.store] {
    return is_of_store ? delete_stored(*store, *store_name) : delete_files(path);
  });
  const Status deleted = co_await deleting;
  if (!deleted.ok()) co_return deleted;
  if (is_of_store) {
    drop_stored(call, *store_name);
  } else {
    const Status removed = models.remove(id);
    if (!removed.ok()) co_return removed;
  }
  call.send(success());
  co_return Status();
}

Task<Status> get_models_sse(Call& call) {
  call.speller = std::make_unique<EventSpeller>();
  call.begin_stream(
      {200, "text/event-stream; charset=utf-8", "", {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
  call.listens = true;
  const ModelEvents& events = call.context.model_events;
  uint64_t next = events.end();
  while (true) {
    NewsWait wait(call);
    const Status news = co_await wait;
    if (call.is_over()) co_return Status();
    if (!news.ok()) break;
    if (!call.is_congested()) call.write(events.since(next));
  }
  call.end();
  co_return Status();
}

// Begins a download, which events tell of.
Task<Status> post_models(Call& call) {
  Task<Result<std::string>> naming = named_model(call);
  const Result<std::string> given = co_await naming;
  if (!given.ok() || call.is_over()) co_return given.ok() ? Status() : given.error();
  const Result<hub::ModelName> name = name_to_pull(*given);
  if (!name.ok()) co_return name.error();
  if (refuse_store_change(call)) co_return Status();
  ServerContext& context = call.context;
  if (context.models.find_named(*given) != nullptr) co_return wrong("model", "the model is there already");
  const auto on_stored = [&models = context.models](ModelSource model) { models.put(std::move(model)); };
  const Status started = context.downloads->start(call.tenant, *given, *name, source_for_llama(*name), on_stored);
  if (started.ok()) call.send(success());
  co_return started;
}

}  // namespace realizar::server
