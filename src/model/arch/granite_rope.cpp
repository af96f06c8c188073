#include "model/arch/granite_rope.h"

#include <algorithm>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

// llama.cpp, LLM_ARCH_GRANITE: this key says whether there are rotations, unlike its name.
constexpr std::string_view kGgufKey = "rope.scaling.finetuned", kHfKey = "position_embedding_type";

Result<bool> read_rotates(const ConfigKeys& keys) {
  const Metadata& metadata = keys.file().metadata();
  if (keys.is_gguf()) {
    RZ_TRY(const auto rotates, metadata.get_bool(keys.key(kGgufKey, "")));
    return rotates.value_or(true);
  }
  if (!keys.spec().recurrent) return true;
  RZ_TRY(const auto kind, metadata.get_string(kHfKey));
  return kind.value_or("") == "rope";
}

bool rotates(const ModelConfig& c) {
  return std::ranges::any_of(c.layers, [](const LayerConfig& layer) {
    const auto* own = std::get_if<AttentionConfig>(&layer.mixer);
    return own != nullptr && own->rope_idx != kNoRope;
  });
}

}  // namespace

Status read_granite_rope(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const bool does, read_rotates(keys));
  if (does) return {};
  change_each<AttentionConfig>(c, [](AttentionConfig& own) { own.rope_idx = kNoRope; });
  return {};
}

void tell_granite_rope(const ModelConfig& c, KeyTeller& keys) {
  const bool attends = std::ranges::any_of(
      c.layers, [](const LayerConfig& layer) { return std::holds_alternative<AttentionConfig>(layer.mixer); });
  if (attends) keys.set(kGgufKey, "", rotates(c));
}

void tell_hybrid_rope(const ModelConfig& c, KeyTeller& keys) {
  tell_granite_rope(c, keys);
  keys.set("", kHfKey, std::string(rotates(c) ? "rope" : "nope"));
}

}  // namespace realizar
