// Records the operations of a step in a list of fixed capacity, then walks it with the whole team: every member runs
// every command, takes items of it from a shared counter, and meets the others at a barrier where the next command
// needs the results. Which member does an item never changes its result.
#pragma once

#include <atomic>
#include <memory>
#include <variant>
#include <vector>

#include "backend/cpu/attention.h"
#include "backend/cpu/matmul.h"
#include "backend/op_work.h"
#include "base/work_shares.h"

namespace realizar {

MapKind map_kind(Activation activation);

class StepRunner {
 public:
  static constexpr uint32_t kMaxUsedExperts = 16;  // by a token

  StepRunner(const KernelTable& kernels, ThreadTeam& team) : kernels_(kernels), team_(team), members_(team.size()) {}

  const KernelTable& kernels() const { return kernels_; }
  const KvStore& cache() const { return cache_; }
  size_t weight_bytes() const;
  size_t scratch_bytes() const;

  Status configure(const BackendLimits& limits);
  Result<WeightId> add_matrix(const MatrixSource& source);
  Result<WeightId> add_vector(std::span<const float> values);
  Result<ActId> add_activation(uint32_t n_cols, Rows rows);
  Status create_cache(const KvLayout& layout);

  using Command = std::variant<EmbedOp, NormOp, LinearOp, GatedLinearOp, RopeStoreOp, AttentionOp, RouteOp, ExpertsOp,
                               SelectRowsOp>;  // in the order of OpKind
  void begin(const StepBatch& batch);
  void add(const Command& command);
  void submit();
  const Status& status() const { return status_; }

  std::span<const float> read(ActId act) const;
  void set_trace(bool on) { trace_on_ = on; }
  std::span<const OpTiming> trace() const { return trace_; }

 private:
  struct Activation2D {
    uint32_t n_cols;
    Rows rows;
    Pages values;  // F32 [max rows, n_cols]
  };
  struct Member {
    uint32_t phase = 0;  // loops entered in this step
    Pages scratch;       // accumulators of two products for all rows, and tiles
    Pages attention;     // what one attention task needs
  };
  // What the angles of a position follow from.
  struct Rotation {
    WeightId inv_freq = kNoWeight;
    float scale = 0;
    uint32_t n_rot = 0, head_dim = 0;
    bool operator==(const Rotation&) const = default;
  };
  // A command and what its neighbours save it.
  struct Step {
    Command command;
    bool prepares = true;  // the input's prepared rows are not there yet
    bool turns = true;     // the rotations of this step's positions are not there yet
    bool barrier = true;   // the next command needs what this one made
  };

  float* accumulators(uint32_t member, uint32_t which) const;
  std::byte* tile(uint32_t member) const;

  void walk(uint32_t member);
  void run(const EmbedOp& op, uint32_t member);
  void run(const NormOp& op, uint32_t member);
  void run(const LinearOp& op, uint32_t member);
  void run(const GatedLinearOp& op, uint32_t member);
  void run(const RopeStoreOp& op, uint32_t member);
  void run(const AttentionOp& op, uint32_t member);
  void run(const RouteOp& op, uint32_t member);
  void run(const ExpertsOp& op, uint32_t member);
  void run(const SelectRowsOp& op, uint32_t member);

