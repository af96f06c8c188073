#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/pull_view.h"
#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

struct PullArgs {
  std::vector<std::string> names;
  StoreFlags store;
};

Status pull_one(const std::string& given, const PullArgs& args, const hub::HubSettings& settings) {
  RZ_TRY(const hub::ModelName name, hub::parse_name(given));
  const auto start = std::chrono::steady_clock::now();
  RZ_TRY(const hub::StoredModel model, pull_shown(name, args.store.library().store(), settings));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const bool is_printed = print_line(fmt::format("pulled {}: {} in {}", printable(hub::to_string(name)),
                                                 bytes_text(model.manifest.n_bytes()), time_text(seconds.count())));
  return is_printed ? Status() : Error{ErrorCode::kInternal, "standard output cannot be written", ""};
}

Result<int> pull(const PullArgs& args) {
  RZ_TRY(const hub::HubSettings settings, args.store.hub_settings());
  int code = kOk;
  for (const std::string& name : args.names) {
    const Status status = pull_one(name, args, settings);
    if (status.ok()) continue;
    code = fail_or_interrupted(status.error());
    if (code == kInterrupted) return code;
  }
  return code;
}

}  // namespace

void add_pull(CommandLine& line) {
  auto args = std::make_shared<PullArgs>();
  Flags flags = line.command(
      "pull",
      "Download models by name. Interrupted downloads are resumed, and existing files are not downloaded again");
  flags.option("names", args->names,
               "Names: hf:OWNER/REPOSITORY[:QUANTIZATION or FILE] of Hugging Face, ollama:NAME[:TAG] of Ollama's "
               "registry, https://HOST/FILE.gguf, or a short name such as qwen3:1.7b",
               {.shown_as = "NAME...", .is_required = true, .takes = kShortName});
  args->store.add_to(flags, StoreFlags::Network::kYes);
  flags.examples(
      {"realizar pull qwen3:1.7b", "realizar pull hf:Qwen/Qwen3-4B-GGUF:Q8_0", "realizar pull ollama:llama3.2:1b"});
  flags.runs([args] { return pull(*args); });
}

}  // namespace realizar::cli
