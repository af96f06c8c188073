#include "backend/cuda/step_runner.h"

#include <algorithm>
#include <utility>

#include "backend/kv_types.h"
#include "base/check.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kMaxUsedExperts = 32;  // a lane each

// A prompt's rows are multiplied in tiles, by tensor cores.
bool has_tiles(const Matrix& m) {
  return m.type != TypeId::kF32 && layout_of(m.type) != Layout::kStored;
}

// They are split in two for these.
bool wants_split(TypeId type) {
  return type == TypeId::kF16 || type == TypeId::kBF16 || type == TypeId::kF8_E4M3;
}

// Products are of integers.
bool has_groups(const Matrix& m) {
  return layout_of(m.type) == Layout::kGroups;
}

size_t whole_groups(size_t n_cols) {
  return (n_cols + kGroupCols - 1) / kGroupCols * kGroupCols;
}

uint32_t n_vocab_parts(uint32_t n_vocab) {
  return (n_vocab + kPartTokens - 1) / kPartTokens;
}

}  // namespace

Status Scratch::reserve(Device& device, size_t n_bytes, uint32_t& n_moves) {
  if (n_bytes <= n_bytes_) return {};
  ++n_moves;
  if (memory_ != nullptr) device.free(std::exchange(memory_, nullptr));
  n_bytes_ = 0;
  RZ_TRY(memory_, device.allocate(n_bytes));
  n_bytes_ = n_bytes;
  return {};
}

Status QuantScratch::reserve(Device& device, size_t n_rows, size_t n_cols, uint32_t& n_moves) {
  RZ_CHECK_OK(codes.reserve(device, n_rows * n_cols + kMoreCodeBytes, n_moves));
  RZ_CHECK_OK(scales.reserve(device, n_rows * n_cols / kGroupCols * sizeof(float), n_moves));
  return halves.reserve(device, n_rows * n_cols / kGroupCols * sizeof(int32_t), n_moves);
}

Status SplitScratch::reserve(Device& device, size_t n_rows, size_t n_cols, uint32_t& n_moves) {
  const size_t row_bytes = whole_groups(n_cols) * sizeof(uint16_t);
  RZ_CHECK_OK(high.reserve(device, n_rows * row_bytes, n_moves));
  RZ_CHECK_OK(low.reserve(device, n_rows * row_bytes, n_moves));
  return scales.reserve(device, n_rows * sizeof(float), n_moves);
}

namespace {

// Errors: Unsupported, where a number of a model is more than `most`.
Status check_bound(const char* name, const char* what, uint64_t value, uint64_t most) {
  if (value <= most) return {};
  return unsupported("the cuda backend runs models of at most " + std::to_string(most) + " " + what +
                         ", and this one has " + std::to_string(value),
                     name);
}

Status check_op(const RopeStoreOp& op) {
  RZ_CHECK_OK(check_bound("head_dim", "dimensions a head", op.head_dim, kMaxHeadDim));
  return check_bound("n_heads", "heads of queries and keys", uint64_t{op.n_heads} + op.n_kv_heads, kMaxGridY);
}
Status check_op(const AttentionOp& op) {
  return check_bound("head_dim", "dimensions a head", op.head_dim, kMaxHeadDim);
}
Status check_op(const RouteOp& op) {
  RZ_CHECK_OK(check_bound("n_experts", "experts", op.n_experts, kMaxExperts));
  return check_bound("n_experts_used", "experts a token", op.n_used, kMaxUsedExperts);
}
template <class Op>
Status check_op(const Op&) {
  return {};
}

}  // namespace

Status StepRunner::check(const Program& program) {
  for (const Op& op : program.ops) {
    RZ_CHECK_OK(std::visit([](const auto& one) { return check_op(one); }, op));
  }
  return {};
}

Status StepRunner::create_kv_cache(const KvLayout& layout, uint32_t first_layer) {
  RZ_CHECK_OK(kv_cache_bytes(layout));
  layout_ = layout;
  first_layer_ = first_layer;
  page_bytes_ = kv_view(layout, nullptr, nullptr).page_bytes;
  if (layout.n_layers == 0) return {};
  for (uint8_t*& plane : planes_) {
    RZ_TRY(void* memory, device_.allocate(kv_plane_bytes()));
    plane = static_cast<uint8_t*>(memory);
  }
  return {};
}

