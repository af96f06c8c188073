#include "cli/stored_models.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

Result<server::ModelSource> source_of_stored(const hub::LocalModel& model) {
  if (model.has_adapter) return unsupported(hub::to_string(model.name) + ": adapters are not supported", "model");
  RZ_TRY(hub::ModelTexts texts, hub::read_texts(model));
  server::ModelSource source{hub::to_string(model.name), model.path.string()};
  source.beside = {std::move(texts.chat_template), std::move(texts.params)};
  return source;
}

}  // namespace

std::vector<server::ModelSource> stored_models(const StoreFlags& store) {
  std::vector<std::string> notes;
  std::vector<hub::LocalModel> models = store.library().list(notes);
  std::ranges::stable_sort(models, [](const hub::LocalModel& a, const hub::LocalModel& b) {
    const bool is_a_ours = a.place == hub::Place::kStore, is_b_ours = b.place == hub::Place::kStore;
    return is_a_ours != is_b_ours ? is_a_ours : a.pulled > b.pulled;
  });
  std::vector<server::ModelSource> sources;
  for (const hub::LocalModel& model : models) {
    auto source = source_of_stored(model);
    if (source.ok()) {
      sources.push_back(std::move(*source));
    } else {
      notes.push_back(source.error().message);
    }
  }
  for (const std::string& note : notes) warn("left out: " + note);
  return sources;
}

Result<server::ModelSource> named_model(const StoreFlags& store, const std::string& id, const std::string& given) {
  RZ_TRY(FoundModel found, store.find(given));
  server::ModelSource source{id, std::move(found.path)};
  source.beside = std::move(found.beside);
  return source;
}

}  // namespace realizar::cli
