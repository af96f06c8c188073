// Rank 0's messages to the others, as bytes: all ranks run the same program, so values are sent as they are in memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/program.h"
#include "backend/state_layout.h"
#include "backend/step_batch.h"

namespace realizar::ranks {

class ByteWriter {
 public:
  template <class Value>
  void add(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    add_all(std::span(&value, 1));
  }
  template <class Value>
  void add_all(std::span<const Value> values) {
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class Value>
  void add_list(std::span<const Value> values) {
    add(static_cast<uint32_t>(values.size()));
    add_all(values);
  }
  void add_text(const std::string& text) { add_list(std::span(text.data(), text.size())); }
  void clear() { bytes_.clear(); }
  void reserve(size_t n_bytes) { bytes_.reserve(n_bytes); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Precondition: the bytes were written by a ByteWriter, in the order of reading.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class Value>
  Value take() {
    Value value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  template <class Value>
  void take_all(std::span<Value> values) {
    if (!values.empty()) std::memcpy(values.data(), take_bytes(values.size_bytes()).data(), values.size_bytes());
  }
  template <class Value>
  void take_list(std::vector<Value>& values) {
    values.resize(take<uint32_t>());
    take_all(std::span(values));
  }
  std::string take_text() {
    std::vector<char> text;
    take_list(text);
    return {text.begin(), text.end()};
  }

 private:
  std::span<const std::byte> take_bytes(size_t n);

  std::span<const std::byte> bytes_;
};

enum class Order : uint32_t {
  kCompile,
  kRun,
  kReadBlock,
  kWriteBlock,
  kZeroBlock,
  kCopyBlock,
  kReadKv,
  kReadState,
  kWriteState,
  kZeroState,
  kEnd,
  kLoad,
  kQuit
};

// The header of every message; the order defines `a` and `b`.
struct OrderHead {
  Order order;
  uint32_t a = 0, b = 0;
};

void write(ByteWriter& to, const Program& program);
Program read_program(ByteReader& from);
void write(ByteWriter& to, const CacheLayout& layout);
CacheLayout read_layout(ByteReader& from);

// A step's batch, without choices, which are rank 0's, and without adapters.
void write(ByteWriter& to, const StepBatch& batch, uint32_t n_groups);
// Maximum size of such a batch.
size_t batch_bytes(uint32_t max_rows, uint32_t max_logit_rows, uint32_t max_seqs, uint32_t max_blocks,
                   uint32_t n_groups);

// A received batch with its data.
class ReceivedBatch {
 public:
  void reserve(uint32_t max_rows, uint32_t max_logit_rows, uint32_t max_seqs, uint32_t max_blocks, uint32_t n_groups);
  const StepBatch& read(ByteReader& from, uint32_t n_groups);

 private:
  StepBatch batch_;
  std::vector<TokenId> tokens_;
  std::vector<Pos> positions_;
  std::vector<uint32_t> logit_rows_;
  std::vector<BatchSequence> seqs_;
  std::vector<BlockId> blocks_;  // tables of all sequences
};

}  // namespace realizar::ranks