size_t StepRunner::scratch_bytes() const {
  size_t n = activations_.n_bytes() + input_.n_bytes() + choice_input_.n_bytes() + cut_lists_.n_bytes();
  for (const QuantScratch* quants : {&quants_, &hidden_quants_}) n += quants->n_bytes();
  for (const SplitScratch* splits : {&splits_, &hidden_splits_}) n += splits->n_bytes();
  for (const Scratch* scratch : {&ups_, &hidden_, &pairs_, &pair_starts_, &tile_experts_, &pair_results_, &candidates_,
                                 &vocab_parts_, &chosen_, &partials_, &arrivals_, &parts_}) {
    n += scratch->n_bytes();
  }
  return n;
}

uint8_t* StepRunner::block_at(bool is_value, uint32_t layer, BlockId id) const {
  return planes_[is_value ? 1 : 0] +
         (size_t{layer - first_layer_} * layout_.n_blocks + to_index(id)) * layer_block_bytes();
}

// For steps within the limits, whatever the program.
Status StepRunner::reserve_input() {
  const uint32_t n_blocks = (n_positions() + layout_.block_tokens - 1) / layout_.block_tokens;
  if (n_blocks <= input_.max_blocks()) return {};
  ++n_moves_;
  return input_.create(device_, limits_, n_blocks);
}

StepShape StepRunner::shape_of(const StepBatch& batch) {
  StepShape shape{.n_rows = batch.n_rows(),
                  .n_decode_rows = batch.n_decode_rows,
                  .n_logit_rows = static_cast<uint32_t>(batch.logit_rows.size()),
                  .has_choices = !batch.choices.empty()};
  for (const Pos pos : batch.positions.first(batch.n_decode_rows)) {
    shape.n_cuts += n_cuts_of<DecodeCuts>(static_cast<uint32_t>(pos), 0);
  }
  return shape;
}

Status StepRunner::fit(const ActLayout& acts, std::span<const Command> commands) {
  acts_ = &acts;
  RZ_CHECK_OK(activations_.reserve(device_, acts.n_bytes, n_moves_));
  copies_.resize(std::max(copies_.size(), acts.places.size()));
  RZ_CHECK_OK(reserve_input());
  for (const Command& command : commands) {
    RZ_CHECK_OK(std::visit([this](const auto& op) { return reserve(op); }, command));
  }
  return {};
}

void StepRunner::begin(const ActLayout& acts, const StepBatch& batch, const StepShape& shape) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  acts_ = &acts;
  exact_ = shape_of(batch);
  shape_ = shape;
  n_chosen_ = batch.choices.size();
  for (ReadCopy& copy : copies_) copy.is_read = false;
  input_.upload(device_, batch);
  if (!windows_.empty() && shape.n_decode_rows > 0) cut_lists_.upload(device_, batch, windows_, passes_, n_row_cuts(0));
  if (!batch.choices.empty()) choice_input_.upload(device_, batch.choices);
}

Status StepRunner::reserve_for(WeightId id) {
  const Matrix& matrix = weights_.matrix(id);
  if (wants_split(matrix.type)) return splits_.reserve(device_, limits_.max_rows, matrix.n_cols, n_moves_);
  if (!has_groups(matrix)) return {};
  return quants_.reserve(device_, std::max(limits_.max_rows, limits_.max_logit_rows), matrix.n_cols, n_moves_);
}

Status StepRunner::reserve(const GatedLinearOp& op) {
  RZ_CHECK_OK(reserve_for(op.gate));
  RZ_CHECK_OK(reserve_for(op.up));
  if (!has_groups(weights_.matrix(op.gate))) return {};
  return ups_.reserve(device_, size_t{limits_.max_rows} * weights_.matrix(op.up).n_rows * sizeof(float), n_moves_);
}

