#include "server/models/model_loader.h"

#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <utility>

#include "api/long_context.h"
#include "base/caught.h"
#include "base/try.h"
#include "server/models/prefix_keeper.h"
#include "server/models/registry_options.h"

namespace realizar::server {
namespace {

void log_loaded(const std::string& id, const ModelInfo& info) {
  spdlog::info("{} is loaded on {}", id, info.backend);
  if (!info.gpu_refusal.empty()) spdlog::warn("{} is not on the GPU: {}", id, info.gpu_refusal);
  if (const std::string warning = long_context_warning(info); !warning.empty()) spdlog::warn("{}: {}", id, warning);
  for (const std::string& note : info.notes) spdlog::warn("{}: {}", id, note);
  if (!info.check.empty()) spdlog::info("{}", info.check);
}

std::function<void(const ServedModel&)> keeping_in(PrefixKeeper& prefixes) {
  return [&prefixes](const ServedModel& model) {
    const Status kept = caught([&] { prefixes.keep(model.id, *model.loaded); });
    if (!kept.ok()) spdlog::error("the prefixes of {} are not kept: {}", model.id, kept.error().message);
  };
}

}  // namespace

Result<ServedModelPtr> load_served_model(const ModelSource& source, const RegistryOptions& options,
                                         const LoadOptions& load_options, const std::atomic<bool>& stopping) {
  RZ_TRY(auto loaded, options.load_model(source.path, load_options));
  if (stopping) return Error{ErrorCode::kCancelled, "the server is shutting down", ""};
  if (!loaded->tokenizer) return unsupported(source.path + " has no tokenizer, so it cannot be served", "model");
  log_loaded(source.id, loaded->info);
  auto model = std::make_shared<ServedModel>();
  model->id = source.id;
  model->loaded = std::move(loaded);
  if (options.adapt) RZ_CHECK_OK(options.adapt(*model->loaded));
  model->defaults = options.defaults;
  model->texts = source.texts;
  if (options.prefixes != nullptr) options.prefixes->restore(source.id, *model->loaded);
  if (options.prefixes != nullptr) model->keep_prefixes = keeping_in(*options.prefixes);
  model->output_format = model->loaded->output_format;
  model->thread =
      std::make_unique<engine::EngineThread>(*model->loaded->engine, options.max_queue, options.on_progress);
  return model;
}

}  // namespace realizar::server
