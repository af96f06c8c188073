// rm, cp and prune: commands that change the store and download nothing.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/service.h"
#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

struct RemoveArgs {
  std::vector<std::string> names;
  StoreFlags store;
};

// Downloads of other programs belong to them.
Error not_ours(const hub::LocalModel& model) {
  const std::string name = hub::to_string(model.name);
  if (model.place == hub::Place::kBundled) {
    return invalid_argument(fmt::format("'{}' is part of the program, and not in the store", name), "model");
  }
  return invalid_argument(fmt::format("'{}' is not in the store: {} has downloaded it to {}, and removes it", name,
                                      hub::place_name(model.place), model.path.string()),
                          "model");
}

// A server that holds it would keep it in memory, though it can no longer be requested.
void unload_in_service(const std::string& name) {
  const auto service = Service::find();
  if (service == nullptr) return;
  // It does not matter if the server does not have it.
  static_cast<void>(service->ask("/v1/models/unload", {{"model", name}}));
}

Status remove_one(const std::string& given, const StoreFlags& flags) {
  const hub::Library library = flags.library();
  RZ_TRY(const hub::ModelName name, hub::parse_name(given));
  if (!library.store().has_name(name)) {
    RZ_TRY(const hub::LocalModel other, flags.find_named(given));
    if (other.place != hub::Place::kStore) return not_ours(other);
    return not_found(fmt::format("'{}' is in the store under the name {}", given, hub::to_string(other.name)), "model");
  }
  RZ_TRY(const hub::Store::Removed removed, library.store().remove(name));
  const std::string busy = removed.are_busy ? "; its files stay until realizar prune, since the store is in use" : "";
  for (const std::string& note : removed.notes) warn(note);
  unload_in_service(given);
  print_line(fmt::format("removed {}: freed {}{}", printable(hub::to_string(name)), bytes_text(removed.n_bytes), busy));
  return {};
}

int remove(const RemoveArgs& args) {
  int code = kOk;
  for (const std::string& name : args.names) {
    if (const Status status = remove_one(name, args.store); !status.ok()) code = fail(status.error());
  }
  return code;
}

struct CopyArgs {
  std::string from, to;
  StoreFlags store;
};

Result<int> copy(const CopyArgs& args) {
  const hub::Library library = args.store.library();
  RZ_TRY(const hub::ModelName to, hub::parse_name(args.to));
  RZ_TRY(const hub::LocalModel model, args.store.find_named(args.from));
  if (model.place != hub::Place::kStore) return not_ours(model);
  RZ_CHECK_OK(library.store().copy(model.name, to));
  print_line(
      fmt::format("{} names what {} names", printable(hub::to_string(to)), printable(hub::to_string(model.name))));
  return kOk;
}

Result<int> prune(const StoreFlags& flags) {
  RZ_TRY(const hub::Store::Removed removed, flags.library().store().prune());
  if (removed.are_busy) {
    return invalid_argument("the store is in use by a download; prune it when that has ended", "store");
  }
  for (const std::string& note : removed.notes) warn(note);
  return print_line(fmt::format("freed {}", bytes_text(removed.n_bytes))) ? kOk : kFailure;
}

}  // namespace

void add_rm(CommandLine& line) {
  auto args = std::make_shared<RemoveArgs>();
  Flags flags = line.command("rm", "Remove models from the store: the names, and the files that no other name has");
  flags.option("names", args->names, "Names, as `realizar list` prints them",
               {.shown_as = "NAME...", .is_required = true});
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar rm qwen3:1.7b"});
  flags.runs([args] { return remove(*args); });
}

void add_cp(CommandLine& line) {
  auto args = std::make_shared<CopyArgs>();
  Flags flags = line.command("cp", "Give a model in the store another name; this needs no disk space");
  flags.option("from", args->from, "Name of the model", {.is_required = true});
  flags.option("to", args->to, "New name: NAME or NAME:TAG", {.is_required = true});
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar cp hf:Qwen/Qwen3-4B-GGUF:Q8_0 work"});
  flags.runs([args] { return copy(*args); });
}

void add_prune(CommandLine& line) {
  auto args = std::make_shared<StoreFlags>();
  Flags flags = line.command("prune",
                             "Remove from the store what no name has: files of older versions, and downloads that were "
                             "not finished");
  args->add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar prune"});
  flags.runs([args] { return prune(*args); });
}

}  // namespace realizar::cli
