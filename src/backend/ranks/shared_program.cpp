#include "backend/ranks/shared_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/try.h"

namespace realizar::ranks {
namespace {

// Location of an activation of the whole program, and this rank's columns of it.
struct Place {
  ActId act = kNoAct;
  std::optional<Sharing> cols;  // absent: all
  bool is_elsewhere = false;    // only rank 0 has it
};

class Sharer {
 public:
  Sharer(const Program& whole, const CacheLayout& cache, RankWeights& weights, uint32_t rank, uint32_t n_ranks)
      : whole_(whole), weights_(weights), rank_(rank), n_ranks_(n_ranks), kv_heads_(cache.layers.size()) {
    result_.cache = cache;
    result_.cache.whole_groups = cache.groups();
    for (const ActShape& shape : whole.activations) {
      result_.program.activations.push_back(shape);
      places_.push_back({.act = ActId{static_cast<uint32_t>(places_.size())}, .cols = {}});
    }
  }

  Result<RankProgram> share() {
    for (const Op& op : whole_.ops) {
      end_sum_before(op);
      RZ_CHECK_OK(std::visit([this](const auto& one) { return add(one); }, op));
    }
    end_sum();
    result_.program.outputs = whole_.outputs;
    for (size_t layer = 0; layer < kv_heads_.size(); ++layer) {
      auto* kept = std::get_if<Paged>(&result_.cache.layers[layer]);
      if (kept != nullptr && kv_heads_[layer]) kept->n_kv_heads = kv_heads_[layer]->n;
    }
    return std::move(result_);
  }

 private:
  // A sum whose parts are on all ranks; further parts may be added before it is joined.
  struct Sum {
    ActId out, part;  // `out` in the whole program
    bool accumulate;
    OpPlace place;
  };

  Error cannot_share(const Op& op, const std::string& why) const {
    const OpPlace place = place_of(op);
    std::string where = name_of(kind_of(op), place.role);
    if (place.layer >= 0) where += " of layer " + std::to_string(place.layer);
    return unsupported(where + " " + why + ", which ranks cannot share: --split layer gives each rank whole layers",
                       "split");
  }

  Sharing::Range own(const Sharing& sharing) const { return sharing.of(rank_, n_ranks_); }
  const Place& at(ActId act) const { return places_[static_cast<uint32_t>(act)]; }
  const std::optional<Sharing>& cols(ActId act) const { return at(act).cols; }
  bool is_whole(ActId act) const { return act == kNoAct || (!cols(act) && !at(act).is_elsewhere); }
  ActId read(ActId act) const { return act == kNoAct ? kNoAct : at(act).act; }
  // Records the activation as this rank's share of its columns, or as whole.
  ActId write(ActId act, const std::optional<Sharing>& cols = {}) {
    Place& place = places_[static_cast<uint32_t>(act)];
    place = {cols ? share_of(act, *cols) : act, cols};
    return place.act;
  }
  // A separate activation for each number of columns of a layer's share.
  ActId share_of(ActId act, const Sharing& cols) {
    const ActShape& shape = whole_.activations[static_cast<uint32_t>(act)];
    const uint32_t n = own(cols).n;
    const auto [found, is_new] = shares_.try_emplace({act, n}, kNoAct);
    if (is_new) found->second = result_.program.add_activation(shape.name + ".share", n, shape.rows);
    return found->second;
  }
  void emit(const Op& op) { result_.program.add(op); }

  // Sums.

  // Joins a pending sum before an operation that reads it or overwrites it.
  void end_sum_before(const Op& op) {
    if (!sum_) return;
    TouchVisitor touches{sum_->out};
    std::visit([&](const auto& one) { one.visit(touches); }, op);
    if (touches.reads_it || (touches.writes_it && !adds_part_to(op, sum_->out))) end_sum();
  }
  struct TouchVisitor {
    ActId act;
    bool reads_it = false, writes_it = false;
    void reads(ActId other) { reads_it |= other == act; }
    void writes(ActId other) { writes_it |= other == act; }
    void adds_to(ActId other) { writes(other); }
    void matrix(const char*, WeightId) {}
    void vector(const char*, WeightId) {}
    template <class Value>
    void trait(const char*, const Value&, const Value&) {}
  };
  bool adds_part_to(const Op& op, ActId out) const {
    if (const auto* linear = std::get_if<LinearOp>(&op)) {
      return linear->out == out && linear->accumulate && gives_part(linear->weight);
    }
    const auto* experts = std::get_if<ExpertsOp>(&op);
    return experts != nullptr && experts->out == out && gives_part(experts->down);
  }
  bool gives_part(WeightId weight) const {
    const Shared shared = weights_.sharing(weight).shared;
    return shared == Shared::kCols || shared == Shared::kMats;
  }
  // The part that an operation adds to, and whether it already has a value.
  std::pair<ActId, bool> part_of_sum(ActId out, bool accumulate, OpPlace place) {
    if (sum_ && sum_->out == out && accumulate) return {sum_->part, true};
    end_sum();
    const uint32_t n_cols = whole_.activations[static_cast<uint32_t>(out)].n_cols;
    const auto [found, is_new] = parts_.try_emplace(n_cols, kNoAct);
    if (is_new) found->second = result_.program.add_activation("part", n_cols);
    sum_ = Sum{out, found->second, accumulate, place};
    return {sum_->part, false};
  }
  void end_sum() {
    if (!sum_) return;
    const Sum sum = *std::exchange(sum_, std::nullopt);
    emit(JoinOp{.out = write(sum.out), .part = sum.part, .accumulate = sum.accumulate, .place = sum.place});
  }

