// Reads which layers are recurrent, which have a window and which rotate positions: from lists, intervals, or the
// architecture's rule.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

// Layers with a sliding window by GGUF's list; nullopt if the key is absent or a number.
Result<std::optional<std::vector<bool>>> read_window_list(const ConfigKeys& keys, uint32_t n_layers) {
  const std::string key = keys.key("attention.sliding_window_pattern", "");
  const MetaValue* value = keys.file().metadata().find(key);
  if (value == nullptr || !std::holds_alternative<MetaArray>(*value)) return std::optional<std::vector<bool>>();
  RZ_TRY(auto list, keys.file().metadata().get_bools(key));
  const size_t n_entries = list ? list->size() : 0;
  if (n_entries == n_layers) return list;
  return out_of_range(keys.file(), key, fmt::format("{} entries", n_layers), std::to_string(n_entries));
}

// Layers with a sliding window by the file's list; nullopt if it has none.
Result<std::optional<std::vector<bool>>> read_layer_types(const ConfigKeys& keys, uint32_t n_layers) {
  std::optional<std::vector<bool>> has_window;
  if (keys.is_gguf()) return read_window_list(keys, n_layers);
  if (keys.spec().recurrent) return has_window;  // read_mixer_kinds reads it
  RZ_TRY(const auto types, keys.file().metadata().get_strings("layer_types"));
  if (!types) return has_window;
  if (types->size() != n_layers) {
    return out_of_range(keys.file(), "layer_types", fmt::format("{} entries", n_layers), std::to_string(types->size()));
  }
  has_window.emplace(n_layers, false);
  for (uint32_t i = 0; i < n_layers; ++i) {
    const std::string_view type = (*types)[i];
    (*has_window)[i] = type == keys.spec().hf_keys.windowed_type && keys.spec().has_window();
    if ((*has_window)[i] || type == "full_attention") continue;
    return unsupported(fmt::format("{}: layer_types: '{}' is not supported for {}", keys.file().path().string(), type,
                                   keys.spec().name),
                       "layer_types");
  }
  return has_window;
}

// Layers by a list of ones and zeros in config.json; nullopt if there is none.
Result<std::optional<std::vector<bool>>> read_layout(const ConfigKeys& keys, std::string_view key, uint32_t n_layers) {
  std::optional<std::vector<bool>> layout;
  if (keys.is_gguf() || key.empty()) return layout;
  RZ_TRY(const auto list, keys.file().metadata().get_ints(key));
  if (!list || list->empty()) return layout;
  if (list->size() != n_layers) {
    return out_of_range(keys.file(), key, fmt::format("{} entries", n_layers), std::to_string(list->size()));
  }
  layout.emplace(n_layers, false);
  for (uint32_t i = 0; i < n_layers; ++i) (*layout)[i] = (*list)[i] != 0;
  return layout;
}

// N if every Nth layer attends to the whole context; 0: none does.
Result<uint32_t> read_full_interval(const ConfigKeys& keys) {
  for (const std::string_view hf : {keys.spec().hf_keys.full_interval, std::string_view("_sliding_window_pattern")}) {
    RZ_TRY(const auto interval, keys.optional_int("attention.sliding_window_pattern", hf, 0, kMaxLayers));
    if (interval) return *interval;
  }
  return keys.spec().full_interval;
}

// Kinds of layers by config.json's list of names.
Result<std::vector<MixerKind>> read_kind_list(const ConfigKeys& keys, std::span<const std::string_view> names,
                                              uint32_t n_layers) {
  const std::string key(keys.spec().hf_keys.layer_kinds);
  if (names.size() != n_layers) {
    return out_of_range(keys.file(), key, fmt::format("{} entries", n_layers), std::to_string(names.size()));
  }
  constexpr std::string_view kAttends[] = {"attention", "full_attention"},
                             kRecurs[] = {"mamba", "mamba2", "linear_attention", "conv", "recurrent"};
  std::vector<MixerKind> kinds;
  for (const std::string_view name : names) {
    const bool attends = std::ranges::find(kAttends, name) != std::end(kAttends);
    if (!attends && std::ranges::find(kRecurs, name) == std::end(kRecurs)) {
      return unsupported(
          fmt::format("{}: {}: '{}' is not supported for {}", keys.file().path().string(), key, name, keys.spec().name),
          key);
    }
    kinds.push_back(attends ? keys.spec().mixer : *keys.spec().recurrent);
  }
  return kinds;
}

