#include "backend/ranks/ranked_backend.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/ranks/layer_program.h"
#include "backend/ranks/micro_batches.h"
#include "backend/ranks/rank_messages.h"
#include "backend/ranks/rank_weights.h"
#include "backend/ranks/shared_program.h"
#include "backend/row_exchange.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar::ranks {
namespace {

constexpr size_t kMessageBytes = 400;  // for a rank's error

// Parts of a step per rank with separate layers: the first and the last rank each wait for all others once.
constexpr uint32_t kPartsPerRank = 2;

bool is_bidirectional(const Op& op) {
  const auto* attention = std::get_if<AttentionOp>(&op);
  return attention != nullptr && attention->is_bidirectional;
}

// A rank's reply to kCompile.
struct CompileReply {
  ErrorCode code = {};
  bool is_ok = true;
  char message[kMessageBytes] = {};
  size_t block_bytes = 0, state_bytes = 0;
  size_t weight_bytes = 0, kv_bytes = 0, scratch_bytes = 0;
};

// This rank's part of a program.
struct OwnProgram {
  ProgramId id;
  bool cuts_prompts = true;       // attention is causal
  std::vector<ActShape> outputs;  // received from the last rank
  std::vector<ActId> output_acts;
};

class RankedBackend final : public Backend {
 public:
  RankedBackend(std::unique_ptr<Backend> own, Exchange& exchange, const RankOptions& options)
      : own_(std::move(own)),
        exchange_(exchange),
        options_(options),
        weights_(*own_, options, exchange.rank(), exchange.n_ranks()),
        replies_(exchange.n_ranks()) {}
  ~RankedBackend() override {
    if (rank() == 0 && !exchange_.is_lost()) post_order({Order::kEnd});
  }

  // Loading.

  Status configure(const BackendLimits& limits) override {
    limits_ = limits;
    return own_->configure(limits);
  }
  Status check(const Program& program) const override { return own_->check(program); }
  Result<WeightId> load_matrix(const MatrixSource& source) override { return weights_.load_matrix(source); }
  Result<WeightId> load_vector(std::span<const float> values, int32_t layer) override {
    return weights_.load_vector(values, layer);
  }
  Status write_weights(WeightId, size_t, std::span<const float>) override {
    return unsupported("ranks that share a model do not support adapters", "lora");
  }
  // Created with the first program, which determines this rank's part.
  Status create_kv_cache(const CacheLayout& layout) override {
    layout_ = layout;
    const uint32_t max_blocks = limits_.max_context / layout.block_tokens + 2;
    n_groups_ = static_cast<uint32_t>(layout.groups().windows.size());
    const size_t n_bytes =
        batch_bytes(limits_.max_rows, limits_.max_logit_rows, limits_.max_seqs, max_blocks, n_groups_);
    message_.reserve(n_bytes);
    received_.resize(n_bytes);
    batch_.reserve(limits_.max_rows, limits_.max_logit_rows, limits_.max_seqs, max_blocks, n_groups_);
    micro_batches_.reserve(kPartsPerRank * n_ranks(), limits_.max_seqs, limits_.max_logit_rows);
    return {};
  }

  Result<ProgramId> compile(const Program& program) override {
    message_.clear();
    write(message_, layout_);
    write(message_, program);
    const auto n_bytes = static_cast<uint32_t>(message_.bytes().size());
    RZ_CHECK_OK(send_order({Order::kCompile, n_bytes}, message_.bytes()));
    replies_[0] = compile_own(program);
    RZ_CHECK_OK(receive_replies());
    for (uint32_t rank = 0; rank < n_ranks(); ++rank) {
      const CompileReply& reply = replies_[rank];
      if (reply.is_ok) continue;
      const std::string where = rank == 0 ? "" : exchange_.name_of(rank) + ": ";
      return Error{reply.code, where + reply.message, "split"};
    }
    return ProgramId{static_cast<uint32_t>(programs_.size() - 1)};
  }

  // Running.