  // Operations.

  Status add(EmbedOp op) {
    op.out = write(op.out);
    op.table = weights_.table_of(op.table);
    emit(op);
    return {};
  }

  Status add(LinearOp op) {
    const MatrixSharing& weight = weights_.sharing(op.weight);
    if (weight.shared == Shared::kCols) return add_part(op, weight.sharing);
    if (!is_whole(op.in)) return cannot_share(op, "reads a share of its input");
    const Op whole = op;
    op.in = read(op.in);
    if (weight.shared == Shared::kNothing) {
      if (op.accumulate && !is_whole(op.out)) return cannot_share(whole, "adds to a share");
      op.out = write(op.out);
      emit(op);
      return {};
    }
    if (op.accumulate) return cannot_share(whole, "adds to a share");
    RZ_TRY(op.bias, weights_.slice(op.bias, own(weight.sharing)));
    const ActId out = op.out;
    op.out = write(out, weight.sharing);
    emit(op);
    if (op.place.layer >= 0) return {};
    emit(CollectOp{.out = out, .part = op.out, .cols = weight.sharing, .rows = op.rows, .place = op.place});
    places_[static_cast<uint32_t>(out)] = {out, {}, rank_ != 0};
    return {};
  }

  Status add_part(LinearOp op, const Sharing& cols) {
    const bool is_linear = op.epilogue.is_linear() && op.rows == Rows::kAll;
    if (this->cols(op.in) != cols || !is_linear)
      return cannot_share(op, "does not read the columns of its weight's share");
    const auto [part, adds] = part_of_sum(op.out, op.accumulate, op.place);
    op.in = read(op.in);
    op.out = part;
    op.accumulate = adds;
    if (rank_ != 0) op.bias = kNoWeight;
    emit(op);
    return {};
  }

  Status add(GatedLinearOp op) {
    const MatrixSharing &gate = weights_.sharing(op.gate), &up = weights_.sharing(op.up);
    if (!is_whole(op.in) || gate.shared != up.shared || gate.sharing != up.sharing) {
      return cannot_share(op, "has a gate that is shared differently from its input");
    }
    op.in = read(op.in);
    op.out = gate.shared == Shared::kNothing ? write(op.out) : write(op.out, gate.sharing);
    emit(op);
    return {};
  }

  // This rank's heads of n_heads of this width.
  Sharing::Range heads_of(ActId act, uint32_t n_heads, uint32_t head_dim) const {
    if (!cols(act)) return {0, n_heads};
    const Sharing::Range range = own(*cols(act));
    return {range.first / head_dim, range.n / head_dim};
  }

  Status add(NormOp op) {
    if (!cols(op.in)) return add_whole(op);
    const Sharing sharing = *cols(op.in);
    const uint32_t width = sharing.n / op.n_groups;
    if (sharing.unit % width != 0 || !is_whole(op.like) || op.accumulate) {
      return cannot_share(op, "normalizes all heads, or columns, together");
    }
    const Sharing::Range range = own(sharing);
    RZ_TRY(op.weight, weights_.slice(op.weight, range));
    RZ_TRY(op.bias, weights_.slice(op.bias, range));
    op.n_groups = range.n / width;
    op.in = read(op.in);
    op.out = write(op.out, sharing);
    emit(op);
    return {};
  }

  Status add(RopeStoreOp op) {
    const Sharing::Range q = heads_of(op.q, op.n_heads, op.head_dim);
    if (op.k != kNoAct) {
      const uint32_t group = op.n_heads / op.n_kv_heads;
      const Sharing::Range kv = heads_of(op.k, op.n_kv_heads, op.head_dim);
      if (cols(op.k) != cols(op.v) || q.first != kv.first * group || q.n != kv.n * group) {
        return cannot_share(op, "has keys that are shared differently from its queries");
      }
      kv_heads_[op.layer] = kv;
      op.n_kv_heads = kv.n;
    }
    op.n_heads = q.n;
    op.q = read(op.q);
    op.k = read(op.k);
    op.v = read(op.v);
    emit(op);
    return {};
  }

  Status add(AttentionOp op) {
    const Sharing::Range q = heads_of(op.q, op.n_heads, op.head_dim);
    if (cols(op.q)) {
      const uint32_t group = op.n_heads / op.n_kv_heads;
      const std::optional<Sharing::Range>& kv = kv_heads_[op.layer];
      if (!kv || q.first != kv->first * group || q.n != kv->n * group) {
        return cannot_share(op, "reads keys that are shared differently from its queries");
      }
      op.n_kv_heads = kv->n;
      RZ_TRY(op.sinks, weights_.slice(op.sinks, q));
      RZ_TRY(op.slopes, weights_.slice(op.slopes, q));
    }
    op.n_heads = q.n;
    const auto sharing = cols(op.q);
    op.q = read(op.q);
    op.out = sharing ? write(op.out, *sharing) : write(op.out);
    emit(op);
    return {};
  }

