#include <atomic>
#include <chrono>
#include <future>
#include <optional>

#include "base/caught.h"
#include "base/try.h"
#include "hub/locate.h"
#include "hub/pull.h"
#include "hub/user_folders.h"
#include "realizar/models.h"

namespace realizar {
namespace {

// One pull. The hub polls `cancelled_` on any thread.
class Pull {
 public:
  Pull(const PullOptions& options, hub::HubSettings settings)
      : options_(options), settings_(std::move(settings)), library_(hub::user_library(options.models_store)) {}

  Result<hub::ModelName> run(const hub::ModelName& name) {
    auto pulled = find_or_download(name);
    // A cancelled pull stays cancelled, whatever else has failed in the meantime.
    if (pulled.ok() || !cancelled_) return pulled;
    return Error{ErrorCode::kCancelled, hub::to_string(name) + ": cancelled; received data is kept", ""};
  }

 private:
  Result<hub::ModelName> find_or_download(hub::ModelName name);
  Result<std::optional<hub::ModelName>> find_here(const hub::ModelName& name) const;
  void tell(const std::string& file, uint64_t done_bytes, uint64_t total_bytes) {
    if (options_.progress && !options_.progress(file, done_bytes, total_bytes)) cancelled_ = true;
  }
  template <class Ask>
  auto ask(const Ask& question) -> decltype(question());

  const PullOptions& options_;
  hub::HubSettings settings_;
  hub::Library library_;
  std::atomic<bool> cancelled_{false};
};

// Servers are contacted on a separate thread, while this one reports to the caller, who may cancel.
template <class Ask>
auto Pull::ask(const Ask& question) -> decltype(question()) {
  constexpr auto kTick = std::chrono::milliseconds(100);
  auto answer = std::async(std::launch::async, [&] { return caught(question); });
  do {
    tell("", 0, 0);
  } while (answer.wait_for(kTick) != std::future_status::ready);
  return answer.get();
}

Result<std::optional<hub::ModelName>> Pull::find_here(const hub::ModelName& name) const {
  if (!options_.file.empty()) return hub::locate_match(library_, name, options_.file);
  const bool is_here = library_.find(name).ok();
  return is_here ? std::optional(name) : std::nullopt;
}

Result<hub::ModelName> Pull::find_or_download(hub::ModelName name) {
  if (options_.only_if_missing) {
    RZ_TRY(const auto found, find_here(name));
    if (found) return *found;
  }
  if (!options_.file.empty()) {
    RZ_TRY(name, ask([&] { return hub::look_up_match(name, options_.file, settings_, cancelled_); }));
  }
  RZ_TRY(const hub::RemoteModel remote, ask([&] { return hub::look_up(name, settings_, cancelled_); }));
  const auto on_progress = [&](const hub::PullProgress& progress) {
    tell(progress.file, progress.total_done, progress.total_bytes);
  };
  RZ_CHECK_OK(hub::pull(name, remote, library_.store(), settings_, on_progress, cancelled_));
  return name;
}

}  // namespace

Result<std::string> pull_model(const std::string& name, const PullOptions& options) {
  return caught([&]() -> Result<std::string> {
    RZ_TRY(const hub::ModelName parsed, hub::parse_name(name));
    hub::HubChoices choices;
    choices.mirror = options.mirror;
    choices.token = options.token;
    choices.ca_file = options.ca_file;
    RZ_TRY(hub::HubSettings settings, hub::user_hub_settings(choices));
    RZ_TRY(const hub::ModelName pulled, Pull(options, std::move(settings)).run(parsed));
    return hub::to_string(pulled);
  });
}

}  // namespace realizar
