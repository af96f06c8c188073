// create: makes a model in the store from a Modelfile.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/modelfile.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "formats/gguf_kind.h"
#include "hub/locate.h"
#include "hub/new_blob.h"
#include "server/models/created_model.h"

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct CreateArgs {
  std::string name, file = "Modelfile";
  StoreFlags store;
};

// A path in a Modelfile is relative to its folder.
Result<hub::LocalModel> parent_of(const hub::Library& library, const std::string& from, const std::string& modelfile) {
  const fs::path beside = fs::path(modelfile).parent_path() / from;
  std::error_code error;
  return hub::locate(library, fs::exists(beside, error) ? beside.string() : from);
}

std::vector<fs::path> files_of(const fs::path& model) {
  std::error_code error;
  if (!fs::is_directory(model, error)) return parts_of_gguf(model);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(model, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  return files;
}

// Texts stored with another program's model are copied too.
Status take_texts(const hub::LocalModel& parent, server::CreateWish& wish) {
  RZ_TRY(const hub::ModelTexts texts, hub::read_texts(parent));
  const auto take = [](const std::string& text, std::optional<std::string>& into) {
    if (!into && !text.empty()) into = text;
  };
  take(texts.chat_template, wish.chat_template);
  take(texts.system, wish.system);
  take(texts.license, wish.license);
  take(texts.messages, wish.messages);
  if (texts.params.empty()) return {};
  Json all = Json::parse(texts.params, nullptr, false);
  if (!all.is_object()) all = Json::object();
  all.update(Json::parse(wish.parameters.value_or("{}")));
  wish.parameters = all.dump();
  return {};
}

Status take_parent(const hub::LocalModel& parent, const hub::Store& store, server::CreateWish& wish) {
  if (parent.place == hub::Place::kStore) {
    wish.parent = parent.name;
    return {};
  }
  RZ_CHECK_OK(take_texts(parent, wish));
  for (const fs::path& file : files_of(parent.path)) {
    RZ_TRY(std::string sha256, hub::add_file(store, file));
    wish.files.push_back({file.filename().string(), std::move(sha256)});
  }
  return {};
}

Result<int> create(const CreateArgs& args) {
  const hub::Library library = args.store.library();
  server::CreateWish wish;
  RZ_TRY(wish.name, hub::parse_name(args.name));
  RZ_TRY(const std::string text, read_text(args.file));
  Result<Modelfile> file = parse_modelfile(text);
  if (!file.ok()) {
    Error error = std::move(file).error();
    error.message = fmt::format("{}: {}", args.file == "-" ? "standard input" : args.file, error.message);
    return error;
  }
  wish.chat_template = std::move(file->chat_template);
  wish.system = std::move(file->system);
  wish.license = std::move(file->license);
  if (!file->parameters.empty()) wish.parameters = file->parameters.dump();
  if (!file->messages.empty()) wish.messages = file->messages.dump();
  RZ_TRY(const hub::LocalModel parent, parent_of(library, file->from, args.file));
  RZ_CHECK_OK(library.store().prepare());
  RZ_CHECK_OK(take_parent(parent, library.store(), wish));
  RZ_CHECK_OK(server::create_stored(library.store(), wish));
  return print_line(fmt::format("created {}", printable(hub::to_string(wish.name)))) ? kOk : kFailure;
}

}  // namespace

void add_create(CommandLine& line) {
  auto args = std::make_shared<CreateArgs>();
  Flags flags = line.command("create",
                             "Create a model in the store from another one or a file, with its own system message, "
                             "parameters and template, from an Ollama Modelfile");
  flags.option("name", args->name, "Name of the new model: NAME or NAME:TAG", {.is_required = true});
  flags.option("-f,--file", args->file, "Modelfile; '-': standard input", {.has_default = true, .takes = kFile});
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar create poet -f Modelfile", "echo 'FROM qwen3:1.7b' | realizar create work -f -"});
  flags.runs([args] { return create(*args); });
}

}  // namespace realizar::cli
