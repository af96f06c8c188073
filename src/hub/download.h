// Downloads one file to the store: several ranges at a time, resumed after breaks, hashed as it arrives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hub/hash.h"
#include "hub/http.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::hub {

struct DownloadSettings {
  HttpSettings http;
  uint32_t n_connections = 8;                          // for each file
  uint32_t n_retries = 5;                              // without a byte received in between
  uint32_t n_reconnects = 5;                           // likewise if no connection is made
  std::chrono::milliseconds first_delay{300};          // before the first retry; doubled for each further one
  std::chrono::milliseconds max_retry_after{120'000};  // a server that asks for more is reported as an error
  // Called on the thread of send_patiently() before it waits.
  std::function<void(const Error& error, std::chrono::milliseconds wait)> on_retry = {};
};

struct RemoteFile {
  std::string name;  // for messages
  Url url;
  std::vector<std::string> credentials;  // sent only to the URL's own origin
  std::optional<uint64_t> n_bytes;       // nullopt: the server's length
  Digest digest;
};

enum class FileStage : uint8_t { kWaiting, kDownloading, kChecking };  // kWaiting: for another process
struct FileProgress {
  FileStage stage;
  uint64_t n_done, n_bytes;  // for the file
};
// Called on the thread that called download(), at least ten times a second.
using OnFileProgress = std::function<void(const FileProgress&)>;

struct StoredBlob {
  std::string sha256;
  uint64_t n_bytes;
};

// The caller holds a shared lock of the store, whose folders exist. Errors: NotFound, InvalidArgument (refused by the
// server), FormatError (lengths or bytes that differ from what was promised), ResourceExhausted (the disk, or a server
// that failed after all retries), Cancelled. The part that has arrived is kept for the next try, unless its bytes are
// wrong.
Result<StoredBlob> download(const Store& store, const RemoteFile& file, const DownloadSettings& settings,
                            const OnFileProgress& on_progress, const std::atomic<bool>& cancelled);

// The length reported by the server. Errors: as download(); Unsupported if it reports none.
Result<uint64_t> remote_bytes(const RemoteFile& file, const DownloadSettings& settings,
                              const std::atomic<bool>& cancelled);
// The disk space that the rest of the file needs.
uint64_t missing_bytes(const Store& store, const RemoteFile& file);

// The error that an unsuccessful status means for a request for `what`.
Error refusal(const HttpHead& head, const std::string& what);
// Adds advice on what to check if no server could be reached.
Error with_hint(Error error);
// Whether a retry a little later may succeed: connection errors, 408, 429 and 5xx.
bool is_passing(int status);
// The delay that the server asks for; nullopt if it does not say.
std::optional<std::chrono::milliseconds> retry_after(const HttpHead& head);

// Sends the call, whose reply is short, with retries after breaks and temporary refusals. Errors: those of send(), and
// refusal() for an unsuccessful status.
Result<HttpReply> send_patiently(HttpClient& client, const HttpCall& call, const std::string& what,
                                 const DownloadSettings& settings);

// Waits, but stops when `cancelled` is set. Errors: Cancelled.
Status wait_for(std::chrono::milliseconds time, const std::atomic<bool>* cancelled);

}  // namespace realizar::hub
