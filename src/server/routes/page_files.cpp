#include <fmt/format.h>
#include <zlib.h>

#include <new>
#include <span>

#include "server/http/auth.h"
#include "server/routes/page.h"

namespace realizar::server {
namespace {

std::string gzip_of(std::string_view bytes) {
  constexpr int kGzipFormat = 16, kMaxMemory = 9;
  z_stream stream{};
  const int bits = MAX_WBITS + kGzipFormat;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, bits, kMaxMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed(deflateBound(&stream, bytes.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  static_cast<void>(deflate(&stream, Z_FINISH));  // whole at once: the bound is its size at most
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string etag_of(std::string_view bytes) {
  constexpr size_t kTagBytes = 8;
  const KeyDigest digest = digest_of(bytes);
  return "W/\"" + hex_of(std::span(digest).first(kTagBytes)) + "\"";
}

}  // namespace

const PageFiles& page_files() {
  static const PageFiles files{page_html(), gzip_of(page_html()), etag_of(page_html())};
  return files;
}

}  // namespace realizar::server
