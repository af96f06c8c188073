#include "backend/ranks/layer_program.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/try.h"

namespace realizar::ranks {
namespace {

// Activations that an operation reads, and those that it writes without reading.
struct UseVisitor {
  std::vector<ActId> read, written;
  void reads(ActId act) { read.push_back(act); }
  void writes(ActId act) { written.push_back(act); }
  void adds_to(ActId act) { read.push_back(act); }
  void matrix(const char*, WeightId) {}
  void vector(const char*, WeightId) {}
  template <class Value>
  void trait(const char*, const Value&, const Value&) {}
};

UseVisitor uses_of(const Op& op) {
  UseVisitor uses;
  std::visit([&](const auto& one) { one.visit(uses); }, op);
  return uses;
}

// The rank of each operation. Operations outside layers come before all layers or after them.
class LayerRanks {
 public:
  LayerRanks(const RankOptions& options, uint32_t n_ranks) {
    for (uint32_t rank = 0; rank < n_ranks; ++rank) ranges_.push_back(layers_of(options, rank, n_ranks));
  }

  // Called in program order. Errors: Unsupported, if the operation belongs to a layer of an earlier rank.
  Result<uint32_t> next(const Op& op) {
    const OpPlace place = place_of(op);
    if (place.layer < 0) return rank_;
    const auto found = std::ranges::find_if(ranges_, [&](const LayerRange& range) { return range.has(place.layer); });
    const auto rank = static_cast<uint32_t>(found - ranges_.begin());
    if (rank < rank_) {
      return unsupported("layers of rank " + std::to_string(rank_) + " read the cache of layer " +
                             std::to_string(place.layer) + " on rank " + std::to_string(rank) +
                             ": this model needs --split tensor, or fewer ranks",
                         "split");
    }
    return rank_ = rank;
  }

 private:
  std::vector<LayerRange> ranges_;
  uint32_t rank_ = 0;
};

// Activations that operations from `first` on read before they write them, in order of their ids.
std::set<ActId> read_from(const Program& program, size_t first) {
  std::set<ActId> read, written;
  for (size_t i = first; i < program.ops.size(); ++i) {
    const UseVisitor uses = uses_of(program.ops[i]);
    for (const ActId act : uses.read) {
      if (!written.contains(act)) read.insert(act);
    }
    written.insert(uses.written.begin(), uses.written.end());
  }
  return read;
}

}  // namespace

Result<RankProgram> layer_program(const Program& whole, const CacheLayout& cache, const RankOptions& options,
                                  uint32_t rank, uint32_t n_ranks) {
  RankProgram own;
  own.program.activations = whole.activations;
  own.cache = kept_of(cache, layers_of(options, rank, n_ranks));
  LayerRanks ranks(options, n_ranks);
  std::vector<size_t> first_op(n_ranks + 1, whole.ops.size());  // per rank
  for (size_t i = 0; i < whole.ops.size(); ++i) {
    RZ_TRY(const uint32_t at, ranks.next(whole.ops[i]));
    first_op[at] = std::min(first_op[at], i);
  }
  const auto rows_of = [&](ActId act) { return whole.activations[static_cast<uint32_t>(act)].rows; };
  if (rank > 0) {
    for (const ActId act : read_from(whole, first_op[rank])) {
      own.program.add(ReceiveOp{.act = act, .from = rank - 1, .rows = rows_of(act)});
    }
  }
  const auto begin = whole.ops.begin();
  own.program.ops.insert(own.program.ops.end(), begin + static_cast<std::ptrdiff_t>(first_op[rank]),
                         begin + static_cast<std::ptrdiff_t>(first_op[rank + 1]));
  if (rank + 1 < n_ranks) {
    for (const ActId act : read_from(whole, first_op[rank + 1])) {
      own.program.add(SendOp{.act = act, .to = rank + 1, .rows = rows_of(act)});
    }
  } else {
    own.program.outputs = whole.outputs;
  }
  return own;
}

CacheLayout kept_of(CacheLayout whole, LayerRange own) {
  whole.whole_groups = whole.groups();
  for (size_t layer = 0; layer < whole.layers.size(); ++layer) {
    if (own.has(static_cast<int32_t>(layer))) continue;
    if (auto* paged = std::get_if<Paged>(&whole.layers[layer])) paged->n_kv_heads = 0;
    if (auto* recurrent = std::get_if<Recurrent>(&whole.layers[layer])) recurrent->part_bytes.clear();
  }
  return whole;
}

}  // namespace realizar::ranks
