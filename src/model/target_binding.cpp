// Records the targets of adapters while a model's matrices are bound: their tensors in both file formats, and their
// rows in these.
#include <algorithm>
#include <string>

#include "model/tensor_binder.h"
#include "model/tensor_roles.h"

namespace realizar {
namespace {

// Matrices that are one tensor with the same rows in both formats, except for the order of q and k.
bool has_same_rows_in_formats(Role role) {
  constexpr Role kRoles[] = {Role::kWq,         Role::kWk,       Role::kWv,           Role::kWo,        Role::kWqkv,
                             Role::kWGate,      Role::kWUp,      Role::kWGateUp,      Role::kWDown,     Role::kHead,
                             Role::kSharedGate, Role::kSharedUp, Role::kSharedGateUp, Role::kSharedDown};
  return std::ranges::find(kRoles, role) != std::end(kRoles);
}

bool may_be_target(Role role) {
  constexpr Role kTables[] = {Role::kEmbed, Role::kPositionEmbed, Role::kTypeEmbed, Role::kLayerTable};
  return stack_dim(role) == Dim::kNone && std::ranges::find(kTables, role) == std::end(kTables);
}

}  // namespace

std::string TensorBinder::target_name(const TensorSpec& spec, bool of_gguf) const {
  std::string name(of_gguf ? spec.gguf : spec.hf);
  const size_t at = name.find("{}");
  if (at != std::string::npos) name.replace(at, 2, std::to_string(file_layer()));
  constexpr std::string_view kSuffix = ".weight";
  const bool is_one = name.find("{}") == std::string::npos && name.ends_with(kSuffix);
  return is_one ? name.substr(0, name.size() - kSuffix.size()) : std::string();
}

// Rows of the part in files of the other format; empty if unknown.
std::vector<uint32_t> TensorBinder::rows_in_other_format(Role role, const Part& part) const {
  std::vector<uint32_t> rows;
  if (!has_same_rows_in_formats(role) || (role == Role::kWqkv && spec_.hf_qkv_rows != QkvRows::kStacked)) return rows;
  const bool is_interleaved = is_gguf() ? spec_.has_hf_pairs() : spec_.has_gguf_pairs();
  const uint32_t n_interleaved = is_interleaved && !config_.ropes.empty() ? config_.ropes.front().n_rot : 0;
  std::vector<uint32_t> order;
  if (layer_ >= 0 && (role == Role::kWq || role == Role::kWk || role == Role::kWqkv)) {
    const auto* own = std::get_if<AttentionConfig>(&config_.layers[static_cast<size_t>(layer_)].mixer);
    if (own == nullptr) return rows;
    // In a fused matrix only q and k are stored in pairs.
    if (role == Role::kWqkv && n_interleaved > 0 && own->n_interleaved != n_interleaved) return rows;
    order = role == Role::kWqkv && n_interleaved > 0 ? part.row_order : row_order(*own, part.n_rows, n_interleaved);
  }
  for (uint32_t row = 0; row < part.n_rows; ++row) rows.push_back(part.row_at(order.empty() ? row : order[row]));
  return rows;
}

void TensorBinder::note_target(Role role, const Part& part, WeightId weight) {
  // Tied embeddings are a target as the head only: adapters do not change the lookup of tokens.
  const TensorSpec* head = spec_of(Role::kHead);
  const bool is_head = role == Role::kEmbed && config_.is_head_tied && head != nullptr;
  if (options_.adapters.n_slots == 0 || (!may_be_target(role) && !is_head)) return;
  const TensorSpec& spec = is_head ? *head : *spec_of(role);
  const auto n_rows = static_cast<uint32_t>(size_of(spec.rows));
  AdapterTarget target{
      .weight = weight, .n_rows = part.n_rows, .n_cols = static_cast<uint32_t>(size_of(spec.cols)), .layer = layer_};
  TargetTensor own{target_name(spec, is_gguf()), n_rows, {}};
  for (uint32_t row = 0; row < part.n_rows; ++row) {
    own.rows.push_back(part.row_at(part.row_order.empty() ? row : part.row_order[row]));
  }
  TargetTensor other{target_name(spec, !is_gguf()), n_rows, rows_in_other_format(spec.role, part)};
  if (other.rows.empty()) other.name.clear();
  target.gguf = is_gguf() ? own : other;
  target.hf = is_gguf() ? other : own;
  targets_.push_back(std::move(target));
}

}  // namespace realizar