Status StepRunner::reserve(const ExpertsOp& op) {
  for (const WeightId id : {op.gate, op.up}) RZ_CHECK_OK(reserve_for(id));
  const size_t n_pairs = size_t{limits_.max_rows} * op.n_used;
  const Matrix &gate = weights_.matrix(op.gate), &down = weights_.matrix(op.down);
  const uint32_t d_ff = gate.n_rows, n_experts = gate.n_mats;
  RZ_CHECK_OK(hidden_.reserve(device_, n_pairs * d_ff * sizeof(float), n_moves_));
  RZ_CHECK_OK(hidden_quants_.reserve(device_, n_pairs, whole_groups(d_ff), n_moves_));
  RZ_CHECK_OK(pairs_.reserve(device_, n_pairs * sizeof(uint32_t), n_moves_));
  RZ_CHECK_OK(pair_starts_.reserve(device_, (n_experts + 1) * sizeof(uint32_t), n_moves_));
  RZ_CHECK_OK(tile_experts_.reserve(device_, (n_pairs / kTileRows + n_experts) * sizeof(uint32_t), n_moves_));
  if (wants_split(down.type)) RZ_CHECK_OK(hidden_splits_.reserve(device_, n_pairs, d_ff, n_moves_));
  if (!has_tiles(down)) return {};
  return pair_results_.reserve(device_, n_pairs * down.n_rows * sizeof(float), n_moves_);
}

// Of a launch for the shape's decode rows, with a window or without.
uint64_t StepRunner::n_row_cuts(uint32_t window) const {
  const uint64_t n_places = passes_.all_places(shape_.n_cuts);
  const uint64_t n_seen = uint64_t{shape_.n_decode_rows} * max_cuts<DecodeCuts>(n_positions() - 1, window);
  return n_seen <= passes_.n_places ? std::min(n_places, n_seen) : n_places;
}

Status StepRunner::reserve_partials() {
  const AttentionHeads heads{n_heads_, layout_.head_dim};
  const DecodePasses passes = decode_passes(heads, n_positions(), partial_bytes_);
  if (passes != passes_) ++n_moves_;  // recorded launches have the places of these passes
  passes_ = passes;
  RZ_CHECK_OK(partials_.reserve(device_, partials_bytes(heads, limits_, n_positions(), partial_bytes_), n_moves_));
  const size_t n_arrivals = size_t{limits_.max_rows} * n_heads_;
  if (passes.max_cuts == 1 || n_arrivals <= no_arrivals_.size()) return {};
  RZ_CHECK_OK(arrivals_.reserve(device_, n_arrivals * sizeof(uint32_t), n_moves_));
  no_arrivals_.assign(n_arrivals, 0);
  device_.upload(arrivals_.as<uint32_t>(), no_arrivals_.data(), n_arrivals * sizeof(uint32_t));
  return {};
}

// Tensor cores do not multiply F32.
bool StepRunner::has_plain_cache() const {
  return layout_.type == KvType::kF32;
}

Status StepRunner::reserve(const AttentionOp& op) {
  if (has_plain_cache()) return {};
  if (std::ranges::find(windows_, op.window) == windows_.end()) windows_.push_back(op.window);
  n_heads_ = std::max(n_heads_, op.n_heads);
  RZ_CHECK_OK(reserve_partials());
  return cut_lists_.reserve(device_, windows_.size(), max_row_cuts(passes_, limits_.max_rows), n_moves_);
}

Status StepRunner::reserve(const ChooseOp& op) {
  const size_t n_rows = limits_.max_logit_rows, n_parts = n_rows * n_vocab_parts(act(op.logits).n_cols);
  RZ_CHECK_OK(candidates_.reserve(device_, n_parts * kMaxCandidates * sizeof(uint64_t), n_moves_));
  RZ_CHECK_OK(vocab_parts_.reserve(device_, n_parts * sizeof(ChoicePart), n_moves_));
  RZ_CHECK_OK(chosen_.reserve(device_, n_rows * sizeof(int32_t), n_moves_));
  if (host_chosen_ != nullptr) return {};
  RZ_CHECK_OK(choice_input_.create(device_, limits_.max_logit_rows));
  RZ_TRY(void* host, device_.allocate_pinned(n_rows * sizeof(TokenId)));
  host_chosen_ = static_cast<TokenId*>(host);
  return {};
}

Status StepRunner::reserve(const SumPartsOp& op) {
  REQUIRE(act(op.part).n_cols == act(op.out).n_cols);
  return parts_.reserve(device_, size_t{op.n_parts} * limits_.max_rows * act(op.part).n_cols * sizeof(float), n_moves_);
}

void StepRunner::begin_launches(const StepShape& shape) {
  shape_ = shape;
  n_launched_ = 0;
  quantized_of_ = split_of_ = kNoAct;
}

