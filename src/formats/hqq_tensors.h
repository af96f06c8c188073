// HQQ in Hugging Face folders, as transformers (HqqConfig) and hqq (save_to_safetensors) write them.
#pragma once

#include "formats/folder_tensors.h"

namespace realizar {

// A matrix x consists of x.W_q, its codes; x.scale and x.zero, or both in x.zero_scale; x.shape I64 [2]; and its
// quantization settings, a tensor each: nbits, group_size and axis as I32 (nbits of 1.58 as F32); packing as its
// letters in U8; view_as_float, channel_wise, quant_scale and quant_zero as U8. A setting without a tensor is in
// quantization_config.quant_config, for all matrices, for those of a tag ("self_attn.q_proj") or for one by its full
// name. Errors: as bind_packed_matrices().
Status bind_hqq(FolderTensors& folder);

}  // namespace realizar
