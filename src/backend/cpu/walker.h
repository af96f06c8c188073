// Walks a plan with the whole team: every member runs every operation, takes items of it from a shared counter, and
// meets the others at a barrier where the plan says so. Which member does an item never changes its result.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/adapter_rows.h"
#include "backend/cpu/attention.h"
#include "backend/cpu/attention_units.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/op_trace.h"
#include "backend/cpu/plan.h"
#include "backend/cpu/scratch.h"
#include "backend/row_exchange.h"
#include "backend/state_store.h"
#include "base/work_shares.h"

namespace realizar::cpu {

MapKind map_kind(Activation activation);

class Walker {
 public:
  // All must outlive it. `exchange`: null where no ranks share programs.
  Walker(const KernelTable& kernels, ThreadTeam& team, const WeightStore& weights, const KvStore& cache,
         const StateStore& states, Exchange* exchange)
      : kernels_(kernels),
        team_(team),
        weights_(weights),
        cache_(cache),
        states_(states),
        exchange_(exchange),
        scratch_(kernels),
        phases_(team.size()) {}

  void configure(const BackendLimits& limits);
  // Takes the memory of the plan's steps: they allocate nothing. Errors: ResourceExhausted.
  Status fit(const Plan& plan);
  // The plan must be there until its results are read.
  void run(const Plan& plan, const StepBatch& batch);

  // How the exchanges of the plan that ran last went. Errors: those of Exchange.
  Status take_status() { return exchange_.take_status(); }
  bool is_lost() const { return exchange_.is_lost(); }
  // Results of the plan that ran last.
  std::span<const float> read(ActId id) const;
  size_t scratch_bytes() const { return scratch_.n_bytes(); }
  void set_trace(bool on) { trace_on_ = on; }
  std::span<const OpTiming> trace() const { return trace_.timings(); }
  void watch_inputs(MatrixInputCallback callback) { on_input_ = std::move(callback); }

 private:
  struct ExpertGroup {
    uint32_t expert, first, n_decode, n_slots;  // of the experts held; slots_[first ..], decode slots first
  };

