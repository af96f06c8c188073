// Which tensor of a model gets which type: the mixtures that GGUF files name in general.file_type. Some matrices are
// worth more bits than others (attention's values, the way back from a feed-forward net, the head), and a mixture is a
// list of such exceptions from its base type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/metadata.h"
#include "quant/types.h"

namespace realizar {

enum class MixPart : uint8_t {
  kOutput,  // of a model without one the embedding, which takes its place
  kEmbedding,
  kAttnV,
  kAttnK,
  kAttnQ,
  kAttnQkv,
  kAttnOutput,
  kFfnDown,
  kFfnGate,
  kFfnUp,
  kOther,
};

// The layers that a rule is for.
enum class MixWhere : uint8_t {
  kAll,
  kFirst2,
  kFirst4,
  kFirst16th,
  kFirst8th,
  kMiddle,    // all but the first and the last eighth
  kMoreBits,  // the first and the last eighth, and each third of those between
};

enum class MixIf : uint8_t {
  kAlways,
  kStack,        // the tensor is a stack of matrices, one for each expert
  kSharedHeads,  // four query heads or more for each key head
  kManyExperts,  // four experts or more
  k8Experts,
  kImportance,  // an importance matrix is given
  kNoImportance,
};

// The first rule that fits a tensor gives its type.
struct MixRule {
  MixPart part;
  TypeId type;
  MixIf condition = MixIf::kAlways;
  MixWhere where = MixWhere::kAll;
};

struct Mix {
  std::string_view name;
  uint32_t file_type;  // general.file_type
  TypeId base;
  std::span<const MixRule> rules;
  bool needs_importance = false;  // its files are of little use without
};

// In the order of their size.
std::span<const Mix> all_mixes();
// In any case of letters, by the short names Q3_K, Q4_K and Q5_K of the middle ones, or by the number of
// general.file_type. Null: there is none.
const Mix* find_mix(std::string_view name);

// What the rules ask about a model.
struct MixModel {
  uint32_t n_layers = 0, n_experts = 0;
  uint32_t heads_per_kv = 1;
  bool has_output = true, has_importance = false;
  // Of the metadata; what is missing or has another type counts as none.
  static MixModel of(const Metadata& metadata);
};

MixPart mix_part_of(std::string_view tensor_name, const MixModel& model);
// is_stack: the tensor has several matrices.
TypeId mixed_type(const Mix& mix, std::string_view tensor_name, bool is_stack, const MixModel& model);

// Whether a tensor keeps its type whatever the others become: a vector, a norm, a router, a table of positions, a
// convolution, and what recurrent models compute with in full precision.
bool is_kept(std::string_view tensor_name, std::span<const uint64_t> shape);

// The type itself, or the one that takes its place where rows of n_cols are no whole number of its blocks.
TypeId fitting_type(TypeId wanted, uint64_t n_cols);

}  // namespace realizar
