// Ollama's routes that change the set of models (https://docs.ollama.com/api): pull, copy, delete, push. Models from
// the store are changed in the store, if clients may do so; others are copied in memory.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/context.h"
#include "server/call/store_changes.h"
#include "server/dialects/ollama/ollama.h"
#include "server/routes/ollama_models.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kShownDigits = 12;

// Files whose source gives no SHA-256 are identified by their names.
std::string pulling_line(const hub::PullProgress& step) {
  const size_t colon = step.digest.find(':');
  const std::string what = colon == std::string::npos ? step.file : step.digest.substr(colon + 1, kShownDigits);
  return dump({{"status", "pulling " + what},
               {"digest", step.digest.empty() ? step.file : step.digest},
               {"total", step.file_bytes},
               {"completed", step.file_done}}) +
         "\n";
}

std::string status_line(const char* status) {
  return dump({{"status", status}}) + "\n";
}

std::string pull_lines(const hub::PullProgress& step) {
  if (step.stage != hub::PullStage::kWriting) return pulling_line(step);
  return status_line("verifying sha256 digest") + status_line("writing manifest");
}

// A stream that has begun cannot become an error response: its last line reports the error.
void end_pull(Call& call, bool is_stream, const Status& result) {
  if (is_stream) {
    call.write(result.ok() ? status_line("success") : ollama_error_line(to_api_error(result.error())));
    return call.end();
  }
  if (!result.ok()) return call.fail(result.error());
  call.send(ollama_json({{"status", "success"}}));
}

// A client whose stream is full gets later steps; those in between are not kept for it.
Task<Status> follow_pull(Call& call, ModelPull& pull, bool is_stream) {
  while (true) {
    for (const hub::PullProgress& step : pull.take_steps()) {
      if (is_stream && !call.is_congested()) call.write(pull_lines(step));
    }
    if (pull.result()) {
      end_pull(call, is_stream, *pull.result());
      co_return Status();
    }
    UpdateWait wait(call);
    const Status update = co_await wait;
    if (call.is_over()) co_return Status();
    if (!update.ok()) {
      end_pull(call, is_stream, update);
      co_return Status();
    }
  }
}

struct PullWish {
  hub::ModelName name;
  bool is_stream;
  bool is_there;  // it already exists
};

Result<PullWish> read_pull(const Call& call, const Json& body) {
  RZ_TRY(const std::string given, required_name(body));
  Fields fields(body);
  const bool is_stream = fields.boolean("stream").value_or(true);
  static_cast<void>(fields.boolean("insecure"));
  if (!fields.status().ok()) return fields.status().error();
  const auto file = find_file(call, given);
  const bool is_there = file.ok() && (!file->store_name || file->made != nullptr || !may_change_store(call));
  if (is_there) return PullWish{{}, is_stream, true};
  RZ_TRY(const hub::ModelName name, name_to_pull(given));
  return PullWish{name, is_stream, false};
}

struct CopyWish {
  NamedFile file;
  std::string destination;
};

Result<CopyWish> read_copy(const Call& call, const Json& json) {
  Fields body(json);
  const std::string source = body.text("source").value_or(""), destination = body.text("destination").value_or("");
  if (!body.status().ok()) return body.status().error();
  if (source.empty()) return invalid_argument("source is required", "source");
  if (destination.empty()) return invalid_argument("destination is required", "destination");
  RZ_TRY(NamedFile file, find_file_to_make_of(call, source, "source"));
  return CopyWish{std::move(file), destination};
}

Status copy_in_memory(const Call& call, const CopyWish& wish) {
  RZ_CHECK_OK(check_name_is_free(call, wish.destination));
  ModelAlias copy = wish.file.made == nullptr ? ModelAlias{} : *wish.file.made;
  copy.name = wish.destination;
  copy.base = wish.file.id;
  if (wish.file.made == nullptr) copy.parent = wish.file.name;
  copy.modified = std::chrono::system_clock::now();
  return call.context.client_models->made.put(tenant_of(call.key), std::move(copy));
}

HttpResponse done() {
  return {200, "", "", {}};
}

}  // namespace

Task<Status> post_ollama_pull(Call& call, const Json& body) {
  RZ_CO_TRY(const PullWish wish, read_pull(call, body));
  if (wish.is_there) {
    call.send(told_steps(wish.is_stream, {"pulling manifest", "verifying sha256 digest", "writing manifest"}));
    co_return Status();
  }
  if (refuse_store_change(call)) co_return Status();
  ServerContext& context = call.context;
  const auto on_stored = [&models = context.models](ModelSource model) { models.put(std::move(model)); };
  RZ_CO_TRY(const ModelPullPtr pull, context.pulls->start(call.tenant, wish.name, wish.name, on_stored));
  // The call is notified by the download, which ends with it.
  pull->on_update = [&call] { call.signal_update(); };
  const AtEnd unheard([&] {
    pull->on_update = {};
    pull->cancel();
  });
  if (wish.is_stream) {
    call.begin_stream({200, kOllamaLines, "", {}});
    call.write(status_line("pulling manifest"));
  }
  Task<Status> following = follow_pull(call, *pull, wish.is_stream);
  co_return co_await following;
}

Task<Status> post_ollama_copy(Call& call, const Json& body) {
  RZ_CO_TRY(const CopyWish wish, read_copy(call, body));
  const bool is_stored = wish.file.store_name && wish.file.made == nullptr && may_change_store(call);
  if (!is_stored) {
    RZ_CO_CHECK_OK(copy_in_memory(call, wish));
    co_return call.finish(done());
  }
  RZ_CO_TRY(const hub::ModelName name, name_in_store(call, wish.destination));
  OnWorker copying(call, 0, [&, store = call.context.options.store]() -> Result<ModelSource> {
    RZ_CHECK_OK(store->library.store().copy(*wish.file.store_name, name));
    return stored_source(*store, name);
  });
  RZ_CO_TRY(ModelSource model, co_await copying);
  take_in_stored(call, std::move(model));
  co_return call.finish(done());
}

Task<Status> delete_ollama_model(Call& call, const Json& body) {
  RZ_CO_TRY(const std::string name, required_name(body));
  if (call.context.client_models->made.erase(tenant_of(call.key), name)) co_return call.finish(done());
  RZ_CO_TRY(const NamedFile file, find_file(call, name));
  if (!file.store_name) {
    co_return invalid_argument(
        fmt::format("the model '{}' is not one of the store; it stays until the server ends", shown(name)), "model");
  }
  if (refuse_store_change(call)) co_return Status();
  const bool others_stay = std::ranges::any_of(
      call.context.models.entries(), [&](const auto& entry) { return entry.source.store_name != file.store_name; });
  if (!others_stay) co_return wrong("model", "the last model cannot be deleted");
  OnWorker removing(call, 0,
                    [&, store = call.context.options.store] { return delete_stored(*store, *file.store_name); });
  RZ_CO_CHECK_OK(co_await removing);
  drop_stored(call, *file.store_name);
  co_return call.finish(done());
}

Status post_ollama_push(Call& call, const Json& body) {
  RZ_TRY(const std::string name, required_name(body));
  RZ_TRY([[maybe_unused]] const NamedFile file, find_file(call, name));
  return unsupported("pushing models is not built: no registry gets models from this server", "model");
}

}  // namespace realizar::server
