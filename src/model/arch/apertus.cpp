// Apertus: Llama with norms of q and k and a plain ffn with xIELU, whose parameters differ from layer to layer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kApertusHfClasses[] = {"ApertusForCausalLM"};

constexpr TensorSpec number(Role role, std::string_view hf) {
  return {role, kRequired, Shard::kWhole, Dim::kNone, Dim::kNone, "", hf};
}

constexpr auto kApertusTensors =
    joined(kEnds, with_hf(kAttnNorm, "model.layers.{}.attention_layernorm.weight"), kGgufWqkv, kQkvo, kQkNorms,
           with_hf(kFfnNorm, "model.layers.{}.feedforward_layernorm.weight"), kPlain,
           number(Role::kXieluAlphaP, "model.layers.{}.mlp.act_fn.alpha_p"),
           number(Role::kXieluAlphaN, "model.layers.{}.mlp.act_fn.alpha_n"),
           number(Role::kXieluBeta, "model.layers.{}.mlp.act_fn.beta"),
           number(Role::kXieluEps, "model.layers.{}.mlp.act_fn.eps"), kRopeFactors);

double softplus(double x) {
  return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0);
}

// GGUF has a key with one number for all layers or a list, and folders have tensors of one number.
Result<float> read_xielu_number(const ConfigKeys& keys, std::string_view key, Role role, uint32_t layer,
                                uint32_t n_layers) {
  const Metadata& metadata = keys.file().metadata();
  std::optional<double> number;
  if (!keys.is_gguf()) {
    RZ_TRY(const auto stored, read_number(keys, role, layer));
    if (stored) number = *stored;
  } else if (const MetaValue* value = metadata.find(key);
             value != nullptr && std::holds_alternative<MetaArray>(*value)) {
    RZ_TRY(const auto list, metadata.get_doubles(key));
    const std::vector<double> numbers = list.value_or(std::vector<double>());
    if (numbers.size() != n_layers) {
      return out_of_range(keys.file(), key, fmt::format("{} entries", n_layers), std::to_string(numbers.size()));
    }
    number = numbers[layer];
  } else {
    RZ_TRY(number, metadata.get_double(key));
  }
  if (number && std::isfinite(static_cast<float>(*number))) return static_cast<float>(*number);
  return out_of_range(keys.file(), key, "a finite number", number ? fmt::format("{}", *number) : "nothing");
}

// transformers, XIELUActivation: files have the slopes before their softplus.
Status read_xielu(const ConfigKeys& keys, ModelConfig& c) {
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    RZ_TRY(const float alpha_p, read_xielu_number(keys, "xielu.alpha_p", Role::kXieluAlphaP, i, c.n_layers));
    RZ_TRY(const float alpha_n, read_xielu_number(keys, "xielu.alpha_n", Role::kXieluAlphaN, i, c.n_layers));
    RZ_TRY(const float beta, read_xielu_number(keys, "xielu.beta", Role::kXieluBeta, i, c.n_layers));
    RZ_TRY(const float eps, read_xielu_number(keys, "xielu.eps", Role::kXieluEps, i, c.n_layers));
    std::get<PlainConfig>(c.layers[i].ffn).xielu = {static_cast<float>(softplus(alpha_p)),
                                                    static_cast<float>(beta + softplus(alpha_n)), beta, eps};
  }
  return {};
}

}  // namespace

const ArchSpec kApertus{.name = "apertus",
                        .hf_classes = kApertusHfClasses,
                        .tensors = kApertusTensors,
                        .ffn = FfnKind::kPlain,
                        .activation = Activation::kXielu,
                        .qk_norm = QkNorm::kHead,
                        .hf_keys = {.activation = ""},
                        .adjust = read_xielu};

}  // namespace realizar