  void walk(uint32_t member);
  // walker_rows.cpp
  void run(const EmbedOp& op, const Hints&, uint32_t member);
  void run(const NormOp& op, const Hints&, uint32_t member);
  void run(const RopeStoreOp& op, const Hints& hints, uint32_t member);
  void run(const GateOp& op, const Hints&, uint32_t member);
  void gate_row(const GateOp& op, uint32_t row) const;
  void gate_columns(const GateOp& op, uint32_t row) const;
  void run(const CutOp& op, const Hints&, uint32_t member);
  void run(const SelectRowsOp& op, const Hints&, uint32_t member);
  void normalize(const NormOp& op, const float* in, float* out, uint32_t n, uint32_t at = 0,
                 float magnitude = 1.0f) const;
  // Of a row's position: the sines and cosines of each pair.
  struct Angles {
    WeightId inv_freq;
    uint32_t n_rot;
    float scale;
  };
  float* rotation(uint32_t row) const;
  void find_rotation(const Angles& angles, uint32_t row) const;
  // What a row's query is multiplied by, of RopeStoreOp or LatentStoreOp.
  template <class StoreOp>
  static float temperature_at(const StoreOp& op, Pos pos) {
    const uint32_t n_steps = (static_cast<uint32_t>(pos) + op.temperature_offset) / op.temperature_step;
    return static_cast<float>(1 + op.temperature * std::log(1.0 + n_steps));
  }
  static void rotate(float* head, uint32_t n_rot, const float* rotations);
  const BatchSequence& seq_of(uint32_t row) const;
  void normalize_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm) const;
  void prepare_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const;
  // walker_altup.cpp
  void run(const AltUpOp& op, const Hints&, uint32_t member);
  float coefficient(const AltUpOp& op, uint32_t row, uint32_t i) const;
  void predict_streams(const AltUpOp& op, uint32_t row, uint32_t first, uint32_t n) const;
  void correct_streams(const AltUpOp& op, uint32_t row, uint32_t first, uint32_t n) const;
  // walker_linear.cpp
  void run(const LinearOp& op, const Hints& hints, uint32_t member);
  void run(const GatedLinearOp& op, const Hints&, uint32_t member);
  void prepare(ActId act, const PanelMatrix& m, const RowList& list, uint32_t member);
  void prepare_rows(PreparedRows& to, const float* source, const PanelMatrix& m, const RowList& list, uint32_t member);
  void finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc);
  // The activation, scale and softcap of LinearOp or AdapterUpOp.
  template <class Product>
  void activate(const Product& op, float* y, uint32_t n) const;
  // walker_adapters.cpp
  void run(const AdapterDownOp& op, const Hints&, uint32_t member);
  void run(const AdapterUpOp& op, const Hints&, uint32_t member);
  uint32_t rank_of(WeightId ranks, const AdapterBlock& block) const;
  void multiply_piece(const AdapterDownOp& op, const AdapterBlock& block, uint32_t panel, uint32_t piece) const;
  void add_up(const AdapterUpOp& op, const AdapterBlock& block, uint32_t begin, uint32_t first, uint32_t n) const;
  const AdapterRows& adapter_rows(Rows rows) const { return adapter_rows_[rows == Rows::kAll ? 0 : 1]; }
  // walker_latent.cpp
  void run(const HeadLinearOp& op, const Hints&, uint32_t member);
  void run(const LatentStoreOp& op, const Hints& hints, uint32_t member);
  const float* head_parts(const HeadLinearOp& op, uint32_t n_cols, uint32_t member);
  // walker_attention.cpp
  void run(const AttentionOp& op, const Hints& hints, uint32_t member);
  float* part(const AttentionOp& op, uint32_t idx, uint32_t group) const;
  void attend_rows(const AttentionOp& op, const AttentionUnits& units, const AttentionUnit& unit, uint32_t group,
                   uint32_t member);
  void attend_part(const AttentionOp& op, const AttentionUnit& unit, uint32_t group, uint32_t member);
  void merge_parts(const AttentionOp& op, const AttentionUnit& unit, uint32_t group);
  // walker_experts.cpp
  void run(const RouteOp& op, const Hints&, uint32_t member);
  void run(const ExpertsOp& op, const Hints&, uint32_t member);
  // walker_states.cpp
  // Values [first, first + n) of a part of the state that the sequence's step writes, as they are before its rows:
  // zeros at position 0, else those of the state that it reads.
  float* begun_state(const BatchSequence& seq, uint32_t layer, uint32_t part, size_t first, size_t n) const;
  void run(const ShortConvOp& op, const Hints&, uint32_t member);
  void run(const StateScanOp& op, const Hints&, uint32_t member);
  void convolve(const ShortConvOp& op, const BatchSequence& seq, uint32_t first_col, uint32_t end_col) const;
  // Of heads [first, end).
  void scan_heads(const StateScanOp& op, const BatchSequence& seq, uint32_t first, uint32_t end) const;
  // Of rows [row, row + n_rows), n_rows <= kScanRows.
  void scan_head(const StateScanOp& op, uint32_t row, uint32_t n_rows, uint32_t head, float* state) const;
  // walker_delta.cpp
  void run(const DeltaRuleOp& op, const Hints&, uint32_t member);
  void find_shares(const DeltaRuleOp& op, uint32_t row) const;
  void scan_columns(const DeltaRuleOp& op, const BatchSequence& seq, uint32_t head, uint32_t first, uint32_t n) const;
  // walker_wkv.cpp
  void run(const WkvOp& op, const Hints&, uint32_t member);
  void prepare_wkv(const WkvOp& op, uint32_t row) const;
  void prepare_wkv_head(const WkvOp& op, uint32_t row, size_t at) const;
  void scan_wkv(const WkvOp& op, const BatchSequence& seq, uint32_t head, uint32_t first, uint32_t n) const;
  // walker_exchange.cpp
  void run(const JoinOp& op, const Hints&, uint32_t member);
  void add_parts(const JoinOp& op, Sharing::Range range, uint32_t first, uint32_t n) const;
  void run(const CollectOp& op, const Hints&, uint32_t member);
  void run(const SendOp& op, const Hints&, uint32_t member);
  void run(const ReceiveOp& op, const Hints&, uint32_t member);
  void run(const ChooseOp&, const Hints&, uint32_t) {}  // no plan has it
  // walker_inputs.cpp: tells on_input_ what an operation has multiplied its matrices by.
  void show_inputs(const LinearOp& op);
  void show_inputs(const GatedLinearOp& op);
  void show_inputs(const HeadLinearOp& op);
  void show_inputs(const ExpertsOp& op);
  template <class OtherOp>
  void show_inputs(const OtherOp&) {}
  void show_rows(ActId in, WeightId weight, const RowList& list);
  void show(WeightId weight, uint32_t mat_idx);
  void group_by_expert(const ExpertsOp& op);
  bool holds(const ExpertsOp& op, uint32_t expert) const {
    return expert >= op.first_expert && expert - op.first_expert < matrix(op.down).n_mats;
  }
  bool has_mixed_forms(const ExpertsOp& op) const;
  void finish_expert_rows(const ExpertsOp& op, WeightId bias, const ExpertGroup& group, uint32_t first, uint32_t n,
                          float* rows) const;
  void expert_gates(const ExpertsOp& op, const ExpertGroup& group, PairRange pairs, uint32_t member);
  void expert_hidden(const ExpertsOp& op, const ExpertGroup& group, PairRange pairs, uint32_t member);
  void expert_outputs(const ExpertsOp& op, const ExpertGroup& group, PairRange pairs, uint32_t member);

  // Calls body(i) for each i < n, spread over the team; every member must enter the same loops.
  template <class Body>
  void share(uint32_t n, uint32_t member, const Body& body) {
    share_work(&taken_[size_t{phases_[member].n_loops++} * team_.size()], n, member, team_.size(), body);
  }

  // The items that the pairs of `n_mats` matrices like `m` are shared in, mat after mat.
  struct PairItems {
    uint32_t n_pairs, n_at_once;

    uint32_t n_each() const { return (n_pairs + n_at_once - 1) / n_at_once; }  // of a matrix
    PairRange range(uint32_t item) const {
      const uint32_t first = item % n_each() * n_at_once;
      return {first, std::min(n_at_once, n_pairs - first)};
    }
  };
  PairItems pair_items(const PanelMatrix& m, const RowList& rows) const {
    return {n_pairs(m), pairs_at_once(kernels_, m, set_of(rows), team_.size())};
  }
  static RowSet set_of(const RowList& list) { return {list.n_decode, list.n_rows}; }
  // Of pair p of a range, [n_rows, kPairRows].
  static float* sums_of(float* acc, const RowList& list, uint32_t p) {
    return acc + size_t{p} * n_sum_rows(list) * kPairRows;
  }

  const PanelMatrix& matrix(WeightId id) const { return weights_.matrix(id); }
  const float* vector(WeightId id) const { return weights_.vector(id); }
  float* act(ActId id, uint32_t row = 0) const {
    const ActPlace& place = plan_->acts[id];
    return reinterpret_cast<float*>(scratch_.activations() + place.offset) + size_t{row} * place.n_cols;
  }
  uint32_t n_cols(ActId id) const { return plan_->acts[id].n_cols; }
  RowList row_list(Rows rows) const { return rows == Rows::kAll ? all_rows_ : logit_rows_; }

  static constexpr uint32_t kLoopsPerOp = 7;

  const KernelTable& kernels_;
  ThreadTeam& team_;
  const WeightStore& weights_;
  const KvStore& cache_;
  const StateStore& states_;
  RowExchange exchange_;
  BackendLimits limits_;
  Scratch scratch_;
  // How far a member has come in a step; each on a line of the cache of its own.
  struct alignas(64) Phase {
    uint32_t n_loops = 0;  // entered
  };
  std::vector<Phase> phases_;
  std::unique_ptr<std::atomic<uint32_t>[]> taken_;  // of each loop and member, see share_work
  size_t n_ops_ = 0;                                // that taken_ is for
  std::vector<uint32_t> identity_;                  // 0, 1, 2, ...

  // The current step's; read() needs the plan and the rows when the batch is gone.
  const Plan* plan_ = nullptr;
  const StepBatch* batch_ = nullptr;
  RowList all_rows_{}, logit_rows_{};
  std::vector<AttentionUnits> units_;  // of each number of rows that the plan wants
  Sharing::Range join_range_;          // that this rank adds of the join under way
  AdapterRows adapter_rows_[2];        // of the step's rows and of the logits', where the plan has adapters

  // Mixture of experts. A slot is one (row, rank) pair: row * n_used + rank.
  std::vector<ExpertGroup> groups_;
  std::vector<uint32_t> slots_, slot_rows_;
  std::vector<uint32_t> head_slots_;  // [heads, rows]: row * heads + head

  MatrixInputCallback on_input_;      // empty: nobody watches
  std::vector<const float*> inputs_;  // rows that are shown next

  bool trace_on_ = false;
  OpTrace trace_;
};

}  // namespace realizar::cpu
