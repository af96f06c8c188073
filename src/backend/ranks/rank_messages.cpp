#include "backend/ranks/rank_messages.h"

#include "base/check.h"

namespace realizar::ranks {
namespace {

// A sequence's numbers in a message, without its tables.
struct SequenceHead {
  uint32_t first_row, n_rows, n_blocks;
  Pos first_pos;
  StateId state_from, state_to;
};

struct BatchHead {
  uint32_t n_rows, n_decode_rows, n_logit_rows, n_seqs;
};

}  // namespace

std::span<const std::byte> ByteReader::take_bytes(size_t n) {
  REQUIRE(n <= bytes_.size());
  const auto taken = bytes_.first(n);
  bytes_ = bytes_.subspan(n);
  return taken;
}

void write(ByteWriter& to, const Program& program) {
  to.add(static_cast<uint32_t>(program.activations.size()));
  for (const ActShape& shape : program.activations) {
    to.add_text(shape.name);
    to.add(shape.n_cols);
    to.add(shape.rows);
  }
  to.add_list(std::span<const Op>(program.ops));
  to.add_list(std::span<const ActId>(program.outputs));
}

Program read_program(ByteReader& from) {
  Program program;
  program.activations.resize(from.take<uint32_t>());
  for (ActShape& shape : program.activations) {
    shape.name = from.take_text();
    shape.n_cols = from.take<uint32_t>();
    shape.rows = from.take<Rows>();
  }
  from.take_list(program.ops);
  from.take_list(program.outputs);
  return program;
}

void write(ByteWriter& to, const CacheLayout& layout) {
  REQUIRE(!layout.whole_groups);
  to.add(static_cast<uint32_t>(layout.layers.size()));
  for (const StateLayout& layer : layout.layers) {
    const auto* paged = std::get_if<Paged>(&layer);
    to.add(paged != nullptr);
    if (paged != nullptr) {
      to.add(*paged);
    } else {
      to.add_list(std::span<const size_t>(std::get<Recurrent>(layer).part_bytes));
    }
  }
  to.add(layout.block_tokens);
  to.add(layout.n_blocks);
  to.add(layout.type);
  to.add(layout.n_states);
}

CacheLayout read_layout(ByteReader& from) {
  CacheLayout layout;
  layout.layers.resize(from.take<uint32_t>());
  for (StateLayout& layer : layout.layers) {
    if (from.take<bool>()) {
      layer = from.take<Paged>();
    } else {
      from.take_list(layer.emplace<Recurrent>().part_bytes);
    }
  }
  layout.block_tokens = from.take<uint32_t>();
  layout.n_blocks = from.take<uint32_t>();
  layout.type = from.take<KvType>();
  layout.n_states = from.take<uint32_t>();
  return layout;
}

void write(ByteWriter& to, const StepBatch& batch, uint32_t n_groups) {
  to.add(BatchHead{batch.n_rows(), batch.n_decode_rows, static_cast<uint32_t>(batch.logit_rows.size()),
                   static_cast<uint32_t>(batch.seqs.size())});
  to.add_all(batch.tokens);
  to.add_all(batch.positions);
  to.add_all(batch.logit_rows);
  for (const BatchSequence& seq : batch.seqs) {
    REQUIRE(!seq.has_adapter());
    const auto n_blocks = static_cast<uint32_t>(seq.block_tables.size());
    to.add(SequenceHead{seq.first_row, seq.n_rows, n_blocks, seq.first_pos, seq.state_from, seq.state_to});
    for (uint32_t group = 0; group < n_groups; ++group) to.add_all(seq.block_tables.of(group));
  }
}

size_t batch_bytes(uint32_t max_rows, uint32_t max_logit_rows, uint32_t max_seqs, uint32_t max_blocks,
                   uint32_t n_groups) {
  const size_t table_bytes = size_t{max_blocks} * n_groups * sizeof(BlockId);
  return sizeof(OrderHead) + sizeof(BatchHead) + max_rows * (sizeof(TokenId) + sizeof(Pos)) +
         max_logit_rows * sizeof(uint32_t) + max_seqs * (sizeof(SequenceHead) + table_bytes);
}

void ReceivedBatch::reserve(uint32_t max_rows, uint32_t max_logit_rows, uint32_t max_seqs, uint32_t max_blocks,
                            uint32_t n_groups) {
  tokens_.reserve(max_rows);
  positions_.reserve(max_rows);
  logit_rows_.reserve(max_logit_rows);
  seqs_.reserve(max_seqs);
  blocks_.reserve(size_t{max_seqs} * max_blocks * n_groups);
}

const StepBatch& ReceivedBatch::read(ByteReader& from, uint32_t n_groups) {
  const auto head = from.take<BatchHead>();
  tokens_.resize(head.n_rows);
  positions_.resize(head.n_rows);
  logit_rows_.resize(head.n_logit_rows);
  from.take_all(std::span(tokens_));
  from.take_all(std::span(positions_));
  from.take_all(std::span(logit_rows_));
  seqs_.clear();
  blocks_.clear();
  for (uint32_t i = 0; i < head.n_seqs; ++i) {
    const auto seq = from.take<SequenceHead>();
    const size_t at = blocks_.size(), n_ids = size_t{seq.n_blocks} * n_groups;
    REQUIRE(at + n_ids <= blocks_.capacity());  // the vector must not reallocate, since tables point into it
    blocks_.resize(at + n_ids);
    from.take_all(std::span(blocks_).subspan(at));
    const BlockTables tables({blocks_.data() + at, seq.n_blocks}, seq.n_blocks);
    seqs_.push_back({seq.first_row, seq.n_rows, seq.first_pos, tables, seq.state_from, seq.state_to});
  }
  batch_ = {.tokens = tokens_,
            .positions = positions_,
            .seqs = seqs_,
            .n_decode_rows = head.n_decode_rows,
            .logit_rows = logit_rows_};
  return batch_;
}

}  // namespace realizar::ranks
