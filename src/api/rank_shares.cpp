#include "api/rank_shares.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "backend/kv_types.h"
#include "backend/program.h"
#include "backend/ranks/layer_program.h"
#include "base/check.h"
#include "base/try.h"
#include "model/model.h"
#include "quant/types.h"

namespace realizar {
namespace {

using namespace ranks;

// Every number between dots is the index of a layer or an expert.
std::string without_numbers(std::string_view name) {
  std::string result;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const bool is_number =
        !part.empty() && std::ranges::all_of(part, [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
    result += result.empty() ? "" : ".";
    result += is_number ? "N" : std::string(part);
    begin = end + 1;
  }
  return result;
}

// Records what a model would load, and computes nothing.
class Recorder final : public Backend {
 public:
  Recorder(RankSplit split, const RankOptions& options, uint32_t n_ranks)
      : split_(split), options_(options), n_ranks_(n_ranks) {
    shares_.weight_bytes.resize(n_ranks);
    if (split != RankSplit::kLayer) return;
    for (uint32_t rank = 0; rank < n_ranks; ++rank) shares_.layers.push_back(layers_of(options, rank, n_ranks));
  }
  RankShares take() { return std::move(shares_); }

  Status configure(const BackendLimits&) override { return {}; }
  Result<WeightId> load_matrix(const MatrixSource& source) override {
    const MatrixShape shape{source.n_mats, source.n_rows, source.n_cols, source.layer, source.shard, source.shard_unit};
    const MatrixSharing sharing = sharing_of(shape, split_, n_ranks_);
    note(source, sharing);
    for (uint32_t rank = 0; rank < n_ranks_; ++rank) shares_.weight_bytes[rank] += bytes_of(source, sharing, rank);
    return WeightId{0};
  }
  Result<WeightId> load_vector(std::span<const float> values, int32_t) override {
    for (uint64_t& n_bytes : shares_.weight_bytes) n_bytes += values.size_bytes();
    return WeightId{0};
  }

  Status write_weights(WeightId, size_t, std::span<const float>) override { return never(); }
  Status create_kv_cache(const CacheLayout&) override { return never(); }
  Result<ProgramId> compile(const Program&) override { return never().error(); }
  void run(ProgramId, const StepBatch&) override { REQUIRE(false); }
  Status wait() override { return never(); }
  std::span<const float> read(ActId) const override { return {}; }
  size_t block_bytes() const override { return 0; }
  void read_block(BlockId, std::span<std::byte>) const override {}
  void write_block(BlockId, std::span<const std::byte>) override {}
  void zero_block(BlockId) override {}
  void copy_block(BlockId, BlockId) override {}
  void read_kv(uint32_t, BlockId, std::span<float>, std::span<float>) const override {}
  BackendInfo info() const override { return {.name = "recorder", .description = {}, .arithmetic = {}}; }
  void set_trace(bool) override {}
  std::span<const OpTiming> last_trace() const override { return {}; }

 private:
  static Status never() { return Error{ErrorCode::kInternal, "nothing is computed here", "backend"}; }

  void note(const MatrixSource& source, const MatrixSharing& sharing) {
    const SharedMatrices own{
        without_numbers(source.name), source.type, 1, source.n_mats, source.n_rows, source.n_cols, sharing};
    const auto is_alike = [&](const SharedMatrices& other) {
      return other.name == own.name && other.type == own.type && other.n_mats == own.n_mats &&
             other.n_rows == own.n_rows && other.n_cols == own.n_cols && other.sharing == own.sharing;
    };
    const auto found = std::ranges::find_if(shares_.matrices, is_alike);
    if (found == shares_.matrices.end()) {
      shares_.matrices.push_back(own);
    } else {
      ++found->n;
    }
  }

  uint64_t bytes_of(const MatrixSource& source, const MatrixSharing& sharing, uint32_t rank) const {
    const uint64_t n_bytes = uint64_t{source.n_mats} * source.n_rows * row_bytes(traits(source.type), source.n_cols);
    if (!holds(source, options_, rank, n_ranks_)) return 0;
    if (sharing.shared == Shared::kNothing) return n_bytes;
    const uint64_t share = n_bytes / sharing.sharing.n * sharing.sharing.of(rank, n_ranks_).n;
    return source.is_embedding ? n_bytes + share : share;
  }

  RankSplit split_;
  RankOptions options_;
  uint32_t n_ranks_;
  RankShares shares_;
};

}  // namespace

float head_layers(const ModelFile& file, const ModelConfig& config) {
  uint64_t n_elems = 0;
  for (const TensorInfo& tensor : file.tensors()) n_elems += tensor.n_elems();
  const uint64_t n_table = uint64_t{config.n_vocab} * config.d_model;
  const uint64_t n_outside = std::min(n_elems, (config.is_head_tied ? 1 : 2) * n_table);
  const double n_layer = static_cast<double>(n_elems - n_outside) / std::max(1u, config.n_layers);
  return n_layer > 0 && gives_text(config) ? static_cast<float>(static_cast<double>(n_table) / n_layer) : 0.0f;
}

RankSplit rank_split(Split split) {
  if (split == Split::kTensor) return RankSplit::kTensor;
  return split == Split::kExpert ? RankSplit::kExpert : RankSplit::kLayer;
}

Result<RankShares> find_rank_shares(const ModelFile& file, const ModelConfig& config, Split split, uint32_t n_ranks) {
  const RankOptions options{rank_split(split), config.n_layers, head_layers(file, config)};
  RZ_CHECK_OK(check_ranks(options, n_ranks));
  Recorder recorder(options.split, options, n_ranks);
  RZ_TRY(const Model model, Model::load(file, config, recorder, {}));
  return recorder.take();
}

uint64_t rank_kv_bytes(CacheLayout cache, const RankOptions& options, uint32_t rank, uint32_t n_ranks) {
  if (options.split == RankSplit::kLayer)
    return cache_bytes(kept_of(std::move(cache), layers_of(options, rank, n_ranks)));
  cache.whole_groups = cache.groups();
  for (StateLayout& layer : cache.layers) {
    auto* paged = std::get_if<Paged>(&layer);
    if (paged != nullptr && paged->n_kv_heads >= n_ranks)
      paged->n_kv_heads = (paged->n_kv_heads + n_ranks - 1) / n_ranks;
  }
  return cache_bytes(cache);
}

}  // namespace realizar
