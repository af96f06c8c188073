#include "server/http/body_coding.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "base/ascii_case.h"

namespace realizar::server {
namespace {

constexpr size_t kPieceBytes = 16u << 10;
constexpr int kMaxWindowLog = 23;  // 8 MB, which every decoder must support (RFC 8878, section 3.1.1.1.2)

using End = DecodedBody::End;
using Piece = std::array<char, kPieceBytes>;

// The decoded bytes, up to the limits.
class Output {
 public:
  Output(size_t n_coded_bytes, size_t max_bytes, BodyRoom::Share& share)
      : n_coded_bytes_(n_coded_bytes), max_bytes_(max_bytes), share_(share) {}

  // False if there is no room for the piece, which ends decoding.
  bool add(std::string_view piece) {
    const size_t n_bytes = decoded_.bytes.size() + piece.size();
    if (n_bytes > max_bytes_) return end(End::kTooLarge), false;
    if (!share_.grow_to(n_coded_bytes_ + n_bytes)) return end(End::kNoRoom), false;
    if (n_bytes > decoded_.bytes.capacity()) decoded_.bytes.reserve(std::min(2 * n_bytes, max_bytes_));
    decoded_.bytes += piece;
    return true;
  }
  void end(End end) { decoded_.end = end; }
  DecodedBody take() {
    if (decoded_.end != End::kWhole) std::string().swap(decoded_.bytes);  // an assignment would keep the memory
    return std::move(decoded_);
  }

 private:
  DecodedBody decoded_;
  size_t n_coded_bytes_, max_bytes_;
  BodyRoom::Share& share_;
};

// Whether it begins with zlib's header (RFC 1950): many clients send "deflate" without it.
bool has_zlib_header(std::string_view coded) {
  if (coded.size() < 2) return false;
  const auto method = static_cast<uint8_t>(coded[0]), flags = static_cast<uint8_t>(coded[1]);
  return (method & 15) == Z_DEFLATED && (method * 256 + flags) % 31 == 0;
}

int window_bits(std::string_view coded, BodyCoding coding) {
  constexpr int kGzipFormat = 16;
  if (coding == BodyCoding::kGzip) return MAX_WBITS + kGzipFormat;
  return has_zlib_header(coded) ? MAX_WBITS : -MAX_WBITS;
}

// gzip data may have several members, one after the other (RFC 1952, section 2.2).
void inflate_all(std::string_view coded, BodyCoding coding, Output& output) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits(coded, coding)) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
  stream.avail_in = static_cast<uInt>(coded.size());
  Piece piece;
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) return;
    if (!output.add({piece.data(), piece.size() - stream.avail_out})) return;
    if (result == Z_OK) continue;
    if (stream.avail_in == 0) return output.end(End::kWhole);
    if (coding != BodyCoding::kGzip || inflateReset(&stream) != Z_OK) return;
  }
}

// Likewise zstd data may have several frames (RFC 8878, section 3).
void unzstd_all(std::string_view coded, Output& output) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr || ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog))) {
    throw std::bad_alloc();
  }
  ZSTD_inBuffer input{coded.data(), coded.size(), 0};
  Piece piece;
  while (true) {
    const size_t begin = input.pos;
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const size_t n_wanted = ZSTD_decompressStream(context.get(), &out, &input);
    if (ZSTD_isError(n_wanted)) return;
    if (!output.add({piece.data(), out.pos})) return;
    const bool is_frame_end = n_wanted == 0;
    if (is_frame_end && input.pos == input.size) return output.end(End::kWhole);
    const bool goes_on = input.pos > begin || out.pos > 0;
    if (!goes_on) return;
  }
}

}  // namespace

std::optional<BodyCoding> body_coding(std::string_view content_encoding) {
  static constexpr std::pair<std::string_view, BodyCoding> kNames[] = {
      {"", BodyCoding::kIdentity},   {"identity", BodyCoding::kIdentity}, {"gzip", BodyCoding::kGzip},
      {"x-gzip", BodyCoding::kGzip}, {"deflate", BodyCoding::kDeflate},   {"zstd", BodyCoding::kZstd},
  };
  for (const auto& [name, coding] : kNames) {
    if (equals_ignoring_case(name, content_encoding)) return coding;
  }
  return std::nullopt;
}

DecodedBody decode_body(std::string_view coded, BodyCoding coding, size_t max_bytes, BodyRoom::Share& share) {
  Output output(coded.size(), max_bytes, share);
  switch (coding) {
    case BodyCoding::kIdentity:
      if (output.add(coded)) output.end(End::kWhole);
      break;
    case BodyCoding::kGzip:
    case BodyCoding::kDeflate:
      inflate_all(coded, coding, output);
      break;
    case BodyCoding::kZstd:
      unzstd_all(coded, output);
      break;
  }
  return output.take();
}

}  // namespace realizar::server
