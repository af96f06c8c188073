// An adapter of low rank from a file, as a model's targets want it. Three forms are read: GGUF (llama.cpp's
// convert_lora_to_gguf: general.type "adapter"), a folder of PEFT (adapter_config.json, adapter_model.safetensors), and
// one of mlx-lm (adapter_config.json with lora_parameters, adapters.safetensors).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "model/model.h"
#include "realizar/result.h"

namespace realizar {

// What an adapter adds to one target, its own factor (alpha by rank) in `down`.
struct AdapterPair {
  uint32_t rank = 0;             // 0: nothing
  std::vector<float> down = {};  // [rank, n_cols]
  std::vector<float> up = {};    // [n_rows, max_rank], zeros beyond the rank
};

struct Adapter {
  std::vector<AdapterPair> pairs;  // of each target
  uint32_t rank = 0;               // the largest
  uint64_t fingerprint = 0;        // of all that it adds
};

// The largest rank in the file; the model may not be loaded yet. Errors: as read_adapter's, without the model's.
Result<uint32_t> read_adapter_rank(const std::filesystem::path& path);

// Errors: NotFound; FormatError (the file, a half without the other, a shape, a rank of 0, NaN or infinities, by
// tensor); Unsupported (another architecture, a tensor that adapters cannot change here, a rank above the room's, by
// name); what PeftConfig and MlxAdapterConfig refuse.
Result<Adapter> read_adapter(const std::filesystem::path& path, const Model& model);

}  // namespace realizar
