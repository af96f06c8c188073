// Chooses a type for each tensor of a model: the mixtures that GGUF files name in general.file_type. Some matrices
// deserve more bits than others (attention's values, the down projection, the head), and a mixture is a list of such
// exceptions to its base type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/metadata.h"
#include "quant/types.h"

namespace realizar {

enum class MixPart : uint8_t {
  kOutput,  // in a model without one, the embedding, which takes its role
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

// The layers to which a rule applies.
enum class MixWhere : uint8_t {
  kAll,
  kFirst2,
  kFirst4,
  kFirst16th,
  kFirst8th,
  kMiddle,    // all but the first and the last eighth
  kMoreBits,  // the first and the last eighth, and every third one between
};

enum class MixIf : uint8_t {
  kAlways,
  kStack,        // the tensor is a stack of matrices, one for each expert
  kSharedHeads,  // at least four query heads for each key head
  kManyExperts,  // at least four experts
  k8Experts,
  kImportance,  // with an importance matrix
  kNoImportance,
};

// The first rule that matches a tensor gives its type.
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
  bool needs_importance = false;  // its files are of little use without one
};

// Sorted by size.
std::span<const Mix> all_mixes();
// Finds a mixture by its name in any case, by the short names Q3_K, Q4_K and Q5_K of the middle ones, or by the number
// in general.file_type. Null if there is none.
const Mix* find_mix(std::string_view name);

// The properties of a model that the rules use.
struct MixModel {
  uint32_t n_layers = 0, n_experts = 0;
  uint32_t heads_per_kv = 1;
  bool has_output = true, has_importance = false;
  // From the metadata; missing values and those of another type count as none.
  static MixModel of(const Metadata& metadata);
};

MixPart mix_part_of(std::string_view tensor_name, const MixModel& model);
// is_stack: the tensor has several matrices.
TypeId mixed_type(const Mix& mix, std::string_view tensor_name, bool is_stack, const MixModel& model);

// Whether a tensor keeps its type whatever the others become: vectors, norms, routers, position tables, convolutions,
// and tensors with which recurrent models compute in full precision.
bool is_kept(std::string_view tensor_name, std::span<const uint64_t> shape);

// The wanted type, or its replacement if rows of n_cols are not a whole number of its blocks.
TypeId fitting_type(TypeId wanted, uint64_t n_cols);

}  // namespace realizar