void StepRunner::run(std::span<const Command> commands) {
  if (n_launched_ > 0) {
    --n_launched_;
    return;
  }
  behind_ = commands.subspan(1);
  std::visit([this](const auto& op) { run(op); }, commands.front());
}

void StepRunner::run(const EmbedOp& op) {
  const StepView& step = input_.view();
  float* out = act(op.out).values;
  kernels_.embed({step.n_rows, step.tokens, weights_.matrix(op.table), op.scale, false, out}, shape_.n_rows,
                 device_.stream());
  if (op.position_table != kNoWeight) {
    kernels_.embed({step.n_rows, step.positions, weights_.matrix(op.position_table), 1, true, out}, shape_.n_rows,
                   device_.stream());
  }
  wrote(op.out);
}

// Whether the next operation is a product of `in` with a type of groups.
bool StepRunner::wants_quantized(ActId in) const {
  if (behind_.empty()) return false;
  if (const auto* linear = std::get_if<LinearOp>(&behind_.front())) {
    return linear->in == in && has_groups(weights_.matrix(linear->weight));
  }
  const auto* gated = std::get_if<GatedLinearOp>(&behind_.front());
  return gated != nullptr && gated->in == in && has_groups(weights_.matrix(gated->gate));
}

void StepRunner::run(const NormOp& op) {
  if (max_rows(op.rows) == 0) return;
  wrote(op.out);
  const bool is_quantized = wants_quantized(op.out);
  kernels_.norm(
      {n_rows_at(op.rows), act(op.out).values, act(op.in).values, weights_.vector(op.weight), weights_.vector(op.bias),
       act(op.in).n_cols, op.kind, op.eps, op.accumulate, is_quantized ? quants_.view() : QuantRows{}},
      max_rows(op.rows), device_.stream());
  if (is_quantized) quantized_of_ = op.out;
}

QuantRows StepRunner::quantized(const Matrix& weight, ActId in, Rows rows) {
  if (!has_groups(weight) || quantized_of_ == in) return quants_.view();
  kernels_.quantize({n_rows_at(rows), 1, act(in).values, weight.n_cols, quants_.view()}, max_rows(rows),
                    device_.stream());
  quantized_of_ = in;
  return quants_.view();
}

SplitRows StepRunner::split(const Matrix& weight, ActId in) {
  if (split_of_ == in && split_type_ == weight.type) return splits_.view();
  const StepView& step = input_.view();
  kernels_.split({{step.n_decode_rows, step.n_rows}, 1, weight.type, act(in).values, weight.n_cols, splits_.view()},
                 n_prompt_rows(), device_.stream());
  split_of_ = in;
  split_type_ = weight.type;
  return splits_.view();
}

// A prompt's rows keep a GPU busy with each matrix by itself.
void StepRunner::multiply_tiles(LinearArgs& args, ActId in) {
  if (wants_split(args.weight.type)) args.splits = split(args.weight, in);
  const auto multiply = tile_kernel(args.weight);
  multiply(args, n_prompt_rows(), device_.stream());
  for (const LinearPart& part : std::span(args.more).first(args.n_more)) {
    args.weight = part.weight;
    args.out = part.out;
    args.bias = part.bias;
    multiply(args, n_prompt_rows(), device_.stream());
  }
}

// A row's arithmetic follows from its phase: decode rows and those of the logits are dots, prompt rows tiles, in the
// types that have them.
StepRunner::Dots StepRunner::dots_of(const Matrix& weight, Rows rows) const {
  const StepView& step = input_.view();
  const bool in_tiles = has_tiles(weight) && rows == Rows::kAll;
  return {{step.zero, in_tiles ? step.n_decode_rows : n_rows_at(rows)},
          in_tiles ? shape_.n_decode_rows : max_rows(rows)};
}

void StepRunner::multiply(const LinearArgs& args, ActId in, Rows rows, ActId out) {
  if (max_rows(rows) == 0) return;
  LinearArgs full = args;
  full.in = act(in).values;
  full.quants = quantized(args.weight, in, rows);
  full.out = act(out).values;
  const StepView& step = input_.view();
  const Dots dots = dots_of(args.weight, rows);
  full.rows = dots.rows;
  const bool is_one = dots.max_rows == 1 || !has_groups(args.weight);
  if (dots.max_rows > 0) (is_one ? kernels_.linear : kernels_.linear_few)(full, dots.max_rows, device_.stream());
  full.rows = {step.n_decode_rows, step.n_rows};
  if (dots.max_rows < max_rows(rows)) multiply_tiles(full, in);
  wrote(out);
}

