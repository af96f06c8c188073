#include "server/blob_upload.h"

#include <chrono>
#include <utility>

#include "base/caught.h"
#include "base/try.h"
#include "server/api_error.h"

namespace realizar::server {
namespace {

constexpr size_t kMostWaitingBytes = 4u << 20;

}  // namespace

BlobUpload::BlobUpload(const hub::Store& store, std::string sha256, uint64_t n_bytes, UploadCount n_uploads,
                       std::function<void(std::function<void()>)> post_io)
    : n_uploads_(std::move(n_uploads)) {
  const auto task = [shared = shared_, self = self_, store, sha256 = std::move(sha256), n_bytes,
                     post_io = std::move(post_io)](TaskThread::Listener& listener) {
    const auto tell = [&](const std::function<void(BlobUpload&)>& news) {
      static_cast<void>(caught([&] {
        listener.tell([&] {
          post_io([self, news] {
            if (*self != nullptr) news(**self);
          });
        });
      }));
    };
    const auto on_taken = [&] {
      tell([](const BlobUpload& upload) {
        if (upload.on_room) upload.on_room();
      });
    };
    const Status written = caught([&] { return write_all(*shared, store, sha256, n_bytes, on_taken); });
    tell([written](BlobUpload& upload) { upload.on_written(written); });
  };
  thread_ = std::make_unique<TaskThread>(task);
  ++*n_uploads_;
}

BlobUpload::~BlobUpload() {
  --*n_uploads_;
  *self_ = nullptr;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_left = true;
  }
  shared_->has_news.notify_one();
  thread_->end_until(std::chrono::steady_clock::now());
}

// On the upload's thread.
Status BlobUpload::write_all(Shared& shared, const hub::Store& store, const std::string& sha256, uint64_t n_bytes,
                             const std::function<void()>& on_taken) {
  RZ_TRY(hub::NewBlob blob, hub::NewBlob::create(store, sha256, n_bytes));
  while (true) {
    std::string bytes;
    {
      std::unique_lock lock(shared.mutex);
      shared.has_news.wait(lock, [&] { return !shared.waiting.empty() || shared.is_whole || shared.is_left; });
      if (shared.is_left) return Error{ErrorCode::kCancelled, "the client went away", ""};
      if (shared.waiting.empty()) break;
      bytes.swap(shared.waiting);
    }
    if (bytes.size() >= kMostWaitingBytes) on_taken();
    RZ_CHECK_OK(blob.write(bytes));
  }
  return blob.commit();
}

void BlobUpload::on_written(Status status) {
  result_ = std::move(status);
  if (on_room) on_room();
  if (on_end_) on_end_();
}

void BlobUpload::take(std::string_view bytes) {
  if (result_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->waiting += bytes;
  }
  shared_->has_news.notify_one();
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
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_whole = true;
  }
  shared_->has_news.notify_one();
}

}  // namespace realizar::server
