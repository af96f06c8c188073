#include "server/call/send_json.h"

#include <utility>

#include "server/call/context.h"

namespace realizar::server {
Task<Status> send_rest(Call& call, JsonPieces& json) {
  std::string piece;
  while (!json.is_done()) {
    while (call.is_congested()) {
      NewsWait room(call);
      const Status going = co_await room;
      if (!going.ok()) co_return going;
    }
    OnWorker writing(call, kRestWorkBytes, [&] { return caught([&] { json.write(piece, kPieceBytes); }); });
    const Status written = co_await writing;
    if (!written.ok()) co_return written;
    call.write(piece);
    piece.clear();
  }
  co_return Status();
}

Task<Status> send_json(Call& call, JsonPieces& json) {
  std::string bytes;
  json.write(bytes, JsonPieces::kFirstBytes);
  while (!json.is_done() && bytes.size() < kMaxAtOnceBytes) {
    OnWorker writing(call, 0, [&] { return caught([&] { json.write(bytes, bytes.size() + kPieceBytes); }); });
    const Status written = co_await writing;
    if (!written.ok()) co_return written;
  }
  if (json.is_done()) {
    call.send({200, "application/json", std::move(bytes), {}});
    co_return Status();
  }
  call.begin_pieces({200, "application/json", "", {}});
  call.write(bytes);
  std::string().swap(bytes);
  Task<Status> sending = send_rest(call, json);
  const Status sent = co_await sending;
  if (sent.ok()) call.end();
  co_return sent;
}

}  // namespace realizar::server
