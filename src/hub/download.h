// One file from a server into the store: several ranges at a time, again after breaks, its hash taken as it arrives.
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
  uint32_t n_connections = 8;                          // for one file
  uint32_t n_retries = 5;                              // without a byte between them
  uint32_t n_reconnects = 5;                           // the same where no connection is made
  std::chrono::milliseconds first_delay{300};          // before the first retry; twice as long before each further one
  std::chrono::milliseconds max_retry_after{120'000};  // a server that wants more patience is told of in an error
  // Called before send_patiently() waits, on its thread.
  std::function<void(const Error& error, std::chrono::milliseconds wait)> on_retry = {};
};

struct RemoteFile {
  std::string name;  // for messages
  Url url;
  std::vector<std::string> credentials;  // for the URL's own origin
  std::optional<uint64_t> n_bytes;       // nullopt: what the server says
  Digest digest;
};

enum class FileStage : uint8_t { kWaiting, kDownloading, kChecking };  // kWaiting: for another process
struct FileProgress {
  FileStage stage;
  uint64_t n_done, n_bytes;  // of the file
};
// Called on the thread that called download(), at least ten times a second.
using OnFileProgress = std::function<void(const FileProgress&)>;

struct StoredBlob {
  std::string sha256;
  uint64_t n_bytes;
};

// The caller holds a shared lock of the store, which has its folders. Errors: NotFound, InvalidArgument (what the
// server refuses), FormatError (lengths or bytes that are not what was promised), ResourceExhausted (the disk, or a
// server that did not answer however often it was asked), Cancelled. What has arrived is kept for the next try, but for
// bytes that are wrong.
Result<StoredBlob> download(const Store& store, const RemoteFile& file, const DownloadSettings& settings,
                            const OnFileProgress& on_progress, const std::atomic<bool>& cancelled);

// The length that the server tells. Errors: as download()'s; Unsupported where it tells none.
Result<uint64_t> remote_bytes(const RemoteFile& file, const DownloadSettings& settings,
                              const std::atomic<bool>& cancelled);
// What the disk still needs room for.
uint64_t missing_bytes(const Store& store, const RemoteFile& file);

// What a status that is no success means to whoever asked for `what`.
Error refusal(const HttpHead& head, const std::string& what);
// Adds where to look if no server could be reached.
Error with_hint(Error error);
// The same may go well a little later: connections, 408, 429 and 5xx.
bool is_passing(int status);
// How long the server wants to be left alone; nullopt where it does not say.
std::optional<std::chrono::milliseconds> retry_after(const HttpHead& head);

// Sends the call, whose reply is short, again after breaks and passing refusals. Errors: those of send(), and refusal()
// for what is no success.
Result<HttpReply> send_patiently(HttpClient& client, const HttpCall& call, const std::string& what,
                                 const DownloadSettings& settings);

// Waits, but no longer than until `cancelled`. Errors: Cancelled.
Status wait_for(std::chrono::milliseconds time, const std::atomic<bool>* cancelled);

}  // namespace realizar::hub