// Whether one launch can multiply with both.
bool StepRunner::are_alike(WeightId a, WeightId b) const {
  const Matrix &first = weights_.matrix(a), &second = weights_.matrix(b);
  return first.type == second.type && first.n_cols == second.n_cols &&
         weights_.streamed_layer(a) == weights_.streamed_layer(b);
}

// The products behind this one that differ from it in their matrix and their output alone: those of q, k and v.
void StepRunner::add_parts(const LinearOp& op, LinearArgs& args) {
  uint64_t n_rows = args.weight.n_rows;
  while (args.n_more < kMaxMoreParts && n_launched_ < behind_.size()) {
    const auto* other = std::get_if<LinearOp>(&behind_[n_launched_]);
    if (other == nullptr || !are_alike(op.weight, other->weight)) return;
    n_rows += weights_.matrix(other->weight).n_rows;
    if (n_rows > kMaxMatrixRows) return;
    LinearOp same = *other;
    same.out = op.out;
    same.weight = op.weight;
    same.bias = op.bias;
    same.place = op.place;
    if (same != op || other->out == op.in) return;
    args.more[args.n_more++] = {weights_.matrix(other->weight), act(other->out).values,
                                weights_.bias(other->bias, other->weight)};
    wrote(other->out);
    ++n_launched_;
  }
}

void StepRunner::run(const LinearOp& op) {
  LinearArgs args{};
  args.weight = weights_.matrix(op.weight);
  args.bias = weights_.bias(op.bias, op.weight);
  args.activation = op.activation;
  args.scale = op.scale;
  args.softcap = op.softcap;
  args.store = op.accumulate ? Store::kAdd : Store::kSet;
  if (!op.accumulate) add_parts(op, args);
  multiply(args, op.in, op.rows, op.out);
}

// Gate and up in one launch need somebody to put their results together: who quantizes them for a product that comes
// next and is the only one to read them.
bool StepRunner::is_paired(const GatedLinearOp& op) const {
  const Matrix &gate = weights_.matrix(op.gate), &up = weights_.matrix(op.up);
  if (uint64_t{gate.n_rows} + up.n_rows > kMaxMatrixRows) return false;
  return has_groups(gate) && gate.n_rows == up.n_rows && are_alike(op.gate, op.up) && wants_quantized(op.out);
}

void StepRunner::run_paired(const GatedLinearOp& op) {
  LinearArgs args{};
  args.scale = 1;
  args.weight = weights_.matrix(op.gate);
  args.more[args.n_more++] = {weights_.matrix(op.up), ups_.as<float>(), nullptr};
  multiply(args, op.in, Rows::kAll, op.out);
  kernels_.quantize({input_.view().n_rows, 1, ups_.as<float>(), args.weight.n_rows, quants_.view(), act(op.out).values,
                     op.activation},
                    shape_.n_rows, device_.stream());
  quantized_of_ = op.out;
}

void StepRunner::run(const GatedLinearOp& op) {
  if (is_paired(op)) return run_paired(op);
  LinearArgs args{};
  args.scale = 1;
  args.weight = weights_.matrix(op.gate);
  multiply(args, op.in, Rows::kAll, op.out);
  args.weight = weights_.matrix(op.up);
  args.activation = op.activation;
  args.store = Store::kGate;
  multiply(args, op.in, Rows::kAll, op.out);
}

KvView StepRunner::cache_of(uint32_t layer) const {
  return kv_view(layout_, block_at(false, layer, BlockId{0}), block_at(true, layer, BlockId{0}));
}

void StepRunner::run(const RopeStoreOp& op) {
  RopeStoreArgs args{};
  args.step = input_.view();
  args.cache = cache_of(op.layer);
  args.q = act(op.q).values;
  args.k = act(op.k).values;
  args.v = act(op.v).values;
  args.n_heads = op.n_heads;
  args.inv_freq = weights_.vector(op.inv_freq);
  args.n_rot = op.n_rot;
  args.rope_scale = op.rope_scale;
  args.q_norm = weights_.vector(op.q_norm);
  args.k_norm = weights_.vector(op.k_norm);
  args.norm_eps = op.norm_eps;
  kernels_.rope_store(args, shape_.n_rows, device_.stream());
  wrote(op.q);
  wrote(op.k);
}