  void run(ProgramId id, const StepBatch& batch) override {
    program_ = &programs_[static_cast<uint32_t>(id)];
    n_logit_rows_ = batch.logit_rows.size();
    message_.clear();
    message_.add(OrderHead{Order::kRun, static_cast<uint32_t>(id)});
    write(message_, batch, n_groups_);
    status_ = send_to_others(message_.bytes());
    if (status_.ok()) run_own(batch);
  }
  Status wait() override { return std::exchange(status_, Status()); }
  std::span<const float> read(ActId act) const override {
    if (!gets_outputs()) return own_->read(act);
    const auto found = std::ranges::find(program_->output_acts, act);
    REQUIRE(found != program_->output_acts.end());
    const auto i = static_cast<size_t>(found - program_->output_acts.begin());
    return std::span(outputs_[i]).first(n_logit_rows_ * program_->outputs[i].n_cols);
  }

  // The cache: a block's bytes are those of all ranks, in rank order.

  size_t block_bytes() const override { return total(&CompileReply::block_bytes); }
  size_t state_bytes() const override { return total(&CompileReply::state_bytes); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override {
    own_->read_block(id, bytes.first(replies_[0].block_bytes));
    gather({Order::kReadBlock, to_number(id)}, bytes, &CompileReply::block_bytes);
  }
  void write_block(BlockId id, std::span<const std::byte> bytes) override {
    own_->write_block(id, bytes.first(replies_[0].block_bytes));
    scatter({Order::kWriteBlock, to_number(id)}, bytes, &CompileReply::block_bytes);
  }
  void zero_block(BlockId id) override {
    own_->zero_block(id);
    post_order({Order::kZeroBlock, to_number(id)});
  }
  void copy_block(BlockId from, BlockId to) override {
    own_->copy_block(from, to);
    post_order({Order::kCopyBlock, to_number(from), to_number(to)});
  }
  void read_state(StateId slot, std::span<std::byte> bytes) const override {
    own_->read_state(slot, bytes.first(replies_[0].state_bytes));
    gather({Order::kReadState, static_cast<uint32_t>(slot)}, bytes, &CompileReply::state_bytes);
  }
  void write_state(StateId slot, std::span<const std::byte> bytes) override {
    own_->write_state(slot, bytes.first(replies_[0].state_bytes));
    scatter({Order::kWriteState, static_cast<uint32_t>(slot)}, bytes, &CompileReply::state_bytes);
  }
  void zero_state(StateId slot) override {
    own_->zero_state(slot);
    post_order({Order::kZeroState, static_cast<uint32_t>(slot)});
  }
  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const override;

  // Reporting.

  BackendInfo info() const override {
    BackendInfo info = own_->info();
    const char* split = options_.split == RankSplit::kLayer    ? "layer"
                        : options_.split == RankSplit::kTensor ? "tensor"
                                                               : "expert";
    info.description = std::to_string(n_ranks()) + " ranks by " + split + ", each " + info.description;
    if (options_.split != RankSplit::kLayer) info.arithmetic += std::string(" ") + split + std::to_string(n_ranks());
    if (!programs_.empty()) {
      info.weight_bytes = total(&CompileReply::weight_bytes);
      info.kv_bytes = total(&CompileReply::kv_bytes);
      info.scratch_bytes = total(&CompileReply::scratch_bytes);
    }
    return info;
  }
  bool is_lost() const override { return exchange_.is_lost() || own_->is_lost(); }
  void set_trace(bool on) override { own_->set_trace(on); }
  std::span<const OpTiming> last_trace() const override { return own_->last_trace(); }

  // On other ranks.

  Status follow() {
    received_.resize(std::max(received_.size(), sizeof(OrderHead)));
    while (true) {
      RZ_TRY(const size_t n_bytes, exchange_.receive({0, received_}));
      ByteReader from({received_.data(), n_bytes});
      const auto head = from.take<OrderHead>();
      if (head.order == Order::kEnd) return {};
      RZ_CHECK_OK(obey(head, from));
    }
  }

 private:
  uint32_t rank() const { return exchange_.rank(); }
  uint32_t n_ranks() const { return exchange_.n_ranks(); }
  uint32_t last_rank() const { return n_ranks() - 1; }
  static uint32_t to_number(BlockId id) { return static_cast<uint32_t>(to_index(id)); }
  size_t total(size_t CompileReply::*field) const {
    size_t n = 0;
    for (const CompileReply& reply : replies_) n += reply.*field;
    return n;
  }
  // Whether rank 0 receives the last rank's outputs.
  bool gets_outputs() const { return options_.split == RankSplit::kLayer && n_ranks() > 1; }

  // Messages to all other ranks: equal ones, or one part each.

  Status send_to_others(std::span<const std::byte> bytes) const {
    std::array<Exchange::Outgoing, kMaxRanks> messages;
    for (uint32_t to = 1; to < n_ranks(); ++to) messages[to] = {to, bytes};
    return exchange_.transfer(std::span(messages).subspan(1, n_ranks() - 1), {});
  }
  Status send_order(const OrderHead& head, std::span<const std::byte> bytes = {}) const {
    RZ_CHECK_OK(send_to_others(std::as_bytes(std::span(&head, 1))));
    return bytes.empty() ? Status() : send_to_others(bytes);
  }
  // A failure here makes the next step fail.
  void post_order(const OrderHead& head) const { static_cast<void>(send_order(head)); }
  void gather(const OrderHead& head, std::span<std::byte> bytes, size_t CompileReply::*size) const {
    post_order(head);
    size_t at = replies_[0].*size;
    for (uint32_t from = 1; from < n_ranks(); ++from) {
      const size_t n = replies_[from].*size;
      const Exchange::Incoming message{from, bytes.subspan(at, n)};
      static_cast<void>(exchange_.transfer({}, {&message, 1}));
      at += n;
    }
  }
  void scatter(const OrderHead& head, std::span<const std::byte> bytes, size_t CompileReply::*size) const {
    post_order(head);
    size_t at = replies_[0].*size;
    for (uint32_t to = 1; to < n_ranks(); ++to) {
      const size_t n = replies_[to].*size;
      const Exchange::Outgoing message{to, bytes.subspan(at, n)};
      static_cast<void>(exchange_.transfer({&message, 1}, {}));
      at += n;
    }
  }

  Status receive_replies() {
    for (uint32_t from = 1; from < n_ranks(); ++from) {
      const Exchange::Incoming message{from, std::as_writable_bytes(std::span(&replies_[from], 1))};
      RZ_CHECK_OK(exchange_.transfer({}, {&message, 1}));
    }
    return {};
  }

  // Work of every rank.

  Result<RankProgram> own_program(const Program& program) {
    if (options_.split == RankSplit::kLayer) return layer_program(program, layout_, options_, rank(), n_ranks());
    return share_program(program, layout_, weights_, rank(), n_ranks());
  }

  Status try_compile(const Program& program) {
    RZ_TRY(const RankProgram own, own_program(program));
    if (programs_.empty()) {
      RZ_CHECK_OK(own_->create_kv_cache(own.cache));
      own_cache_ = own.cache;
    }
    OwnProgram compiled;
    RZ_TRY(compiled.id, own_->compile(own.program));
    compiled.cuts_prompts = std::ranges::none_of(program.ops, is_bidirectional);
    compiled.output_acts = program.outputs;
    for (const ActId act : program.outputs) {
      compiled.outputs.push_back(program.activations[static_cast<uint32_t>(act)]);
      REQUIRE(compiled.outputs.back().rows == Rows::kLogits);
    }
    if (gets_outputs() && rank() == 0) {
      outputs_.resize(std::max(outputs_.size(), compiled.outputs.size()));
      for (size_t i = 0; i < compiled.outputs.size(); ++i) {
        const size_t n = size_t{limits_.max_logit_rows} * compiled.outputs[i].n_cols;
        outputs_[i].resize(std::max(outputs_[i].size(), n));
      }
    }
    programs_.push_back(std::move(compiled));
    return {};
  }

  CompileReply compile_own(const Program& program) {
    const Status status = try_compile(program);
    CompileReply reply;
    if (!status.ok()) {
      reply.is_ok = false;
      reply.code = status.error().code;
      status.error().message.copy(reply.message, kMessageBytes - 1);
      return reply;
    }
    const BackendInfo info = own_->info();
    reply.block_bytes = own_->block_bytes();
    reply.state_bytes = own_->state_bytes();
    reply.weight_bytes = info.weight_bytes;
    reply.kv_bytes = info.kv_bytes;
    reply.scratch_bytes = info.scratch_bytes;
    return reply;
  }

  void run_own(const StepBatch& batch) {
    if (!gets_outputs()) {
      own_->run(program_->id, batch);
      status_ = own_->wait();
      return;
    }
    const auto parts = micro_batches_.split(batch, program_->cuts_prompts);
    if (rank() == 0) expect_outputs(parts);
    for (size_t i = 0; i < parts.size() && status_.ok(); ++i) {
      own_->run(program_->id, parts[i]);
      status_ = own_->wait();
      if (status_.ok() && rank() == last_rank()) status_ = send_outputs();
    }
    if (rank() == 0 && status_.ok()) status_ = exchange_.finish();
  }
  // Before the parts run, so that the last rank need not wait for this one to finish.
  void expect_outputs(std::span<const StepBatch> parts) {
    for (size_t part = 0; part < parts.size(); ++part) {
      const size_t n_rows = parts[part].logit_rows.size();
      for (size_t i = 0; i < program_->outputs.size(); ++i) {
        const size_t n_cols = program_->outputs[i].n_cols;
        const auto rows =
            std::span(outputs_[i]).subspan(micro_batches_.n_logit_rows_before(part) * n_cols, n_rows * n_cols);
        if (!rows.empty()) exchange_.expect({last_rank(), std::as_writable_bytes(rows)});
      }
    }
  }
  Status send_outputs() {
    for (const ActId act : program_->output_acts) {
      const Exchange::Outgoing message{0, std::as_bytes(own_->read(act))};
      if (!message.bytes.empty()) RZ_CHECK_OK(exchange_.transfer({&message, 1}, {}));
    }
    return {};
  }

  Status obey(const OrderHead& head, ByteReader& from) {
    switch (head.order) {
      case Order::kCompile:
        return compile_received(head.a);
      case Order::kRun:
        program_ = &programs_[head.a];
        run_own(batch_.read(from, n_groups_));
        return wait();
      case Order::kReadBlock:
        bytes_.resize(own_->block_bytes());
        own_->read_block(BlockId{head.a}, bytes_);
        return send_to_first(bytes_);
      case Order::kWriteBlock:
        bytes_.resize(own_->block_bytes());
        RZ_CHECK_OK(receive_from_first(bytes_));
        own_->write_block(BlockId{head.a}, bytes_);
        return {};
      case Order::kZeroBlock:
        own_->zero_block(BlockId{head.a});
        return {};
      case Order::kCopyBlock:
        own_->copy_block(BlockId{head.a}, BlockId{head.b});
        return {};
      case Order::kReadKv:
        return send_kv(head.a, BlockId{head.b});
      case Order::kReadState:
        bytes_.resize(own_->state_bytes());
        own_->read_state(StateId{head.a}, bytes_);
        return send_to_first(bytes_);
      case Order::kWriteState:
        bytes_.resize(own_->state_bytes());
        RZ_CHECK_OK(receive_from_first(bytes_));
        own_->write_state(StateId{head.a}, bytes_);
        return {};
      case Order::kZeroState:
        own_->zero_state(StateId{head.a});
        return {};
      case Order::kLoad:
      case Order::kQuit:
      case Order::kEnd:
        break;  // not for a model
    }
    return {};
  }
  Status send_to_first(std::span<const std::byte> bytes) const {
    const Exchange::Outgoing message{0, bytes};
    return exchange_.transfer({&message, 1}, {});
  }
  Status receive_from_first(std::span<std::byte> bytes) const {
    const Exchange::Incoming message{0, bytes};
    return exchange_.transfer({}, {&message, 1});
  }
  // If this fails, rank 0 ends the job and reports the reason.
  Status compile_received(uint32_t n_bytes) {
    bytes_.resize(n_bytes);
    RZ_CHECK_OK(receive_from_first(bytes_));
    ByteReader from(bytes_);
    RZ_CHECK_OK(create_kv_cache(read_layout(from)));
    const CompileReply reply = compile_own(read_program(from));
    return send_to_first(std::as_bytes(std::span(&reply, 1)));
  }
  Status send_kv(uint32_t layer, BlockId id);

  std::unique_ptr<Backend> own_;
  Exchange& exchange_;
  RankOptions options_;
  BackendLimits limits_;
  RankWeights weights_;
  CacheLayout layout_, own_cache_;  // of the model, and of this rank's share
  uint32_t n_groups_ = 1;
  std::vector<OwnProgram> programs_;
  std::vector<CompileReply> replies_;  // of all ranks, on rank 0
  ByteWriter message_;
  std::vector<std::byte> received_, bytes_;
  ReceivedBatch batch_;
  MicroBatches micro_batches_;

  // The current step.
  const OwnProgram* program_ = nullptr;
  size_t n_logit_rows_ = 0;
  Status status_;
  std::vector<std::vector<float>> outputs_;  // [n_logit_rows, n_cols] each, if the last rank computes them
};

// Number of the layer's heads on this rank: some, all or none.
uint32_t n_heads_kept(const CacheLayout& layout, uint32_t layer) {
  const auto* kept = std::get_if<Paged>(&layout.layers[layer]);
  return kept == nullptr ? 0 : kept->n_kv_heads;
}

void RankedBackend::read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const {
  const uint32_t n_heads = n_heads_kept(layout_, layer), n_own = n_heads_kept(own_cache_, layer);
  if (n_own == n_heads) return own_->read_kv(layer, id, keys, values);
  const size_t n_positions = layout_.block_tokens, k_dim = keys.size() / n_positions / n_heads,
               v_dim = values.size() / n_positions / n_heads;
  post_order({Order::kReadKv, layer, to_number(id)});
  uint32_t first_head = 0;
  std::vector<float> own_keys, own_values;
  for (uint32_t from = 0; from < n_ranks() && first_head < n_heads; ++from) {
    uint32_t n = n_own;
    const auto take = [&](auto values_of) {
      const Exchange::Incoming message{from, std::as_writable_bytes(values_of)};
      static_cast<void>(exchange_.transfer({}, {&message, 1}));
    };
    if (from > 0) take(std::span(&n, 1));
    own_keys.resize(n_positions * n * k_dim);
    own_values.resize(n_positions * n * v_dim);
    if (from > 0) {
      take(std::span(own_keys));
      take(std::span(own_values));
    } else {
      own_->read_kv(layer, id, own_keys, own_values);
    }
    for (size_t pos = 0; pos < n_positions; ++pos) {
      std::copy_n(own_keys.data() + pos * n * k_dim, n * k_dim, keys.data() + (pos * n_heads + first_head) * k_dim);
      std::copy_n(own_values.data() + pos * n * v_dim, n * v_dim, values.data() + (pos * n_heads + first_head) * v_dim);
    }
    first_head += n;
  }
}

Status RankedBackend::send_kv(uint32_t layer, BlockId id) {
  const uint32_t n = n_heads_kept(own_cache_, layer);
  const auto* kept = std::get_if<Paged>(&own_cache_.layers[layer]);
  RZ_CHECK_OK(send_to_first(std::as_bytes(std::span(&n, 1))));
  std::vector<float> keys(size_t{layout_.block_tokens} * n * (kept == nullptr ? 0 : kept->k_dim));
  std::vector<float> values(size_t{layout_.block_tokens} * n * (kept == nullptr ? 0 : kept->v_dim));
  if (n > 0) own_->read_kv(layer, id, keys, values);
  RZ_CHECK_OK(send_to_first(std::as_bytes(std::span(keys))));
  return send_to_first(std::as_bytes(std::span(values)));
}

}  // namespace

Result<std::unique_ptr<Backend>> make_ranked_backend(std::unique_ptr<Backend> own, Exchange& exchange,
                                                     const RankOptions& options) {
  RZ_CHECK_OK(check_ranks(options, exchange.n_ranks()));
  return std::unique_ptr<Backend>(std::make_unique<RankedBackend>(std::move(own), exchange, options));
}

Status follow(Backend& ranked) {
  return static_cast<RankedBackend&>(ranked).follow();
}

}  // namespace realizar::ranks