  const Step& step(uint32_t member) const { return steps_[members_[member].phase / kLoopsPerCommand]; }
  bool shares_input(const LinearOp& op) const;
  Operand prepare(ActId act, const PanelMatrix& m, const RowList& list, uint32_t member);
  void prepare_rows(PreparedRows& to, const float* source, const PanelMatrix& m, const RowList& list, uint32_t member);
  void finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc);
  float* rotations(const RopeStoreOp& op, uint32_t row) const;
  void find_rotations(const RopeStoreOp& op, uint32_t row) const;
  void turn_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const;
  void normalize(const NormOp& op, const float* in, float* out, uint32_t n) const;
  void plan_attention(const AttentionOp& op);
  Status reserve_attention(const AttentionOp& op);
  float* part(const AttentionOp& op, uint32_t index, uint32_t kv_head) const;
  struct AttentionUnit;
  void attend_rows(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head, uint32_t member);
  void attend_part(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head, uint32_t member);
  void merge_parts(const AttentionOp& op, const AttentionUnit& unit, uint32_t kv_head);
  void group_by_expert(const ExpertsOp& op);
  bool has_mixed_forms(const ExpertsOp& op) const;
  void expert_gates(const ExpertsOp& op, uint32_t item, uint32_t member);
  void expert_hidden(const ExpertsOp& op, uint32_t item, uint32_t member);
  void expert_outputs(const ExpertsOp& op, uint32_t item, uint32_t member);
  void record_trace();
  OpWork work_of(const Command& command, size_t n_expert_groups) const;

  // Calls body(i) for each i < n, spread over the team; every member must enter the same loops.
  template <class Body>
  void share(uint32_t n, uint32_t member, const Body& body) {
    share_work(&taken_[size_t{members_[member].phase++} * team_.size()], n, member, team_.size(), body);
  }

  const PanelMatrix& matrix(WeightId id) const { return matrices_[static_cast<uint32_t>(id)]; }
  const float* vector(WeightId id) const {
    return id == kNoWeight ? nullptr : reinterpret_cast<const float*>(matrix(id).data);
  }
  float* act(ActId id, uint32_t row = 0) const {
    const Activation2D& a = activations_[static_cast<uint32_t>(id)];
    return a.values.as<float>() + size_t{row} * a.n_cols;
  }
  uint32_t n_cols(ActId id) const { return activations_[static_cast<uint32_t>(id)].n_cols; }
  RowList row_list(Rows rows) const;

  static constexpr uint32_t kLoopsPerCommand = 7;

  const KernelTable& kernels_;
  ThreadTeam& team_;
  BackendLimits limits_;
  Arena weights_;
  std::vector<PanelMatrix> matrices_;  // in weights_
  std::vector<Activation2D> activations_;
  KvStore cache_;
  std::vector<Member> members_;

  const StepBatch* batch_ = nullptr;
  std::vector<Step> steps_;
  Rotation turned_;                                 // of the step's last rope_store
  Status status_;                                   // of the step's recording
  std::unique_ptr<std::atomic<uint32_t>[]> taken_;  // of each loop and member, see share_work
  RowList all_rows_{}, logit_rows_{};               // of the step; read() needs them when the batch is gone
  std::vector<uint32_t> identity_;                  // 0, 1, 2, ...
  PreparedRows prepared_;                           // of one activation at a time
  Pages rotations_;                                 // F32 [max rows, head_dim / 2, (cos, sin)] of the step's positions

  // Attention. A unit is some rows of a sequence, or one part of a decode row's positions.
  static constexpr uint32_t kNoPart = ~0u;
  struct AttentionUnit {
    uint32_t seq, first_row, part, part_index;  // part_index: where its sums lie in parts_; kNoPart: it is whole
  };
  std::vector<AttentionUnit> units_;
  uint32_t unit_rows_ = 0, n_parts_ = 0;
  Pages parts_;

  // Mixture of experts. A slot is one (row, rank) pair: row * n_used + rank.
  struct ExpertGroup {
    uint32_t expert, first, n_decode, n_slots;  // slots_[first ..], decode slots first
  };
  std::vector<ExpertGroup> groups_;
  std::vector<uint32_t> slots_, slot_rows_;
  Pages hidden_, partial_;  // F32 [slots, d_ff], [slots, d_model]
  PreparedRows prepared_hidden_;

  bool trace_on_ = false;
  uint64_t trace_start_ns_ = 0;
  struct OpEnd {
    uint64_t ns;
    size_t n_expert_groups;  // experts that the operation had rows for, where it is one of experts
  };
  std::vector<OpEnd> op_ends_;  // [max_commands]
  std::vector<OpTiming> trace_;
};

}  // namespace realizar