  Status add(GateOp op) {
    if (!cols(op.in)) return add_whole(op);
    const uint32_t n_gates = whole_.activations[static_cast<uint32_t>(op.gate)].n_cols;
    const bool is_shared_alike = cols(op.gate) == cols(op.in) && op.gate_col == 0;
    const bool fits = op.accumulate ? cols(op.out) == cols(op.in) : true;
    if (!fits || !(is_shared_alike || (n_gates == 1 && is_whole(op.gate)))) {
      return cannot_share(op, "has gates that are shared differently from its input");
    }
    const auto sharing = cols(op.in);
    op.in = read(op.in);
    op.gate = read(op.gate);
    op.out = write(op.out, sharing);
    emit(op);
    return {};
  }

  Status add(ExpertsOp op) {
    const MatrixSharing &gate = weights_.sharing(op.gate), &up = weights_.sharing(op.up),
                        &down = weights_.sharing(op.down);
    for (const ActId act : {op.in, op.weights, op.ids}) {
      if (!is_whole(act)) return cannot_share(op, "reads a share of its input");
    }
    const bool is_alike = gate.sharing == down.sharing && up.sharing == down.sharing;
    if (!is_alike) return cannot_share(op, "has experts whose matrices are shared differently");
    if (down.shared == Shared::kNothing) return add_whole(op);
    const uint32_t n_mats = weights_.n_mats(op.down), n_out = n_cols(op.out), d_ff = op.d_ff;
    const bool by_mats = down.shared == Shared::kMats;
    const Sharing::Range range = own(down.sharing);
    const Sharing::Range mats = by_mats ? range : Sharing::Range{0, n_mats};
    const Sharing::Range hidden = by_mats ? Sharing::Range{0, d_ff} : range;
    RZ_TRY(op.gate_bias, weights_.slice(op.gate_bias, d_ff, mats, hidden));
    RZ_TRY(op.up_bias, weights_.slice(op.up_bias, d_ff, mats, hidden));
    if (by_mats) {
      RZ_TRY(op.down_bias, weights_.slice(op.down_bias, n_out, mats, {0, n_out}));
    } else if (rank_ != 0) {
      op.down_bias = kNoWeight;
    }
    op.first_expert = mats.first;
    op.d_ff = hidden.n;
    const auto [part, adds] = part_of_sum(op.out, true, op.place);
    if (!adds) emit(NormOp{.out = part, .in = read(op.in), .eps = 1.0f, .scale = 0.0f, .place = op.place});
    op.in = read(op.in);
    op.weights = read(op.weights);
    op.ids = read(op.ids);
    op.out = part;
    emit(op);
    return {};
  }
  uint32_t n_cols(ActId act) const { return whole_.activations[static_cast<uint32_t>(act)].n_cols; }

  // Rank 0's engine chooses tokens.
  Status add(const ChooseOp&) { return {}; }

  template <class Other>
  Status add(const Other& op) {
    return add_whole(op);
  }

  // All ranks compute the same; whole activations keep their ids.
  template <class AnyOp>
  Status add_whole(const AnyOp& op) {
    WholeVisitor visitor{*this};
    op.visit(visitor);
    if (!visitor.is_whole) return cannot_share(op, "needs the whole of something that ranks share");
    for (const ActId act : visitor.written) write(act);
    emit(op);
    return {};
  }
  struct WholeVisitor {
    const Sharer& sharer;
    bool is_whole = true;
    std::vector<ActId> written = {};
    void reads(ActId act) { is_whole &= sharer.is_whole(act); }
    void writes(ActId act) { written.push_back(act); }
    void adds_to(ActId act) {
      reads(act);
      writes(act);
    }
    void matrix(const char*, WeightId id) { is_whole &= sharer.weights_.sharing(id).shared == Shared::kNothing; }
    void vector(const char*, WeightId) {}
    template <class Value>
    void trait(const char*, const Value&, const Value&) {}
  };
  const Program& whole_;
  RankWeights& weights_;
  uint32_t rank_, n_ranks_;
  RankProgram result_;
  std::vector<Place> places_;                            // by ActId of the whole program
  std::map<std::pair<ActId, uint32_t>, ActId> shares_;   // by activation and number of columns
  std::map<uint32_t, ActId> parts_;                      // of sums, by number of columns
  std::optional<Sum> sum_;                               // not joined yet
  std::vector<std::optional<Sharing::Range>> kv_heads_;  // this rank's, per layer
};

}  // namespace

Result<RankProgram> share_program(const Program& whole, const CacheLayout& cache, RankWeights& weights, uint32_t rank,
                                  uint32_t n_ranks) {
  return Sharer(whole, cache, weights, rank, n_ranks).share();
}

}  // namespace realizar::ranks
