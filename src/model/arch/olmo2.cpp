// OLMo 2 and 3: norms only after attention and ffn, and norms over all heads of q and of k. In OLMo 3 three of four
// layers have a window and an unscaled rotation; the fourth sees the whole context.
#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOlmo2HfClasses[] = {"Olmo2ForCausalLM", "Olmo3ForCausalLM"};

constexpr auto kOlmo2Tensors =
    joined(kEnds, kGgufWqkv, kQkvo, kQkRowNorms, kSandwichAttnPostNorm, kGated, kSandwichFfnPostNorm);

// The rotation of layers with a window has the same base and no scaling.
Status add_olmo3_rope(const ConfigKeys& keys, ModelConfig& c) {
  if (c.ropes.size() == 1) {
    RZ_TRY(RopeConfig rope, read_window_rope(keys, c.ropes.front().n_rot, c));
    c.ropes.push_back(std::move(rope));
  }
  change_each<AttentionConfig>(c, [](AttentionConfig& own) {
    if (own.window > 0) own.rope_idx = 1;
  });
  return {};
}

}  // namespace

const ArchSpec kOlmo2{.name = "olmo2",
                      .hf_classes = kOlmo2HfClasses,
                      .tensors = kOlmo2Tensors,
                      .norm_place = NormPlace::kPost,
                      .qk_norm = QkNorm::kRow,
                      .window_rule = WindowRule::kByInterval,
                      .full_interval = 4,
                      .adjust = add_olmo3_rope};

}  // namespace realizar
