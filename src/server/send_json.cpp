#include "server/send_json.h"

#include <utility>

#include "server/context.h"

namespace realizar::server {
namespace {

// The rest is for clients that wait long anyway: it leaves the processor to everything else.
constexpr size_t kRestWorkBytes = WorkPool::kSmallBytes + 1;

Task<Status> send_rest(Call& call, JsonPieces& json, std::string piece) {
  call.begin_pieces({200, "application/json", "", {}});
  while (true) {
    call.write(piece);
    piece.clear();
    if (json.is_done()) break;
    while (call.is_congested()) {
      NewsWait room(call);
      const Status going = co_await room;
      if (!going.ok()) co_return going;
    }
    OnWorker writing(call, kRestWorkBytes, [&] { return caught([&] { json.write(piece, kPieceBytes); }); });
    const Status written = co_await writing;
    if (!written.ok()) co_return written;
  }
  call.end();
  co_return Status();
}

}  // namespace

Task<Status> send_json(Call& call, JsonPieces& json) {
  std::string bytes;
  json.write(bytes, kFirstPieceBytes);
  while (!json.is_done() && bytes.size() < kMaxAtOnceBytes) {
    OnWorker writing(call, 0, [&] { return caught([&] { json.write(bytes, bytes.size() + kPieceBytes); }); });
    const Status written = co_await writing;
    if (!written.ok()) co_return written;
  }
  if (!json.is_done()) {
    Task<Status> sending = send_rest(call, json, std::move(bytes));
    const Status sent = co_await sending;
    co_return sent;
  }
  call.send({200, "application/json", std::move(bytes), {}});
  co_return Status();
}

}  // namespace realizar::server
