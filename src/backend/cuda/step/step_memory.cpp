#include "backend/cuda/step/step_memory.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

// Buffers that a separate class manages.
bool is_kept_apart(Buffer buffer) {
  return buffer == Buffer::kCutLists || buffer == Buffer::kStepInput || buffer == Buffer::kChoiceInput;
}

std::vector<Command> commands_of(const DeviceProgram& program) {
  std::vector<Command> commands;
  for (const std::vector<Launch>& stage : program.stages) {
    for (const Launch& launch : stage) {
      commands.push_back(launch.command);
      commands.insert(commands.end(), launch.more.begin(), launch.more.end());
    }
  }
  return commands;
}

}  // namespace

Result<bool> StepMemory::fit(const ActLayout& acts, const DeviceProgram& program, const Weights& weights,
                             const KvLayout& cache) {
  const BufferSizes wanted = buffer_sizes(commands_of(program), {acts, limits_, cache, partial_bytes_, &weights});
  copies_.resize(std::max(copies_.size(), acts.places.size()));
  const size_t n_before = n_bytes();
  RZ_CHECK_OK(grow(wanted));
  RZ_CHECK_OK(fit_step_input(wanted[Buffer::kStepInput], cache));
  RZ_CHECK_OK(fit_choice_input(wanted[Buffer::kChoiceInput]));
  if (wanted[Buffer::kCutLists] > 0) RZ_CHECK_OK(fit_cut_lists(program));
  return n_bytes() != n_before;
}

Status StepMemory::grow(const BufferSizes& wanted) {
  for (size_t i = 0; i < kBuffers; ++i) {
    const auto buffer = static_cast<Buffer>(i);
    if (is_kept_apart(buffer) || wanted[buffer] <= sizes_[buffer]) continue;
    if (buffers_[i] != nullptr) device_.free(std::exchange(buffers_[i], nullptr));
    sizes_[buffer] = 0;
    RZ_TRY(buffers_[i], device_.allocate(wanted[buffer]));
    sizes_[buffer] = wanted[buffer];
    // Launches expect zeros there, and leave zeros.
    if (buffer == Buffer::kArrivals) device_.clear(buffers_[i], wanted[buffer]);
  }
  return {};
}

Status StepMemory::fit_step_input(size_t n_bytes, const KvLayout& cache) {
  if (n_bytes <= sizes_[Buffer::kStepInput]) return {};
  const uint32_t n_blocks = (n_positions() + cache.block_tokens - 1) / cache.block_tokens;
  RZ_CHECK_OK(input_.create(device_, limits_, n_blocks, cache.n_groups));
  sizes_[Buffer::kStepInput] = n_bytes;
  return {};
}

Status StepMemory::fit_choice_input(size_t n_bytes) {
  if (n_bytes <= sizes_[Buffer::kChoiceInput]) return {};
  RZ_CHECK_OK(choice_input_.create(device_, limits_.max_logit_rows));
  RZ_TRY(void* host, device_.allocate_pinned(limits_.max_logit_rows * sizeof(TokenId)));
  host_chosen_ = static_cast<TokenId*>(host);
  sizes_[Buffer::kChoiceInput] = n_bytes;
  return {};
}

Status StepMemory::fit_cut_lists(const DeviceProgram& program) {
  set_passes(program);
  RZ_CHECK_OK(cut_lists_.reserve(device_, program.windows.size(), max_row_cuts(passes_, limits_.max_rows)));
  sizes_[Buffer::kCutLists] = cut_lists_.n_bytes();
  return {};
}

void StepMemory::set_passes(const DeviceProgram& program) {
  heads_ = program.heads;
  passes_ = decode_passes(heads_, n_positions(), partial_bytes_);
}

StepShape StepMemory::shape_of(const StepBatch& batch) {
  StepShape shape{.n_rows = batch.n_rows(),
                  .n_decode_rows = batch.n_decode_rows,
                  .n_logit_rows = static_cast<uint32_t>(batch.logit_rows.size()),
                  .has_choices = !batch.choices.empty()};
  for (const Pos pos : batch.positions.first(batch.n_decode_rows)) {
    shape.n_cuts += n_cuts_of<DecodeCuts>(static_cast<uint32_t>(pos), 0);
  }
  return shape;
}

void StepMemory::begin(const ActLayout& acts, const DeviceProgram& program, const KvLayout& cache,
                       const StepBatch& batch, const StepShape& shape) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  acts_ = &acts;
  exact_ = shape_of(batch);
  shape_ = shape;
  n_chosen_ = batch.choices.size();
  for (ReadCopy& copy : copies_) copy.is_read = false;
  input_.upload(device_, batch);
  const bool has_cuts = !program.windows.empty() && cache.type != KvType::kF32;
  if (has_cuts) set_passes(program);
  if (has_cuts && shape.n_decode_rows > 0) {
    cut_lists_.upload(device_, batch, program.windows, passes_, n_row_cuts(0));
  }
  if (!batch.choices.empty()) choice_input_.upload(device_, batch.choices);
}

uint64_t StepMemory::n_row_cuts(uint32_t window) const {
  const uint64_t n_places = passes_.all_places(shape_.n_cuts);
  const uint64_t n_seen = uint64_t{shape_.n_decode_rows} * max_cuts<DecodeCuts>(n_positions() - 1, window);
  return n_seen <= passes_.n_places ? std::min(n_places, n_seen) : n_places;
}

QuantRows StepMemory::view(const QuantBuffers& rows) const {
  return {as<uint32_t>(rows.codes), as<float>(rows.scales), as<int32_t>(rows.halves)};
}

SplitRows StepMemory::view(const SplitBuffers& rows) const {
  return {as<uint32_t>(rows.high), as<uint32_t>(rows.low), as<float>(rows.scales)};
}

std::span<float> StepMemory::rows_of(ActId id) const {
  const Activation2D a = act(id);
  return {a.values, size_t{a.rows == Rows::kAll ? exact_.n_rows : exact_.n_logit_rows} * a.n_cols};
}

void StepMemory::download_chosen() {
  static_assert(sizeof(TokenId) == sizeof(int32_t));
  if (n_chosen_ > 0) device_.download(host_chosen_, as<int32_t>(Buffer::kChosen), n_chosen_ * sizeof(TokenId));
}

std::span<const float> StepMemory::read(ActId id) {
  ReadCopy& copy = copies_[static_cast<uint32_t>(id)];
  const std::span<const float> rows = rows_of(id);
  if (!copy.is_read && !rows.empty()) {
    if (copy.values.size() < rows.size()) copy.values.resize(rows.size());
    device_.download(copy.values.data(), rows.data(), rows.size_bytes());
    // A failure is reported by the next wait.
    static_cast<void>(device_.wait());
    copy.is_read = true;
  }
  return {copy.values.data(), rows.size()};
}

}  // namespace realizar::cuda
