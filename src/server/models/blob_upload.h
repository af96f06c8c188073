// A file that a client uploads into the store: the I/O thread passes its bytes on as they arrive, and a separate thread
// hashes and writes them. I/O thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "hub/new_blob.h"
#include "realizar/result.h"
#include "server/http/http.h"
#include "server/http/shared_slots.h"
#include "server/http/task_thread.h"

namespace realizar::server {

class BlobUpload final : public BodySink {
 public:
  static constexpr uint32_t kMost = 8;  // at a time
  using PostIo = std::function<void(std::function<void()>)>;

  // `post_io` runs a task on the I/O thread. Errors: ResourceExhausted if there is no slot for the tenant, or the
  // system cannot start a thread.
  static Result<std::shared_ptr<BlobUpload>> start(const hub::Store& store, std::string sha256, uint64_t n_bytes,
                                                   SharedSlots& slots, uint64_t tenant, const PostIo& post_io);
  // Ends the upload; a file that is not yet stored is removed.
  ~BlobUpload() override;

  void take(std::string_view bytes) override;
  bool is_full() const override;
  std::optional<Refusal> refusal() const override;

  // The body is complete: `on_end` is called when it is in the store, or has failed. A later call replaces `on_end`.
  void finish(std::function<void()> on_end);
  const std::optional<Status>& result() const { return result_; }

 private:
  // State shared by the thread and the upload.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::string waiting;  // bytes to be written
    bool is_whole = false, is_left = false;

    template <class Change>
    void tell(Change change) {
      {
        const std::lock_guard lock(mutex);
        change();
      }
      changed.notify_one();
    }
  };
  BlobUpload() = default;
  static Status write_all(Shared& shared, const hub::Store& store, const std::string& sha256, uint64_t n_bytes,
                          const std::function<void()>& on_taken);
  void on_end(Status status);
  void leave();

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<BlobUpload*> self_ = std::make_shared<BlobUpload*>(this);  // null after it is destroyed; I/O thread
  SharedSlots::SlotPtr slot_;
  std::optional<Status> result_;
  std::function<void()> on_end_;
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace realizar::server
