#include "engine/slot_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/try.h"

namespace realizar::engine {
namespace {

constexpr char kSlotMagic[8] = {'R', 'Z', 'S', 'L', 'O', 'T', 0, 0};
constexpr uint32_t kSlotVersion = 2;

struct SlotHead {
  char magic[8];
  uint32_t version, block_tokens;
  uint64_t fingerprint, block_bytes, state_bytes;
  uint32_t n_tokens, n_groups, has_state, reserved;
};
static_assert(sizeof(SlotHead) == 56);

uint64_t head_bytes(const PrefixShape& shape, const PrefixLayout& layout) {
  const uint64_t n_numbers = layout.first_blocks.size() + layout.n_block_pieces(shape.block_tokens);
  return sizeof(SlotHead) + n_numbers * sizeof(uint32_t) + layout.n_tokens * sizeof(TokenId);
}

Error not_restored(std::string_view why) {
  return invalid_argument(fmt::format("the slot cannot be restored: {}", why), "filename");
}

}  // namespace

void RunningSum::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

RunningSum::RunningSum() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void RunningSum::take(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t RunningSum::sum() const {
  return XXH3_64bits_digest(state_.get());
}

Result<SlotFileWriter> SlotFileWriter::create(const std::string& path, const PrefixShape& shape,
                                              const PrefixLayout& layout, std::span<const TokenId> tokens) {
  SlotHead head{.magic = {},
                .version = kSlotVersion,
                .block_tokens = shape.block_tokens,
                .fingerprint = shape.fingerprint,
                .block_bytes = shape.block_bytes,
                .state_bytes = shape.state_bytes,
                .n_tokens = layout.n_tokens,
                .n_groups = static_cast<uint32_t>(layout.first_blocks.size()),
                .has_state = layout.has_state ? 1u : 0u,
                .reserved = 0};
  std::memcpy(head.magic, kSlotMagic, sizeof kSlotMagic);
  RZ_TRY(NewFile file, NewFile::create(path, Readers::kOwnerAlone));
  SlotFileWriter writer(std::move(file));
  RZ_CHECK_OK(writer.write(std::as_bytes(std::span(&head, 1))));
  RZ_CHECK_OK(writer.write(std::as_bytes(std::span(layout.first_blocks))));
  RZ_CHECK_OK(writer.write(std::as_bytes(std::span(layout.short_tokens))));
  RZ_CHECK_OK(writer.write(std::as_bytes(tokens.first(layout.n_tokens))));
  return writer;
}

uint64_t SlotFileWriter::n_bytes(const PrefixShape& shape, const PrefixLayout& layout) {
  return head_bytes(shape, layout) + layout.n_bytes(shape) + sizeof(uint64_t);
}

Status SlotFileWriter::write(std::span<const std::byte> bytes) {
  sum_.take(bytes);
  return file_.write(bytes);
}

Status SlotFileWriter::commit() {
  const uint64_t sum = sum_.sum();
  RZ_CHECK_OK(file_.write(std::as_bytes(std::span(&sum, 1))));
  return file_.commit();
}

Result<SlotFileReader> SlotFileReader::open(const std::string& path, const PrefixShape& shape) {
  RZ_TRY(OpenFile file, open_regular_file(path));
  SlotFileReader reader(std::move(file));
  RZ_CHECK_OK(reader.read_head(shape));
  return reader;
}

// Every count is checked before anything is made of it.
Status SlotFileReader::read_head(const PrefixShape& shape) {
  SlotHead head{};
  RZ_CHECK_OK(read(std::as_writable_bytes(std::span(&head, 1))));
  if (std::memcmp(head.magic, kSlotMagic, sizeof kSlotMagic) != 0 || head.version != kSlotVersion) {
    return not_restored("the file is none of this program's");
  }
  const bool is_same = head.fingerprint == shape.fingerprint && head.block_tokens == shape.block_tokens &&
                       head.n_groups == shape.n_groups && head.block_bytes == shape.block_bytes &&
                       head.state_bytes == shape.state_bytes;
  if (!is_same) return not_restored("the file is of another model, or of other settings of the cache");
  if (head.n_tokens > shape.max_tokens) {
    return not_restored(
        fmt::format("the context has {} tokens, and the file holds {}", shape.max_tokens, head.n_tokens));
  }
  layout_.n_tokens = head.n_tokens;
  layout_.has_state = head.has_state != 0;
  layout_.first_blocks.resize(head.n_groups);
  RZ_CHECK_OK(read(std::as_writable_bytes(std::span(layout_.first_blocks))));
  for (const uint32_t first : layout_.first_blocks) {
    if (first > layout_.n_blocks(shape.block_tokens)) return not_restored("the file is damaged");
  }
  if (layout_.has_state && shape.state_bytes == 0) return not_restored("the file is damaged");
  if (n_bytes_ != SlotFileWriter::n_bytes(shape, layout_)) return not_restored("the file is not whole");
  layout_.short_tokens.resize(layout_.n_block_pieces(shape.block_tokens));
  RZ_CHECK_OK(read(std::as_writable_bytes(std::span(layout_.short_tokens))));
  tokens_.resize(head.n_tokens);
  return read(std::as_writable_bytes(std::span(tokens_)));
}

Status SlotFileReader::read(std::span<std::byte> bytes) {
  if (!read_exactly(file_, bytes)) return not_restored("the file is not whole");
  sum_.take(bytes);
  return {};
}

Status SlotFileReader::check_sum() {
  const uint64_t expected = sum_.sum();
  uint64_t actual = 0;
  const bool is_right = read_exactly(file_, std::as_writable_bytes(std::span(&actual, 1))) && actual == expected;
  return is_right ? Status() : not_restored("the file is damaged");
}

}  // namespace realizar::engine
