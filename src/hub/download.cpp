#include "hub/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/caught.h"
#include "base/try.h"
#include "hub/partial_file.h"

namespace realizar::hub {
namespace {

constexpr int kOk = 200, kPartial = 206, kForbiddenStatus = 403, kRangeStatus = 416;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 50;

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Content-Range: bytes FIRST-LAST/TOTAL.
struct ContentRange {
  uint64_t first, last, total;
};
std::optional<ContentRange> content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  const size_t dash = text.find('-'), slash = text.find('/');
  if (!text.starts_with(kUnit) || dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = whole_number(text.substr(kUnit.size(), dash - kUnit.size()));
  const auto last = whole_number(text.substr(dash + 1, slash - dash - 1));
  const auto total = whole_number(text.substr(slash + 1));
  if (!first || !last || !total || *last < *first || *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

Error lying_length(const RemoteFile& file, uint64_t expected, uint64_t actual) {
  return format_error(fmt::format("{}: expected {} bytes, the server's file has {}", file.name, expected, actual),
                      "length");
}

// A file's properties, known before its first byte.
struct RemoteFacts {
  uint64_t n_bytes;
  std::string etag = {}, last_modified = {};  // from the server; "": not given

  bool has_validator() const { return !etag.empty() || !last_modified.empty(); }
  // For If-Range, which does not accept a weak ETag (RFC 9110, 13.1.5).
  const std::string& range_validator() const { return etag.empty() || is_weak() ? last_modified : etag; }
  // Whether a part's reply is for the same file. With If-Range a server may omit all headers except the ETag (RFC 9110,
  // 15.3.7).
  bool is_of(const HttpHead& head) const {
    if (!etag.empty()) return head.headers.get("etag") == etag;
    const std::string_view modified = head.headers.get("last-modified");
    return last_modified.empty() || modified.empty() || modified == last_modified;
  }

 private:
  bool is_weak() const { return etag.starts_with("W/"); }
};

// A request for the first byte reveals the total length, and works where HEAD is not allowed.
Result<RemoteFacts> ask_for_facts(const RemoteFile& file, const DownloadSettings& settings,
                                  const std::atomic<bool>& cancelled) {
  RZ_TRY(HttpClient client, HttpClient::create(settings.http));
  std::optional<RemoteFacts> facts;
  HttpCall call{file.url};
  call.headers = {"Range: bytes=0-0", "Accept-Encoding: identity"};
  call.credentials = file.credentials;
  call.cancelled = &cancelled;
  call.on_head = [&](const HttpHead& head) -> Status {
    const auto range = content_range(head.headers.get("content-range"));
    const auto length = whole_number(head.headers.get("content-length"));
    const auto known = [&](uint64_t n_bytes) {
      return RemoteFacts{n_bytes, std::string(head.headers.get("etag")),
                         std::string(head.headers.get("last-modified"))};
    };
    if (head.status == kPartial && range) facts = known(range->total);
    if (head.status == kOk && length) facts = known(*length);
    // The rest of the body is not needed.
    return facts ? Status(Error{ErrorCode::kCancelled, "", "facts"}) : Status();
  };
  const auto reply = send_patiently(client, call, file.name, settings);
  if (facts) return *facts;
  if (!reply.ok()) return reply.error();
  return unsupported(fmt::format("{}: the server does not say how long the file is", file.name), "length");
}

// The shared state of one download's threads.
class Fetcher {
 public:
  Fetcher(const RemoteFile& file, const DownloadSettings& settings, PartialFile& partial, const RemoteFacts& facts,
          const std::atomic<bool>& cancelled)
      : file_(file), settings_(settings), partial_(partial), facts_(facts), cancelled_(cancelled) {}

  // The hashes of the complete file.
  struct Hashes {
    std::string sha256, own;  // own: of the promised kind
  };

  // If nothing proves that parts belong to the same file, no parts are requested.
  Result<Hashes> run(const OnFileProgress& on_progress) {
    const bool may_have_parts = file_.digest.kind != Digest::Kind::kNone || facts_.has_validator();
    for (const bool whole : {false, true}) {
      if (!whole && !may_have_parts) continue;
      RZ_TRY(Hasher sha256, Hasher::create(Digest::Kind::kSha256, partial_.n_bytes()));
      RZ_TRY(Hasher own, Hasher::create(file_.digest.kind, partial_.n_bytes()));
      std::vector<std::thread> threads;
      const Status status = caught([&]() -> Status {
        run_workers(threads, whole);
        return hash_what_arrives(sha256, own, whole, on_progress);
      });
      if (!status.ok()) stopping_ = true;
      for (std::thread& thread : threads) thread.join();
      if (!status.ok()) return status.error();
      if (has_no_ranges_ && !whole) continue;
      if (partial_.n_done() < partial_.n_bytes()) {
        return Error{ErrorCode::kInternal, file_.name + ": the download ended too early", "download"};
      }
      Hashes hashes;
      hashes.sha256 = sha256.finish();
      hashes.own = file_.digest.kind == Digest::Kind::kGit ? own.finish() : hashes.sha256;
      return hashes;
    }
    return Error{ErrorCode::kInternal, file_.name + ": no download ended", "download"};
  }

 private:
  void work(bool whole) {
    const Status done = caught([&]() -> Status {
      RZ_TRY(HttpClient client, HttpClient::create(settings_.http));
      while (!stopping_ && !(has_no_ranges_ && !whole)) {
        const size_t piece_idx = next_piece_++;
        if (piece_idx >= partial_.pieces().size()) break;
        RZ_CHECK_OK(fetch_piece(client, piece_idx, whole));
        if (whole) break;
      }
      return {};
    });
    const bool wants_whole = has_no_ranges_ && !whole;
    if (!done.ok() && !(wants_whole && done.error().code == ErrorCode::kCancelled)) fail(done);
    const std::lock_guard lock(mutex_);
    --n_working_;
    news_.notify_all();
  }

  Status fetch_piece(HttpClient& client, size_t piece_idx, bool whole) {
    const auto is_full = [&] {
      const auto& piece = *partial_.pieces()[piece_idx];
      return whole ? partial_.n_done() == partial_.n_bytes() : piece.n_done == piece.n_bytes;
    };
    auto delay = settings_.first_delay;
    uint32_t n_fruitless = 0;
    while (!is_full()) {
      if (stopping_) return Error{ErrorCode::kCancelled, "cancelled", ""};
      // Without range support, each try begins with the first byte.
      if (whole) RZ_CHECK_OK(partial_.restart());
      const uint64_t n_before = partial_.n_done();
      const Status sent = fetch_rest(client, piece_idx, whole);
      if (!sent.ok() && !may_pass(sent.error())) return sent;
      const bool is_slow = !sent.ok() && sent.error().subject == kSlowConnection;
      const bool has_progress = !whole && !is_slow && partial_.n_done() > n_before;
      n_fruitless = has_progress ? 0 : n_fruitless + 1;
      if (is_full()) break;
      if (n_fruitless > settings_.n_retries) {
        return sent.ok() ? Status(Error{ErrorCode::kResourceExhausted,
                                        file_.name + ": the server's replies end too early", kBrokenConnection})
                         : sent;
      }
      if (has_progress) delay = settings_.first_delay;
      RZ_CHECK_OK(wait_for(delay, &stopping_));
      delay *= 2;
    }
    return {};
  }

  // One request for the rest of a piece, or, if `whole`, for the complete file.
  Status fetch_rest(HttpClient& client, size_t piece_idx, bool whole) {
    const auto& piece = *partial_.pieces()[piece_idx];
    const uint64_t first = piece.begin + piece.n_done, last = piece.begin + piece.n_bytes - 1;
    HttpCall call{file_.url};
    call.headers = {"Accept-Encoding: identity"};
    if (!whole) call.headers.push_back(fmt::format("Range: bytes={}-{}", first, last));
    if (!whole && !facts_.range_validator().empty()) {
      call.headers.push_back("If-Range: " + facts_.range_validator());
    }
    call.credentials = file_.credentials;
    call.cancelled = &stopping_;
    call.max_bytes = UINT64_MAX;
    bool is_success = false;
    const uint64_t n_before = partial_.n_done();
    size_t at = piece_idx;
    call.on_head = [&](const HttpHead& head) -> Status {
      is_success = head.status == kOk || head.status == kPartial;
      return check_head(head, first, last, whole);
    };
    call.on_bytes = [&](std::string_view bytes) -> Status {
      return is_success ? take_bytes(at, bytes, whole) : Status();
    };
    const auto reply = client.send(call);
    if (partial_.n_done() != n_before) RZ_CHECK_OK(partial_.keep(at));
    if (!reply.ok()) return reply.error();
    if (is_success) return {};
    // The target of a redirect expires after a while; the next try asks for a new one.
    const bool is_stale = reply->head.status == kForbiddenStatus && reply->head.url.origin() != file_.url.origin();
    Error error = refusal(reply->head, file_.name);
    if (is_stale) error = {ErrorCode::kResourceExhausted, error.message, kBrokenConnection};
    const auto wait = retry_after(reply->head);
    if (wait && *wait <= settings_.max_retry_after && may_pass(error)) {
      RZ_CHECK_OK(wait_for(*wait, &stopping_));
    } else if (wait && *wait > settings_.max_retry_after) {
      error.subject = "patience";
    }
    return error;
  }

  // A reply of 200 contains the whole file, from its first byte on.
  Status check_head(const HttpHead& head, uint64_t first, uint64_t last, bool whole) {
    const uint64_t n_bytes = partial_.n_bytes();
    if (head.status == kOk) {
      const auto length = whole_number(head.headers.get("content-length"));
      if (length && *length != n_bytes) return lying_length(file_, n_bytes, *length);
      if (whole) return {};
      has_no_ranges_ = true;
      return Error{ErrorCode::kCancelled, "the server sends no ranges", "ranges"};
    }
    const auto range = content_range(head.headers.get("content-range"));
    if (head.status == kPartial && !whole) {
      if (file_.digest.kind == Digest::Kind::kNone && !facts_.is_of(head)) {
        has_no_ranges_ = true;
        return Error{ErrorCode::kCancelled, "the file has changed: its parts may not be put together", "ranges"};
      }
      if (range && range->total != n_bytes) return lying_length(file_, n_bytes, range->total);
      if (range && range->first == first && range->last <= last) return {};
      return format_error(fmt::format("{}: expected bytes {}-{}, the server sends '{}'", file_.name, first, last,
                                      head.headers.get("content-range")),
                          "range");
    }
    if (head.status == kRangeStatus) return lying_length(file_, n_bytes, first);
    return {};  // send()'s caller checks the status
  }

  // For a whole file, the bytes continue into the following pieces.
  Status take_bytes(size_t& piece_idx, std::string_view bytes, bool whole) {
    if (stopping_) return Error{ErrorCode::kCancelled, "cancelled", ""};
    while (!bytes.empty()) {
      const auto& piece = *partial_.pieces()[piece_idx];
      const std::string_view now = bytes.substr(0, piece.n_bytes - piece.n_done);
      if (!now.empty()) {
        RZ_CHECK_OK(partial_.write(piece_idx, now));
        bytes.remove_prefix(now.size());
      } else if (whole && piece_idx + 1 < partial_.pieces().size()) {
        ++piece_idx;
      } else {
        return format_error(file_.name + ": the server sends more bytes than it announced", "length");
      }
    }
    news_.notify_one();
    return {};
  }

  void run_workers(std::vector<std::thread>& threads, bool whole) {
    next_piece_ = 0;
    const size_t n_pieces = partial_.pieces().size();
    const size_t n = whole ? 1 : std::min<size_t>(std::max(settings_.n_connections, 1u), n_pieces);
    n_working_ = n;
    for (size_t i = 0; i < n; ++i) threads.emplace_back([this, whole] { work(whole); });
  }

  // Runs until everything is hashed, or the threads have ended early.
  // Without range support the bytes may arrive again from the first one, so they are hashed when the file is complete.
  Status hash_what_arrives(Hasher& sha256, Hasher& own, bool whole, const OnFileProgress& on_progress) {
    constexpr auto kTick = std::chrono::milliseconds(100);
    constexpr uint64_t kStep = 1u << 20;
    std::vector<std::byte> buffer(kStep);
    uint64_t n_hashed = 0;
    while (n_hashed < partial_.n_bytes()) {
      if (cancelled_) return Error{ErrorCode::kCancelled, file_.name + ": cancelled; received data is kept", ""};
      const uint64_t n_ready = whole && n_working_ > 0 ? 0 : n_in_order();
      if (n_ready > n_hashed) {
        const std::span<std::byte> piece(buffer.data(), std::min(kStep, n_ready - n_hashed));
        RZ_CHECK_OK(partial_.read(n_hashed, piece));
        sha256.add(piece);
        if (file_.digest.kind == Digest::Kind::kGit) own.add(piece);
        n_hashed += piece.size();
        const uint64_t n_done = partial_.n_done();
        const bool is_checking = n_done == partial_.n_bytes();
        on_progress({is_checking ? FileStage::kChecking : FileStage::kDownloading, n_done, partial_.n_bytes()});
        continue;
      }
      std::unique_lock lock(mutex_);
      if (n_working_ == 0 && n_in_order() == n_hashed) return status_.ok() ? Status() : status_;
      news_.wait_for(lock, kTick);
      lock.unlock();
      on_progress({FileStage::kDownloading, partial_.n_done(), partial_.n_bytes()});
    }
    return status();
  }

  // The number of contiguous bytes from the beginning of the file.
  uint64_t n_in_order() {
    uint64_t n = 0;
    for (const auto& piece : partial_.pieces()) {
      const uint64_t n_done = piece->n_done;
      n += n_done;
      if (n_done < piece->n_bytes) break;
    }
    return n;
  }

  void fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = status;
    stopping_ = true;
    news_.notify_all();
  }

  Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  const RemoteFile& file_;
  const DownloadSettings& settings_;
  PartialFile& partial_;
  const RemoteFacts& facts_;
  const std::atomic<bool>& cancelled_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> has_no_ranges_{false};
  std::atomic<size_t> next_piece_{0}, n_working_{0};
  std::mutex mutex_;
  std::condition_variable news_;
  Status status_;
};

// The name of a partial download: from its digest, or from its URL.
std::string partial_key(const RemoteFile& file) {
  if (file.digest.kind == Digest::Kind::kSha256) return "sha256-" + file.digest.hex;
  return "url-" + sha256_text(file.url.text() + file.digest.hex);
}

Result<StoredBlob> fetch_into(const Store& store, PartialFile& partial, const RemoteFile& file,
                              const RemoteFacts& facts, const DownloadSettings& settings,
                              const OnFileProgress& on_progress, const std::atomic<bool>& cancelled) {
  const std::string identity = (facts.etag.empty() ? facts.last_modified : facts.etag) + file.digest.hex;
  RZ_CHECK_OK(partial.begin(facts.n_bytes, identity));
  // If nothing proves that the file is still the same, its parts must not be combined.
  if (identity.empty() && partial.was_resumed()) RZ_CHECK_OK(partial.restart());
  while (true) {
    Fetcher fetcher(file, settings, partial, facts, cancelled);
    RZ_TRY(const Fetcher::Hashes hashes, fetcher.run(on_progress));
    const bool is_right = file.digest.kind == Digest::Kind::kNone || hashes.own == file.digest.hex;
    if (is_right) {
      RZ_CHECK_OK(partial.publish(store.blob_path(hashes.sha256)));
      return StoredBlob{hashes.sha256, facts.n_bytes};
    }
    // The part from an earlier download may be wrong: after a power failure, a file may have its length but not its
    // bytes.
    if (!partial.was_resumed()) {
      partial.discard();
      return format_error(
          fmt::format("{}: the bytes that {} sent are wrong, and were removed: expected {} {}, actual {}", file.name,
                      file.url.origin(), file.digest.kind == Digest::Kind::kGit ? "git's SHA-1" : "the SHA-256",
                      file.digest.hex, hashes.own),
          "digest");
    }
    RZ_CHECK_OK(partial.restart());
  }
}

}  // namespace

Result<uint64_t> remote_bytes(const RemoteFile& file, const DownloadSettings& settings,
                              const std::atomic<bool>& cancelled) {
  RZ_TRY(const RemoteFacts facts, ask_for_facts(file, settings, cancelled));
  return facts.n_bytes;
}

uint64_t missing_bytes(const Store& store, const RemoteFile& file) {
  const uint64_t n_bytes = file.n_bytes.value_or(0);
  if (file.digest.kind == Digest::Kind::kSha256 && store.has_blob(file.digest.hex, n_bytes)) return 0;
  const uint64_t n_taken = taken_disk_bytes(store.partial_folder() / partial_key(file));
  return n_bytes - std::min(n_bytes, n_taken);
}

Result<StoredBlob> download(const Store& store, const RemoteFile& file, const DownloadSettings& settings,
                            const OnFileProgress& on_progress, const std::atomic<bool>& cancelled) {
  const bool has_sha256 = file.digest.kind == Digest::Kind::kSha256;
  const auto is_there = [&] { return has_sha256 && file.n_bytes && store.has_blob(file.digest.hex, *file.n_bytes); };
  if (is_there()) return StoredBlob{file.digest.hex, *file.n_bytes};
  RemoteFacts facts{file.n_bytes.value_or(0)};
  if (file.digest.kind == Digest::Kind::kNone) {
    RZ_TRY(facts, ask_for_facts(file, settings, cancelled));
  }
  if (facts.n_bytes > kMaxFileBytes) {
    return format_error(fmt::format("{}: according to the server it has {} bytes", file.name, facts.n_bytes), "length");
  }
  const auto on_wait = [&]() -> Status {
    if (cancelled) return Error{ErrorCode::kCancelled, file.name + ": cancelled", ""};
    on_progress({FileStage::kWaiting, 0, facts.n_bytes});
    return {};
  };
  RZ_TRY(auto partial, PartialFile::open(store.partial_folder(), partial_key(file), on_wait, is_there));
  if (!partial) return StoredBlob{file.digest.hex, *file.n_bytes};
  return fetch_into(store, *partial, file, facts, settings, on_progress, cancelled);
}

}  // namespace realizar::hub