void StepRunner::attend_decode_rows(AttentionArgs args) {
  const auto list = static_cast<size_t>(std::ranges::find(windows_, args.window) - windows_.begin());
  args.row_cuts = cut_lists_.list(list);
  args.n_row_cuts = n_row_cuts(args.window);
  args.pass_row_cuts = passes_.n_places;
  args.arrivals = arrivals_.as<uint32_t>();
  kernels_.attention_decode(args, device_.stream());
}

// A pass has tiles that follow each other, as many as find place with all their cuts.
void StepRunner::attend_prompt_rows(AttentionArgs args) {
  const uint64_t max_tile_cuts = pass_tile_cuts({n_heads_, layout_.head_dim}, n_positions(), partial_bytes_);
  const std::span<const StepInput::Tile> tiles = input_.tiles();
  const auto n_cuts_of_tile = [&](const StepInput::Tile& tile) {
    const uint32_t first = PromptCuts::of(first_visible(tile.first_pos, args.window));
    return PromptCuts::of(tile.first_pos + tile.n_rows - 1) - first + 1;
  };
  for (uint32_t i = 0; i < tiles.size(); i += args.n_tiles) {
    args.first_tile = i;
    args.n_tiles = args.n_cuts = 0;
    args.end_row = tiles[i].first_row + tiles[i].n_rows;
    for (uint32_t next = i; next < tiles.size(); ++next) {
      const uint32_t n_cuts = std::max(args.n_cuts, n_cuts_of_tile(tiles[next]));
      if (args.n_tiles > 0 && n_cuts > 1 && uint64_t{args.n_tiles + 1} * n_cuts > max_tile_cuts) break;
      args.n_cuts = n_cuts;
      args.first_row = tiles[next].first_row;
      ++args.n_tiles;
    }
    kernels_.attention_prefill(args, device_.stream());
  }
}

void StepRunner::run(const AttentionOp& op) {
  AttentionArgs args{};
  args.step = input_.view();
  args.cache = cache_of(op.layer);
  args.out = act(op.out).values;
  args.q = act(op.q).values;
  args.n_heads = op.n_heads;
  args.scale = op.scale;
  args.softcap = op.softcap;
  args.window = op.window;
  args.partials = partials_.as<float>();
  if (has_plain_cache()) {
    kernels_.attention_plain(args, {args.step.zero, args.step.n_rows}, shape_.n_rows, device_.stream());
  } else {
    if (shape_.n_decode_rows > 0) attend_decode_rows(args);
    if (n_prompt_rows() > 0) attend_prompt_rows(args);
  }
  wrote(op.out);
}

void StepRunner::run(const RouteOp& op) {
  kernels_.route({n_rows_at(Rows::kAll), act(op.logits).values, act(op.weights).values, act(op.ids).values,
                  op.n_experts, op.n_used, op.renormalize, op.scale},
                 shape_.n_rows, device_.stream());
}

