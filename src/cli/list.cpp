#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

struct ListArgs {
  bool json = false;
  StoreFlags store;
};

std::string json_line(const hub::LocalModel& model) {
  const nlohmann::ordered_json json{{"name", hub::to_string(model.name)},
                                    {"size", model.n_bytes},
                                    {"place", hub::place_name(model.place)},
                                    {"source", model.source},
                                    {"revision", model.revision},
                                    {"pulled", model.pulled},
                                    {"path", model.path.string()}};
  return json_text(json);
}

std::string table_of(const std::vector<hub::LocalModel>& models) {
  constexpr size_t kDateLength = 10;
  size_t width = 4;
  for (const hub::LocalModel& model : models) width = std::max(width, hub::to_string(model.name).size());
  std::string text = fmt::format("{:<{}}  {:>9}  {:<10}  {}\n", "NAME", width, "SIZE", "PULLED", "PLACE");
  for (const hub::LocalModel& model : models) {
    text += fmt::format("{:<{}}  {:>9}  {:<10}  {}\n", printable(hub::to_string(model.name)), width,
                        bytes_text(model.n_bytes), printable(model.pulled.substr(0, kDateLength)),
                        hub::place_name(model.place));
  }
  return text;
}

int list(const ListArgs& args) {
  std::vector<std::string> notes;
  const std::vector<hub::LocalModel> models = args.store.library().list(notes);
  for (const std::string& note : notes) warn(note);
  for (const hub::LocalModel& model : models) {
    if (!model.note.empty()) warn(model.note);
  }
  if (!args.json) {
    const auto is_bundled = [](const hub::LocalModel& model) { return model.place == hub::Place::kBundled; };
    const bool is_all_read = notes.empty();
    if (is_all_read && std::ranges::all_of(models, is_bundled))
      warn("realizar pull NAME downloads a model, e.g. qwen3:1.7b");
    return print(table_of(models)) ? kOk : kFailure;
  }
  for (const hub::LocalModel& model : models) {
    if (!print_model_text(json_line(model) + "\n")) return kFailure;
  }
  return kOk;
}

}  // namespace

void add_list(CommandLine& line) {
  auto args = std::make_shared<ListArgs>();
  Flags flags = line.command("list",
                             "List the models on this machine: pulled ones, downloads of Hugging Face's programs, "
                             "Ollama, LM Studio and llama.cpp, which are used in place, and the bundled one");
  flags.flag("--json", args->json, "Print JSON, an object a line");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar list"});
  flags.runs([args] { return list(*args); });
}

}  // namespace realizar::cli
