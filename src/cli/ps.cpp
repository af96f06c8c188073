// ps and stop: manage the models of the running server.
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/generation.h"
#include "cli/output.h"
#include "cli/service.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<std::unique_ptr<Service>> running_service() {
  auto service = Service::find();
  if (service == nullptr) {
    return not_found("no server of this user is running; realizar serve --background starts one", "service");
  }
  return service;
}

uint64_t held_bytes(const Json& model) {
  return model.value("weight_bytes", uint64_t{0}) + model.value("kv_bytes", uint64_t{0}) +
         model.value("scratch_bytes", uint64_t{0});
}

std::string table_of(const std::vector<Json>& models) {
  size_t width = 4;
  for (const Json& model : models) width = std::max(width, model.value("id", "").size());
  std::string text = fmt::format("{:<{}}  {:>9}  {:>7}  {}\n", "NAME", width, "MEMORY", "CONTEXT", "DEVICE");
  for (const Json& model : models) {
    text += fmt::format("{:<{}}  {:>9}  {:>7}  {}\n", printable(model.value("id", "")), width,
                        bytes_text(held_bytes(model)), model.value("context_length", 0),
                        printable(model.value("backend", "")));
  }
  return text;
}

Result<int> list_loaded(bool json) {
  RZ_TRY(const auto service, running_service());
  RZ_TRY(const Json answer, service->ask("/v1/models", Json()));
  std::vector<Json> loaded;
  for (const Json& model : answer.value("data", Json::array())) {
    if (model.value("loaded", false) && model.contains("backend")) loaded.push_back(model);
  }
  if (!json) return print(table_of(loaded)) ? kOk : kFailure;
  for (const Json& model : loaded) {
    if (!print_model_text(json_text(model) + '\n')) return kFailure;
  }
  return kOk;
}

// Waits until the process has ended: its running requests end first.
Status end_process(int pid) {
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process.get() < 0 || ::kill(pid, SIGTERM) != 0) return not_found("the server is gone already", "service");
  pollfd gone{process.get(), POLLIN, 0};
  while (::poll(&gone, 1, -1) < 0 && errno == EINTR) {
  }
  return {};
}

struct StopArgs {
  std::string model;
  bool is_server = false;
};

Result<int> stop(const StopArgs& args) {
  RZ_TRY(const auto service, running_service());
  if (args.is_server) {
    RZ_CHECK_OK(end_process(service->pid()));
    return print_line("the server has ended") ? kOk : kFailure;
  }
  const Json body{{"model", Service::name_of_model(args.model)}};
  RZ_TRY([[maybe_unused]] const Json answer, service->ask("/v1/models/unload", body));
  return print_line(fmt::format("{} will be unloaded when nobody uses it", printable(args.model))) ? kOk : kFailure;
}

}  // namespace

void add_ps(CommandLine& line) {
  auto json = std::make_shared<bool>(false);
  Flags flags = line.command("ps", "List the models that the running server of this user holds in memory");
  flags.flag("--json", *json, "Print JSON, an object a line");
  flags.examples({"realizar ps", "realizar ps --json"});
  flags.runs([json] { return list_loaded(*json); });
}

void add_stop(CommandLine& line) {
  auto args = std::make_shared<StopArgs>();
  Flags flags = line.command("stop", "Have the running server of this user unload a model; or end that server");
  const Option model = flags.option("model", args->model, "The model, as `realizar ps` prints it");
  flags.flag("--server", args->is_server, "End the server, after the requests that it has");
  flags.examples({"realizar stop qwen3:1.7b", "realizar stop --server"});
  flags.runs([args] { return stop(*args); },
             [args, model] {
               return model.is_given() == args->is_server ? std::string("expected a model, or --server") : "";
             });
}

}  // namespace realizar::cli
