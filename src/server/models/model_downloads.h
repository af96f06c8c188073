// Downloads into the store that clients request while a server runs, each on its own thread. I/O thread, except for the
// work of a download's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hub/pull.h"
#include "realizar/result.h"
#include "server/http/shared_slots.h"
#include "server/http/task_thread.h"
#include "server/models/model_events.h"
#include "server/models/model_store.h"

namespace realizar::server {

// One download. It continues until it has ended or is cancelled, whoever still holds it.
class ModelPull {
 public:
  // The steps since the last call: a file's latest progress replaces earlier ones.
  std::vector<hub::PullProgress> take_steps();
  // Nullopt until it has ended. By then the model is available under its name.
  const std::optional<Status>& result() const { return result_; }
  // Ends it soon; received data is kept for the next download.
  void cancel() { is_cancelled_ = true; }

  hub::ModelName name, source;
  std::function<void()> on_update;  // there are steps, or the result

 private:
  friend class ModelPulls;
  bool add_step(const hub::PullProgress& step);

  std::atomic<bool> is_cancelled_{false};
  bool gave_way_ = false;      // to another tenant's download; I/O thread, as is the next
  SharedSlots::SlotPtr slot_;  // until it has ended
  std::mutex mutex_;
  std::deque<hub::PullProgress> steps_;
  std::optional<Status> result_;
};
using ModelPullPtr = std::shared_ptr<ModelPull>;

class ModelPulls {
 public:
  static constexpr uint32_t kMost = 8;  // at a time

  // `post_io` runs a task on the I/O thread. `store` and the objects that `post_io` uses must outlive this.
  ModelPulls(const ModelStore& store, std::function<void(std::function<void()>)> post_io)
      : store_(store), post_io_(std::move(post_io)) {}
  ModelPulls(const ModelPulls&) = delete;
  ModelPulls& operator=(const ModelPulls&) = delete;
  // Cancels all and waits for them: a connection is closed within a tenth of a second.
  ~ModelPulls();

  // Begins to download the model `source`, which gets the name `name`. `on_stored` is called with the model before
  // listeners learn of it. Errors: ResourceExhausted if there is no slot for the tenant.
  Result<ModelPullPtr> start(uint64_t tenant, const hub::ModelName& name, const hub::ModelName& source,
                             std::function<void(ModelSource)> on_stored);

 private:
  struct Running {
    ModelPullPtr pull;
    std::unique_ptr<TaskThread> thread;
  };
  void run(const ModelPullPtr& pull, const std::function<void(ModelSource)>& on_stored) const;

  const ModelStore& store_;
  std::function<void(std::function<void()>)> post_io_;
  std::shared_ptr<SharedSlots> slots_ = SharedSlots::create(kMost);
  std::list<Running> running_;
};

// Downloads that continue whether or not their clients wait, as in llama.cpp's router: POST /v1/models begins one, GET
// /v1/models/sse reports it.
class ModelDownloads {
 public:
  struct Download {
    std::string name;  // as given by the client
    ModelPullPtr pull;
    FileShares files;
    FileShare whole = {0, 0};  // of all its files; 0 bytes: not known yet
  };

  // `on_event`: called when an event was added to `events`.
  ModelDownloads(ModelPulls& pulls, ModelEvents& events, std::function<void()> on_event)
      : pulls_(pulls), events_(events), on_event_(std::move(on_event)) {}
  ModelDownloads(const ModelDownloads&) = delete;
  ModelDownloads& operator=(const ModelDownloads&) = delete;
  ~ModelDownloads();

  // Errors: InvalidArgument if it is already running; those of ModelPulls::start.
  Status start(uint64_t tenant, const std::string& given, const hub::ModelName& name, const hub::ModelName& source,
               std::function<void(ModelSource)> on_stored);
  // False if no download of that name is running.
  bool cancel(const std::string& given);
  const std::list<Download>& list() const { return downloads_; }

 private:
  void on_update(std::list<Download>::iterator download);

  ModelPulls& pulls_;
  ModelEvents& events_;
  std::function<void()> on_event_;
  std::list<Download> downloads_;  // the running ones
};

}  // namespace realizar::server
