// Any bytes as messages to the socket that replays KV events: frames, each after a byte with its length, from which a
// number is read; and the same bytes as the address of such a socket.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/events/kv_endpoint.h"
#include "server/events/kv_history.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::server;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> frames;
  for (size_t at = 0; at < size;) {
    const size_t n_bytes = data[at++];
    frames.push_back(text.substr(at, n_bytes));
    at += n_bytes;
  }
  const auto number = read_kv_request(frames);
  if (number && (frames.size() != 2 || !frames[0].empty() || frames[1] != kv_number_bytes(*number))) std::abort();
  KvHistory history(2, 1000);
  for (const std::string& frame : frames) history.add(frame);
  const bool is_there = number && *number < frames.size() && *number + 2 >= frames.size();
  if (number && (history.find(*number) != nullptr) != is_there) std::abort();
  for (const bool always_binds : {false, true}) {
    const auto endpoint = read_kv_endpoint(text, "--kv-events", always_binds);
    if (!endpoint.ok() || (!always_binds && !endpoint->binds)) continue;
    if (endpoint->address != text || !endpoint->binds) std::abort();
  }
  return 0;
}
