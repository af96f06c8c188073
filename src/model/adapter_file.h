// Reads LoRA adapters for a model's targets. Three forms: GGUF (llama.cpp's convert_lora_to_gguf: general.type
// "adapter"), a PEFT folder (adapter_config.json, adapter_model.safetensors), and an mlx-lm folder (adapter_config.json
// with lora_parameters, adapters.safetensors).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "model/model.h"
#include "realizar/result.h"

namespace realizar {

// An adapter's matrices for one target; its factor (alpha / rank) is folded into `down`.
struct AdapterPair {
  uint32_t rank = 0;             // 0: the adapter does not change the target
  std::vector<float> down = {};  // [rank, n_cols]
  std::vector<float> up = {};    // [n_rows, max_rank], zeros beyond the rank
};

struct Adapter {
  std::vector<AdapterPair> pairs;  // by target
  uint32_t rank = 0;               // the largest of its pairs
  uint64_t fingerprint = 0;        // hash of all pairs
};

// The largest rank in the file; needs no model. Errors: those of read_adapter() that do not depend on the model.
Result<uint32_t> read_adapter_rank(const std::filesystem::path& path);

// Errors: NotFound; FormatError (the file; by tensor: a half without the other, a shape, a rank of 0, NaN or
// infinities); Unsupported (another architecture, a tensor that adapters cannot change, a rank above
// AdapterSlots::max_rank); those of PeftConfig and MlxAdapterConfig.
Result<Adapter> read_adapter(const std::filesystem::path& path, const Model& model);

}  // namespace realizar
