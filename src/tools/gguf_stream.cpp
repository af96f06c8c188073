#include "tools/gguf_stream.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "formats/gguf_format.h"

namespace realizar {
namespace {

uint64_t padding_after(uint64_t n_bytes) {
  return (kGgufDefaultAlignment - n_bytes % kGgufDefaultAlignment) % kGgufDefaultAlignment;
}

}  // namespace

Result<GgufStream> GgufStream::create(const std::filesystem::path& path, const GgufWriter& writer) {
  const std::vector<std::byte> header = writer.header();
  std::vector<uint64_t> sizes = writer.tensor_sizes();
  uint64_t n_bytes = header.size();
  for (const uint64_t size : sizes) n_bytes += size + padding_after(size);
  RZ_TRY(NewFile out, NewFile::create(path));
  RZ_CHECK_OK(out.reserve(n_bytes));
  RZ_CHECK_OK(out.write(header));
  return GgufStream(std::move(out), std::move(sizes), n_bytes);
}

GgufStream::GgufStream(NewFile out, std::vector<uint64_t> sizes, uint64_t n_bytes)
    : out_(std::move(out)), sizes_(std::move(sizes)), n_bytes_(n_bytes) {}

Status GgufStream::write(std::span<const std::byte> bytes) {
  REQUIRE(bytes.empty() || (tensor_ < sizes_.size() && bytes.size() <= sizes_[tensor_] - written_));
  RZ_CHECK_OK(out_.write(bytes));
  written_ += bytes.size();
  return end_tensors();
}

Status GgufStream::end_tensors() {
  constexpr std::array<std::byte, kGgufDefaultAlignment> kZeros{};
  while (tensor_ < sizes_.size() && written_ == sizes_[tensor_]) {
    RZ_CHECK_OK(out_.write(std::span(kZeros).first(padding_after(written_))));
    ++tensor_;
    written_ = 0;
  }
  return {};
}

Status GgufStream::sync() {
  REQUIRE(tensor_ == sizes_.size());
  return out_.sync();
}

Status GgufStream::commit() {
  REQUIRE(tensor_ == sizes_.size());
  return out_.commit();
}

}  // namespace realizar
