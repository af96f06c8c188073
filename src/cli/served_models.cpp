#include "cli/served_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/ascii_case.h"
#include "base/try.h"
#include "cli/output.h"
#include "cli/pull_view.h"
#include "cli/store_flags.h"
#include "formats/folder_modules.h"
#include "formats/gguf_kind.h"
#include "server/models/model_store.h"
#include "text/utf8.h"

namespace realizar::cli {
namespace {

// The models on this machine, in a server's order: those of the store, the most recently pulled first; then those of
// other programs, and never the bundled one. A model that cannot be served is left out, with a line that says so.
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

// A named model that the server was started with. Errors: as StoreFlags::find.
Result<server::ModelSource> named_model(const StoreFlags& store, const std::string& id, const std::string& given) {
  RZ_TRY(const hub::LocalModel model, store.find_named(given));
  RZ_TRY(server::ModelSource source, server::source_of_local(model));
  source.id = id;
  return source;
}

// "ID=PATH", or a path whose name without suffix is the id.
server::ModelSource source_of(const std::string& text) {
  const size_t sign = text.find('=');
  std::error_code error;
  if (sign != std::string::npos && !std::filesystem::exists(text, error)) {
    return {text.substr(0, sign), text.substr(sign + 1)};
  }
  auto path = std::filesystem::path(text).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string ending = lower_case(path.extension().string());
  const bool has_ending = ending == ".gguf" || ending == ".safetensors";
  return {has_ending ? path.stem().string() : path.filename().string(), text};
}

// A file or folder, or the name of a model, which is downloaded if requested.
Result<server::ModelSource> find_source(const ServedModelArgs& args, const StoreFlags& store, const std::string& text) {
  const size_t sign = hub::has_name_scheme(text) ? std::string::npos : text.find('=');
  std::error_code error;
  server::ModelSource source = source_of(text);
  if (std::filesystem::exists(source.path, error)) return source;
  const std::string given = sign == std::string::npos ? text : text.substr(sign + 1);
  const std::string id = sign == std::string::npos ? text : text.substr(0, sign);
  if (args.pull && !store.find(given).ok()) {
    RZ_TRY(const hub::ModelName name, hub::parse_name(given));
    RZ_TRY(const hub::HubSettings settings, store.hub_settings());
    RZ_TRY([[maybe_unused]] const auto model, pull_shown(name, store.library().store(), settings));
  }
  return named_model(store, id, given);
}

enum class Holds : uint8_t { kNothing, kModel, kSeveral };

Holds what_holds(const std::filesystem::path& path) {
  std::error_code error;
  if (is_gguf_model(path) || is_hf_folder(path)) return Holds::kModel;
  if (!std::filesystem::is_directory(path, error)) return Holds::kNothing;
  const auto found = find_gguf(path);
  if (found.ok()) return Holds::kModel;
  return found.error().code == ErrorCode::kInvalidArgument ? Holds::kSeveral : Holds::kNothing;
}

// Every .gguf file, and every folder with a config.json or a single .gguf file, in alphabetical order. A split
// file is named by its first part. Entries that nobody could request are left out, with a line that says so: broken
// links, names that are not UTF-8, folders with several models.
Result<std::vector<server::ModelSource>> find_models(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return not_found("there is no folder " + folder, folder);
  std::vector<server::ModelSource> found;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const Holds holds = what_holds(entry->path());
    if (holds == Holds::kNothing) continue;
    const std::string path = entry->path().string(), name = entry->path().filename().string();
    if (holds == Holds::kSeveral) {
      warn(fmt::format("{0} is ignored: it contains several models; --models-dir {0} serves them", path));
    } else if (!std::filesystem::exists(path, ignored)) {
      warn(path + " is ignored: it does not exist, or it is a link to nothing");
    } else if (!text::is_valid_utf8(name)) {
      warn(path + " is ignored: its name is not UTF-8; ID=PATH gives it another");
    } else {
      found.push_back(source_of(path));
    }
  }
  if (error) return not_found("cannot read the folder " + folder + ": " + error.message(), folder);
  if (found.empty()) return not_found("there is no model in " + folder, folder);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return found;
}

// Models of the store that were not named.
void add_store(const StoreFlags& store, std::vector<server::ModelSource>& models) {
  for (server::ModelSource& model : stored_models(store)) {
    const auto is_it = [&](const server::ModelSource& other) {
      return other.id == model.id || other.store_name == model.store_name;
    };
    if (model.store_name && std::ranges::none_of(models, is_it)) models.push_back(std::move(model));
  }
}

// If nothing is named, the models shown by `list` are served, the most recently pulled first; the bundled one if there
// is nothing else, or before the others.
Result<std::vector<server::ModelSource>> models_of_store(const StoreFlags& store, bool with_bundled) {
  std::vector<server::ModelSource> models = stored_models(store);
  if (!with_bundled && !models.empty()) return models;
  auto bundled = bundled_model_path("serve");
  if (!bundled.ok() && models.empty()) return bundled.error();
  if (bundled.ok()) models.insert(models.begin(), {hub::kBundledModel, *bundled});
  return models;
}

Status check_names(const std::vector<server::ModelSource>& models) {
  for (size_t i = 0; i < models.size(); ++i) {
    const auto& model = models[i];
    std::error_code error;
    if (!std::filesystem::exists(model.path, error)) return not_found("there is no " + model.path, model.path);
    if (!text::is_valid_utf8(model.id)) {
      return invalid_argument("the id of " + model.path + " is not UTF-8; name it ID=PATH", "model");
    }
    const auto end = models.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(models.begin(), end, [&](const auto& other) { return other.id == model.id; })) {
      return invalid_argument("two models are called '" + model.id + "'; name one ID=PATH", "model");
    }
  }
  return {};
}

