// Any bytes as a compressed body: broken, too large, or decoded within its limits. The first byte selects the coding.
#include <cstdint>
#include <cstdlib>

#include "server/http/body_coding.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::server;
  if (size == 0) return 0;
  constexpr size_t kMaxBytes = 200'000, kRoomBytes = 100'000;
  const auto room = std::make_shared<BodyRoom>(kRoomBytes, kRoomBytes);
  const std::string_view coded(reinterpret_cast<const char*>(data) + 1, size - 1);
  {
    BodyRoom::Share share(room, "client");
    const DecodedBody body = decode_body(coded, static_cast<BodyCoding>(data[0] % 4), kMaxBytes, share);
    const bool is_whole = body.end == DecodedBody::End::kWhole;
    const bool is_within = body.bytes.size() <= kMaxBytes && room->n_held_bytes() <= kRoomBytes;
    if (!is_within || (!is_whole && !body.bytes.empty())) std::abort();
  }
  if (room->n_held_bytes() != 0) std::abort();
  return 0;
}
