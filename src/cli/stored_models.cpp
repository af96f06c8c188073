#include "cli/stored_models.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "cli/output.h"
#include "server/models/model_store.h"

namespace realizar::cli {

std::vector<server::ModelSource> stored_models(const StoreFlags& store) {
  std::vector<std::string> notes;
  std::vector<hub::LocalModel> models = store.library().list(notes);
  std::erase_if(models, [](const hub::LocalModel& model) { return model.place == hub::Place::kBundled; });
  std::ranges::stable_sort(models, [](const hub::LocalModel& a, const hub::LocalModel& b) {
    const bool is_a_ours = a.place == hub::Place::kStore, is_b_ours = b.place == hub::Place::kStore;
    return is_a_ours != is_b_ours ? is_a_ours : a.pulled > b.pulled;
  });
  std::vector<server::ModelSource> sources;
  for (const hub::LocalModel& model : models) {
    auto source = server::source_of_local(model);
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
  RZ_TRY(const hub::LocalModel model, store.find_named(given));
  RZ_TRY(server::ModelSource source, server::source_of_local(model));
  source.id = id;
  return source;
}

}  // namespace realizar::cli
