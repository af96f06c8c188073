#include "model/tensor_roles.h"

#include <algorithm>

#include "model/f8_scales.h"

namespace realizar {
namespace {

// Parts of Hugging Face models for images and sounds; only the text model is read.
bool is_for_media(std::string_view name) {
  if (name.starts_with("model.")) name.remove_prefix(6);
  constexpr std::string_view kParts[] = {"vision_tower.", "multi_modal_projector.", "audio_tower.",
                                         "embed_vision.", "embed_audio.",           "visual.",
                                         "vision_model."};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return name.starts_with(part); });
}

// Nullopt if it is a size of a layer.
std::optional<uint64_t> size_of_model(const ModelConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kNone:
    case Dim::kOne:
      return 1;
    case Dim::kModel:
      return c.d_model;
    case Dim::kVocab:
      return c.n_vocab;
    case Dim::kHalfRot:
      return c.ropes.empty() ? 0 : c.ropes.front().n_rot / 2;
    case Dim::kCtx:
      return c.n_ctx_train;
    case Dim::kTypes:
      return c.n_types;
    case Dim::kLabels:
      return c.n_labels;
    case Dim::kDense:
      return c.n_dense;
    case Dim::kLayerInput:
      return c.layer_table.d_input;
    case Dim::kLayerInputs:
      return uint64_t{c.n_layers} * c.layer_table.d_input;
    case Dim::kLayerVocab:
      return c.layer_table.n_vocab;
    case Dim::kStreams:
    case Dim::kOtherStreams:
    case Dim::kStreamPairs:
    case Dim::kLaurelRank:
      return size_of(c.altup, dim);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string filled_name(std::string_view pattern, uint32_t layer, uint32_t expert) {
  std::string name(pattern);
  for (const uint32_t number : {layer, expert}) {
    const size_t at = name.find("{}");
    if (at != std::string::npos) name.replace(at, 2, std::to_string(number));
  }
  return name;
}

size_t n_placeholders(std::string_view pattern) {
  size_t n = 0;
  for (size_t at = pattern.find("{}"); at != std::string_view::npos; at = pattern.find("{}", at + 2)) ++n;
  return n;
}

Dim stack_dim(Role role) {
  switch (role) {
    case Role::kExpertGate:
    case Role::kExpertUp:
    case Role::kExpertGateUp:
    case Role::kExpertDown:
      return Dim::kExperts;
    case Role::kLatentK:
    case Role::kLatentV:
      return Dim::kHeads;
    case Role::kAltUpProj:
    case Role::kAltUpUnembed:
      return Dim::kOtherStreams;
    default:
      return Dim::kNone;
  }
}

bool is_expert_role(Role role) {
  return stack_dim(role) == Dim::kExperts;
}

bool is_stack(Role role, std::string_view pattern) {
  const size_t n_layer_placeholders = stack_dim(role) == Dim::kOtherStreams ? 0 : 1;
  return stack_dim(role) != Dim::kNone && n_placeholders(pattern) == n_layer_placeholders;
}

bool is_listed(const TensorSpec& spec, std::string_view pattern) {
  return stack_dim(spec.role) != Dim::kNone && !is_stack(spec.role, pattern);
}

bool is_by_row(const TensorSpec& spec, std::string_view pattern) {
  return spec.cols != Dim::kNone && !is_expert_role(spec.role) && n_placeholders(pattern) == 2;
}

uint64_t size_of(const ModelConfig& config, int32_t layer, Dim dim) {
  if (const auto size = size_of_model(config, dim)) return *size;
  const LayerConfig& own_layer = config.layers[static_cast<size_t>(std::max(layer, 0))];
  const auto size = [dim](const auto& kind) { return realizar::size_of(kind, dim); };
  const uint64_t of_mixer = std::visit(size, own_layer.mixer);
  const uint64_t own = of_mixer > 0 ? of_mixer : std::visit(size, own_layer.ffn);
  return own == 0 && dim == Dim::kExpertIn ? config.d_model : own;
}

bool is_unused(const ModelFile& file, const ArchSpec& spec, const TensorInfo& tensor) {
  if (is_unused_f8_scale(tensor.name)) return true;
  if (file.format() != FileFormat::kHuggingFace) return false;
  return is_for_media(tensor.name) || (!spec.hf_left_out.empty() && tensor.name.starts_with(spec.hf_left_out));
}

}  // namespace realizar