bool has_name(const server::ModelSource& model, const std::string& name) {
  return model.id == name || std::find(model.aliases.begin(), model.aliases.end(), name) != model.aliases.end();
}

struct FlagsModel {
  server::ModelSource* model;
  std::string name;
};

// NAME, if a single model is served, or ID=NAME.
Result<FlagsModel> model_of_flag(const std::string& flag, const std::string& text,
                                 std::vector<server::ModelSource>& models) {
  const auto is_meant = [&](const server::ModelSource& model) { return text.starts_with(model.id + "="); };
  auto model = std::find_if(models.begin(), models.end(), is_meant);
  const std::string name = model == models.end() ? text : text.substr(model->id.size() + 1);
  if (model == models.end() && models.size() == 1) model = models.begin();
  if (model == models.end()) {
    return invalid_argument(flag + " " + text + ": several models are served; expected ID=NAME with the id of one");
  }
  if (name.empty() || !text::is_valid_utf8(name)) {
    return invalid_argument(flag + " " + text + ": expected a name in UTF-8");
  }
  return FlagsModel{&*model, name};
}

Status add_alias(const std::string& text, std::vector<server::ModelSource>& models) {
  RZ_TRY(const FlagsModel named, model_of_flag("--alias", text, models));
  // Its own id may be among them, as in llama-server.
  const auto is_taken = [&](const server::ModelSource& other) {
    return has_name(other, named.name) && (&other != named.model || other.id != named.name);
  };
  if (std::any_of(models.begin(), models.end(), is_taken)) {
    return invalid_argument("--alias " + text + ": a model is called '" + named.name + "' already", "alias");
  }
  named.model->aliases.push_back(named.name);
  return {};
}

Status add_tag(const std::string& text, std::vector<server::ModelSource>& models) {
  RZ_TRY(const FlagsModel named, model_of_flag("--tags", text, models));
  named.model->tags.push_back(named.name);
  return {};
}

// `texts`: each contains values separated by commas.
Status add_each(const std::vector<std::string>& texts,
                Status (*add)(const std::string&, std::vector<server::ModelSource>&),
                std::vector<server::ModelSource>& models) {
  for (const std::string& text : texts) {
    std::istringstream values(text);
    for (std::string value; std::getline(values, value, ',');) RZ_CHECK_OK(add(value, models));
  }
  return {};
}

// The model that the adapter belongs to. Removes the model's id from NAME or ID:NAME.
Result<server::ModelSource*> model_of_adapter(const char* flag, std::string& name,
                                              std::vector<server::ModelSource>& models) {
  const auto refuse = [&](const char* why) {
    return invalid_argument(fmt::format("{} {}: {}", flag, name, why), "lora");
  };
  const auto is_meant = [&](const server::ModelSource& model) { return name.starts_with(model.id + ":"); };
  auto model = std::ranges::find_if(models, is_meant);
  if (model == models.end() && models.size() > 1) {
    return refuse("several models are served; expected ID:NAME with the id of one");
  }
  if (model == models.end()) {
    model = models.begin();
  } else {
    name.erase(0, model->id.size() + 1);
  }
  const bool is_name = !name.empty() && name.find(':') == std::string::npos && text::is_valid_utf8(name);
  return is_name ? Result<server::ModelSource*>(&*model) : refuse("expected a name in UTF-8 without ':'");
}

Status set_default_adapter(std::string name, std::vector<server::ModelSource>& models) {
  RZ_TRY(server::ModelSource * model, model_of_adapter("--lora-default", name, models));
  if (std::ranges::find(model->adapters, name, &AdapterSource::name) == model->adapters.end()) {
    return invalid_argument(fmt::format("--lora-default {}: no --lora of {} has that name", name, model->id), "lora");
  }
  model->default_adapter = std::move(name);
  return {};
}

}  // namespace

Result<server::ModelSource> find_later_model(const StoreFlags& store, const std::string& given) {
  std::error_code error;
  if (given.starts_with('/') && std::filesystem::exists(given, error)) return server::ModelSource{given, given};
  return named_model(store, given, given);
}

Result<std::vector<server::ModelSource>> find_served_models(const ServedModelArgs& args, const StoreFlags& store) {
  std::vector<server::ModelSource> models;
  for (const std::string& model : args.models) {
    RZ_TRY(server::ModelSource source, find_source(args, store, model));
    models.push_back(std::move(source));
  }
  if (!args.folder.empty()) {
    RZ_TRY(auto found, find_models(args.folder));
    for (server::ModelSource& model : found) model.is_deletable = args.are_deletable;
    models.insert(models.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  if (models.empty()) {
    RZ_TRY(models, models_of_store(store, args.with_bundled));
  }
  if (args.with_store) add_store(store, models);
  RZ_CHECK_OK(check_names(models));
  RZ_CHECK_OK(add_each(args.aliases, add_alias, models));
  RZ_CHECK_OK(add_each(args.tags, add_tag, models));
  for (AdapterSource adapter : args.adapters) {
    RZ_TRY(server::ModelSource * model, model_of_adapter("--lora", adapter.name, models));
    model->adapters.push_back(std::move(adapter));
  }
  for (const std::string& name : args.default_adapters) RZ_CHECK_OK(set_default_adapter(name, models));
  return models;
}

}  // namespace realizar::cli
