#include "server/models/blob_upload.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/caught.h"
#include "base/try.h"
#include "server/http/api_error.h"

namespace realizar::server {
namespace {

constexpr size_t kMostWaitingBytes = 4u << 20;

}  // namespace

Result<std::shared_ptr<BlobUpload>> BlobUpload::start(const hub::Store& store, std::string sha256, uint64_t n_bytes,
                                                      SharedSlots& slots, uint64_t tenant, const PostIo& post_io) {
  std::shared_ptr<BlobUpload> upload(new BlobUpload);
  // Runs on the I/O thread if the upload still exists.
  const auto tell = [self = upload->self_, post_io](const std::function<void(BlobUpload&)>& update) {
    post_io([self, update] {
      if (*self != nullptr) update(**self);
    });
  };
  upload->slot_ = slots.take(tenant, [tell] {
    tell([](BlobUpload& leaving) {
      leaving.on_end(Error{ErrorCode::kResourceExhausted, "the upload gave way to another client's", "uploads"});
    });
  });
  if (upload->slot_ == nullptr) {
    return Error{ErrorCode::kResourceExhausted, fmt::format("{} uploads are under way already", slots.n_taken()),
                 "uploads"};
  }
  const auto task = [shared = upload->shared_, tell, store, sha256 = std::move(sha256),
                     n_bytes](TaskThread::Listener& listener) {
    const auto tell_if_wanted = [&](const std::function<void(BlobUpload&)>& update) {
      static_cast<void>(caught([&] { listener.tell([&] { tell(update); }); }));
    };
    const auto on_taken = [&] {
      tell_if_wanted([](const BlobUpload& taking) {
        if (taking.on_room) taking.on_room();
      });
    };
    const Status written = caught([&] { return write_all(*shared, store, sha256, n_bytes, on_taken); });
    tell_if_wanted([written](BlobUpload& taking) { taking.on_end(written); });
  };
  RZ_CHECK_OK(caught([&] { upload->thread_ = std::make_unique<TaskThread>(task); }));
  return upload;
}

BlobUpload::~BlobUpload() {
  *self_ = nullptr;
  leave();
  if (thread_ != nullptr) thread_->end_until(std::chrono::steady_clock::now());
}

// Waiting data is dropped, and written data removed.
void BlobUpload::leave() {
  shared_->tell([this] { shared_->is_left = true; });
}

// On the upload's thread.
Status BlobUpload::write_all(Shared& shared, const hub::Store& store, const std::string& sha256, uint64_t n_bytes,
                             const std::function<void()>& on_taken) {
  RZ_TRY(hub::NewBlob blob, hub::NewBlob::create(store, sha256, n_bytes));
  while (true) {
    std::string bytes;
    {
      std::unique_lock lock(shared.mutex);
      shared.changed.wait(lock, [&] { return !shared.waiting.empty() || shared.is_whole || shared.is_left; });
      if (shared.is_left) return Error{ErrorCode::kCancelled, "the client went away", ""};
      if (shared.waiting.empty()) break;
      bytes.swap(shared.waiting);
    }
    if (bytes.size() >= kMostWaitingBytes) on_taken();
    RZ_CHECK_OK(blob.write(bytes));
  }
  return blob.commit();
}

void BlobUpload::on_end(Status status) {
  if (result_) return;
  result_ = std::move(status);
  slot_.reset();
  leave();
  if (on_room) on_room();
  if (on_end_) on_end_();
}

void BlobUpload::take(std::string_view bytes) {
  if (!result_) shared_->tell([&] { shared_->waiting += bytes; });
}

bool BlobUpload::is_full() const {
  const std::lock_guard lock(shared_->mutex);
  return !result_ && shared_->waiting.size() >= kMostWaitingBytes;
}

std::optional<BodySink::Refusal> BlobUpload::refusal() const {
  if (!result_ || result_->ok()) return std::nullopt;
  const ApiError error = to_api_error(result_->error());
  return Refusal{error.status, error.message};
}

void BlobUpload::finish(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  shared_->tell([this] { shared_->is_whole = true; });
}

}  // namespace realizar::server