// The products of the gates or the ups: pairs of decode rows are dots, those of prompt rows tiles.
void StepRunner::multiply_experts(const ExpertsOp& op, WeightId weight, Store store) {
  const Matrix& matrix = weights_.matrix(weight);
  const QuantRows quants = quantized(matrix, op.in, Rows::kAll);
  const Dots dots = dots_of(matrix, Rows::kAll);
  if (dots.max_rows > 0) {
    kernels_.experts_hidden({dots.rows, matrix, act(op.in).values, quants, act(op.ids).values, op.n_used, op.activation,
                             store, hidden_.as<float>()},
                            dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  LinearArgs args{};
  args.weight = matrix;
  args.quants = quants;
  if (wants_split(matrix.type)) args.splits = split(matrix, op.in);
  args.out = hidden_.as<float>();
  args.activation = store == Store::kGate ? op.activation : Activation::kNone;
  args.scale = 1;
  args.store = store;
  args.groups = pair_groups();
  args.pairs_each = op.n_used;
  tile_kernel(matrix)(args, n_prompt_rows() * op.n_used, device_.stream());
}

// The rows of `hidden_` as the downs want them.
void StepRunner::prepare_hidden(const ExpertsOp& op, const Matrix& down) {
  const StepView& step = input_.view();
  if (has_groups(down)) {
    kernels_.quantize({step.n_rows, op.n_used, hidden_.as<float>(), down.n_cols, hidden_quants_.view()}, shape_.n_rows,
                      device_.stream());
  }
  if (wants_split(down.type) && n_prompt_rows() > 0) {
    kernels_.split({{step.n_decode_rows, step.n_rows},
                    op.n_used,
                    down.type,
                    hidden_.as<float>(),
                    down.n_cols,
                    hidden_splits_.view()},
                   n_prompt_rows(), device_.stream());
  }
}

// out += the downs' products, weighed.
void StepRunner::add_downs(const ExpertsOp& op) {
  const Matrix& down = weights_.matrix(op.down);
  const StepView& step = input_.view();
  prepare_hidden(op, down);
  const Dots dots = dots_of(down, Rows::kAll);
  if (dots.max_rows > 0) {
    kernels_.experts_down({dots.rows, down, hidden_.as<float>(), hidden_quants_.view(), act(op.weights).values,
                           act(op.ids).values, op.n_used, act(op.out).values},
                          dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  LinearArgs args{};
  args.weight = down;
  args.quants = hidden_quants_.view();
  args.splits = hidden_splits_.view();
  args.out = pair_results_.as<float>();
  args.scale = 1;
  args.groups = pair_groups();
  args.pairs_each = 1;
  tile_kernel(down)(args, n_prompt_rows() * op.n_used, device_.stream());
  kernels_.experts_sum({{step.n_decode_rows, step.n_rows},
                        pair_results_.as<float>(),
                        act(op.weights).values,
                        op.n_used,
                        down.n_rows,
                        act(op.out).values},
                       n_prompt_rows(), device_.stream());
}

void StepRunner::run(const ExpertsOp& op) {
  if (n_prompt_rows() > 0) {
    const StepView& step = input_.view();
    kernels_.group_pairs({{step.n_decode_rows, step.n_rows},
                          act(op.ids).values,
                          op.n_used,
                          weights_.matrix(op.gate).n_mats,
                          pair_groups()},
                         device_.stream());
  }
  multiply_experts(op, op.gate, Store::kSet);
  multiply_experts(op, op.up, Store::kGate);
  add_downs(op);
  wrote(op.out);
}

void StepRunner::run(const SelectRowsOp& op) {
  if (shape_.n_logit_rows == 0) return;
  kernels_.select_rows({input_.view(), act(op.in).values, act(op.out).values, act(op.in).n_cols}, shape_.n_logit_rows,
                       device_.stream());
  wrote(op.out);
}

void StepRunner::run(const ChooseOp& op) {
  kernels_.choose(
      {input_.view().n_logit_rows, act(op.logits).values, act(op.logits).n_cols, choice_input_.rows(),
       choice_input_.seen(), candidates_.as<uint64_t>(), vocab_parts_.as<ChoicePart>(), chosen_.as<int32_t>()},
      shape_.n_logit_rows, device_.stream());
}

void StepRunner::run(const ClearOp& op) {
  device_.clear(act(op.out).values, size_t{shape_.n_rows} * act(op.out).n_cols * sizeof(float));
  wrote(op.out);
}

void StepRunner::run(const SumPartsOp& op) {
  kernels_.sum_parts({n_rows_at(Rows::kAll), parts(), op.n_parts, act(op.out).n_cols, weights_.vector(op.bias),
                      op.accumulate, act(op.out).values},
                     shape_.n_rows, device_.stream());
  wrote(op.out);
}

void StepRunner::download_chosen() {
  static_assert(sizeof(TokenId) == sizeof(int32_t));
  if (n_chosen_ > 0) device_.download(host_chosen_, chosen_.as<int32_t>(), n_chosen_ * sizeof(TokenId));
}

std::span<const float> StepRunner::read(ActId id) {
  ReadCopy& copy = copies_[static_cast<uint32_t>(id)];
  const std::span<const float> rows = rows_of(id);
  if (!copy.is_read && !rows.empty()) {
    if (copy.values.size() < rows.size()) copy.values.resize(rows.size());
    device_.download(copy.values.data(), rows.data(), rows.size_bytes());
    // A failure shows at the next wait: it is not this call's to report.
    static_cast<void>(device_.wait());
    copy.is_read = true;
  }
  return {copy.values.data(), rows.size()};
}

}  // namespace realizar::cuda