template <class Recurs>
std::vector<MixerKind> kinds_where(const ConfigKeys& keys, uint32_t n_layers, const Recurs& recurs) {
  std::vector<MixerKind> kinds(n_layers, keys.spec().mixer);
  for (uint32_t i = 0; i < n_layers; ++i) {
    if (recurs(i)) kinds[i] = *keys.spec().recurrent;
  }
  return kinds;
}

// Kinds of layers by the file's list; nullopt if it has none.
using ListedKinds = std::optional<std::vector<MixerKind>>;

Result<ListedKinds> read_hf_kinds(const ConfigKeys& keys, uint32_t n_layers) {
  const HfSsmKeys& hf = keys.spec().hf_ssm_keys;
  // Without a list, the tensors decide.
  if (keys.spec().hf_keys.layer_kinds.empty() && hf.attending_layers.empty()) {
    return ListedKinds(kinds_where(keys, n_layers, [&](uint32_t i) { return has_role(keys, Role::kSsmIn, i); }));
  }
  if (!keys.spec().hf_keys.layer_kinds.empty()) {
    RZ_TRY(const auto names, keys.file().metadata().get_strings(keys.spec().hf_keys.layer_kinds));
    if (names) {
      RZ_TRY(const auto kinds, read_kind_list(keys, *names, n_layers));
      return ListedKinds(kinds);
    }
  }
  if (hf.attending_layers.empty()) return ListedKinds();
  RZ_TRY(const auto attending, keys.file().metadata().get_ints(hf.attending_layers));
  if (!attending) return ListedKinds();
  return ListedKinds(kinds_where(keys, n_layers, [&](uint32_t layer) {
    return std::ranges::find(*attending, hf.first_layer + layer) == attending->end();
  }));
}

Result<ListedKinds> read_gguf_kinds(const ConfigKeys& keys, uint32_t n_layers) {
  constexpr std::string_view kHeads = "attention.head_count_kv", kList = "attention.recurrent_layers";
  if (keys.is_list(kHeads, "")) {
    RZ_TRY(const auto n_kv_heads, keys.layer_ints(kHeads, "", n_layers, 0, kMaxHeads));
    return ListedKinds(
        kinds_where(keys, n_layers, [&](uint32_t layer) { return n_kv_heads && (*n_kv_heads)[layer] == 0; }));
  }
  if (!keys.is_list(kList, "")) return ListedKinds();
  RZ_TRY(const auto list, keys.file().metadata().get_bools(keys.key(kList, "")));
  // The list may include extra layers, which are not read.
  if (list->size() < n_layers) {
    return out_of_range(keys.file(), keys.key(kList, ""), fmt::format("{} entries", n_layers),
                        std::to_string(list->size()));
  }
  return ListedKinds(kinds_where(keys, n_layers, [&](uint32_t layer) { return (*list)[layer]; }));
}

// transformers, Qwen2Config and its siblings.
bool has_flagged_window(WindowRule rule, uint32_t layer, uint32_t border) {
  if (rule == WindowRule::kFromLayer) return layer >= border;
  return rule == WindowRule::kAll || (layer < border && layer % 2 == 0);
}

// Windows of architectures that enable them by a flag.
Result<std::vector<uint32_t>> read_flagged_windows(const ConfigKeys& keys, uint32_t n_layers,
                                                   const std::optional<std::vector<bool>>& listed) {
  constexpr uint32_t kDefaultBorder = 28;  // transformers' default
  std::vector<uint32_t> windows(n_layers, 0);
  RZ_TRY(const auto is_on, keys.file().metadata().get_bool("use_sliding_window"));
  RZ_TRY(const auto given, keys.optional_int("attention.sliding_window", keys.spec().hf_keys.window, 0, kMaxContext));
  const uint32_t window = keys.is_gguf() || is_on.value_or(false) ? given.value_or(0) : 0;
  RZ_TRY(const auto border, keys.optional_int("", "max_window_layers", 0, INT32_MAX));
  const WindowRule rule = keys.spec().window_rule;
  const bool uses_list = keys.is_gguf() || (listed && rule != WindowRule::kAll);
  if (uses_list && !listed) return windows;
  if (uses_list && !keys.is_gguf() && window == 0 && std::ranges::find(*listed, true) != listed->end()) {
    return unsupported(fmt::format("{}: layer_types: 'sliding_attention' is not supported for {} without "
                                   "use_sliding_window and sliding_window",
                                   keys.file().path().string(), keys.spec().name),
                       "layer_types");
  }
  for (uint32_t i = 0; i < n_layers; ++i) {
    const bool has_one = uses_list ? (*listed)[i] : has_flagged_window(rule, i, border.value_or(kDefaultBorder));
    if (has_one) windows[i] = window;
  }
  return windows;
}

