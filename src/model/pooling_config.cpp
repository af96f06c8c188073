// Reads how a text's hidden states become its vector or scores, and the number of token types.
#include <fmt/format.h>

#include <iterator>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

constexpr uint64_t kMaxTypes = 16;

// GGUF: llama.cpp's numbers; a sentence-transformers folder: its pooling module.
Result<std::optional<Pooling>> read_given_pooling(const ConfigKeys& keys) {
  const Metadata& metadata = keys.file().metadata();
  if (keys.is_gguf()) {
    const std::string key = keys.key("pooling_type", "");
    RZ_TRY(const auto type, metadata.get_int(key));
    constexpr std::optional<Pooling> kTypes[] = {{}, Pooling::kMean, Pooling::kFirst, Pooling::kLast, Pooling::kRank};
    if (type.value_or(0) >= 0 && type.value_or(0) < std::ssize(kTypes)) return kTypes[type.value_or(0)];
    return unsupported(fmt::format("{}: {} = {} is not supported", keys.file().path().string(), key, *type), key);
  }
  struct Mode {
    std::string_view key;
    Pooling pooling;
  };
  static constexpr Mode kModes[] = {{"1_Pooling.pooling_mode_mean_tokens", Pooling::kMean},
                                    {"1_Pooling.pooling_mode_cls_token", Pooling::kFirst},
                                    {"1_Pooling.pooling_mode_lasttoken", Pooling::kLast}};
  std::optional<Pooling> given;
  for (const Mode& mode : kModes) {
    RZ_TRY(const auto is_on, metadata.get_bool(mode.key));
    if (!is_on.value_or(false)) continue;
    if (given) {
      return unsupported(
          fmt::format("{}: several pooling modes in one model are not supported", keys.file().path().string()),
          std::string(mode.key));
    }
    given = mode.pooling;
  }
  for (const std::string_view key : {"1_Pooling.pooling_mode_max_tokens", "1_Pooling.pooling_mode_weightedmean_tokens",
                                     "1_Pooling.pooling_mode_mean_sqrt_len_tokens"}) {
    RZ_TRY(const auto is_on, metadata.get_bool(key));
    if (!is_on.value_or(false)) continue;
    return unsupported(fmt::format("{}: {} is not supported", keys.file().path().string(), key), std::string(key));
  }
  return given;
}

// Refuses dense layers after pooling for architectures that have none. Returns 0.
Result<uint32_t> check_no_dense(const ConfigKeys& keys) {
  for (const TensorInfo& tensor : keys.file().tensors()) {
    const bool is_dense = tensor.name.starts_with("2_Dense.") || tensor.name.starts_with("3_Dense.");
    if (keys.is_gguf() || !is_dense) continue;
    return unsupported(fmt::format("{}: a Dense module after pooling (tensor '{}') is not supported for {}",
                                   keys.file().path().string(), tensor.name, keys.spec().name),
                       tensor.name);
  }
  return 0u;
}

}  // namespace

// Defaults: scores if the file has a scoring layer; otherwise the mean for encoders and the last token for decoders.
Status read_pooling(const ConfigKeys& keys, ModelConfig& c) {
  c.is_bidirectional = keys.spec().is_bidirectional;
  RZ_TRY(const auto given, read_given_pooling(keys));
  std::string_view name;
  const TensorInfo* score = find_tensor_of(keys, Role::kScore, name);
  const bool ranks = given ? *given == Pooling::kRank : score != nullptr;
  c.pooling = given.value_or(ranks ? Pooling::kRank : c.is_bidirectional ? Pooling::kMean : Pooling::kLast);
  if (!ranks) return {};
  if (score == nullptr) {
    if (name.empty())
      return unsupported(
          fmt::format("{}: scores are not supported for {}", keys.file().path().string(), keys.spec().name),
          "pooling_type");
    return not_found(fmt::format("{}: tensor '{}' is missing: the file's pooling by rank needs it",
                                 keys.file().path().string(), name),
                     std::string(name));
  }
  // GGUF stores a matrix with one row as a vector.
  const uint64_t n_labels = score->shape.size() < 2 ? 1 : score->shape[0];
  if (n_labels < 1 || n_labels > kMaxWidth) {
    return out_of_range(keys.file(), name, fmt::format("1 to {} labels", kMaxWidth), std::to_string(n_labels));
  }
  c.n_labels = static_cast<uint32_t>(n_labels);
  return {};
}

Result<uint32_t> read_n_dense(const ConfigKeys& keys) {
  std::string_view name;
  const TensorInfo* dense = find_tensor_of(keys, Role::kDenseUp, name);
  if (name.empty()) return check_no_dense(keys);
  std::string_view other;
  const TensorInfo* second = find_tensor_of(keys, Role::kDenseDown, other);
  if ((dense == nullptr) != (second == nullptr)) {
    const std::string_view absent = dense == nullptr ? name : other;
    return not_found(fmt::format("{}: tensor '{}' is missing: a model has two dense layers after pooling or none",
                                 keys.file().path().string(), absent),
                     std::string(absent));
  }
  if (dense == nullptr) return 0u;
  if (dense->shape.size() == 2 && dense->shape[0] >= 1 && dense->shape[0] <= kMaxWidth) {
    return static_cast<uint32_t>(dense->shape[0]);
  }
  return out_of_range(keys.file(), name, fmt::format("a matrix with 1 to {} rows", kMaxWidth), "another shape");
}

Result<uint32_t> read_n_types(const ConfigKeys& keys) {
  std::string_view name;
  const TensorInfo* table = find_tensor_of(keys, Role::kTypeEmbed, name);
  if (table == nullptr) return 0u;
  const uint64_t n_types = table->shape.size() < 2 ? 1 : table->shape[0];
  if (n_types >= 1 && n_types <= kMaxTypes) return static_cast<uint32_t>(n_types);
  return out_of_range(keys.file(), name, fmt::format("1 to {} token types", kMaxTypes), std::to_string(n_types));
}

}  // namespace realizar