// The flag is refused for other architectures.
Status refuse_window_flag(const ConfigKeys& keys) {
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto is_on, keys.file().metadata().get_bool("use_sliding_window"));
  RZ_TRY(const auto window, keys.optional_int("", keys.spec().hf_keys.window, 0, kMaxContext));
  if (!is_on.value_or(false) || window.value_or(0) == 0) return {};
  return unsupported(fmt::format("{}: use_sliding_window = true is not supported for {}", keys.file().path().string(),
                                 keys.spec().name),
                     "use_sliding_window");
}

}  // namespace

Result<std::vector<MixerKind>> read_mixer_kinds(const ConfigKeys& keys, uint32_t n_layers) {
  if (!keys.spec().recurrent) return std::vector<MixerKind>(n_layers, keys.spec().mixer);
  RZ_TRY(auto listed, keys.is_gguf() ? read_gguf_kinds(keys, n_layers) : read_hf_kinds(keys, n_layers));
  if (listed) return std::move(*listed);
  constexpr std::string_view kInterval = "full_attention_interval";
  RZ_TRY(const auto given, keys.optional_int(kInterval, kInterval, 1, kMaxLayers));
  const uint32_t interval = given.value_or(0);
  return kinds_where(keys, n_layers, [&](uint32_t layer) { return interval > 0 && (layer + 1) % interval != 0; });
}

Result<std::vector<uint32_t>> read_windows(const ConfigKeys& keys, uint32_t n_layers) {
  std::vector<uint32_t> windows(n_layers, 0);
  RZ_TRY(auto has_window, read_layer_types(keys, n_layers));
  if (!has_window) {
    RZ_TRY(has_window, read_layout(keys, keys.spec().hf_keys.window_list, n_layers));
  }
  if (!keys.spec().has_window()) {
    RZ_CHECK_OK(refuse_window_flag(keys));
    return windows;
  }
  if (keys.spec().needs_window_flag()) return read_flagged_windows(keys, n_layers, has_window);
  RZ_TRY(const auto given, keys.optional_int("attention.sliding_window", keys.spec().hf_keys.window, 0, kMaxContext));
  uint32_t window = given.value_or(0);
  // An encoder's window counts both sides.
  if (keys.spec().is_bidirectional && window > 0) window = window / 2 + 1;
  uint32_t interval = 0;
  if (!has_window) {
    RZ_TRY(interval, read_full_interval(keys));
  }
  for (uint32_t i = 0; i < n_layers; ++i) {
    const bool has_one = has_window ? (*has_window)[i] : keys.spec().has_window_by_interval(i, interval);
    windows[i] = has_one ? window : 0;
  }
  return windows;
}

Result<std::vector<bool>> read_rope_layers(const ConfigKeys& keys, uint32_t n_layers) {
  std::vector<bool> rope(n_layers, true);
  RZ_TRY(const auto layout, read_layout(keys, keys.spec().hf_keys.rope_list, n_layers));
  if (layout) return *layout;
  if (keys.spec().nope_interval == 0) return rope;
  if (!keys.is_gguf() && keys.spec().full_lacks_rope) return rope;  // there the windows decide
  RZ_TRY(const auto given, keys.optional_int("", "no_rope_layer_interval", 1, kMaxLayers));
  const uint32_t interval = keys.is_gguf() ? keys.spec().nope_interval : given.value_or(keys.spec().nope_interval);
  for (uint32_t i = 0; i < n_layers; ++i) rope[i] = (i + 1) % interval != 0;
  return rope;
}

}  // namespace realizar
