// The backend of NVIDIA GPUs. Block types are multiplied as int8 with the activations' groups of 32, exactly, and
// summed in F32; plain types in F32. Refused, by name: heads of more than 512 dimensions, latents of more than 512 with
// rotated keys of more than 64, more than 512 experts or 32 chosen; latents where devices share layers; several devices
// in a process that shares its programs with others.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/device/exchange.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/exchange.h"

namespace realizar::cuda {

struct CudaOptions {
  uint64_t memory_bytes = 0;                  // of each device's memory, for everything; 0: what is free
  uint64_t other_bytes = 0;                   // of that, what each device wants besides weights and cache
  uint64_t kv_bytes = 0;                      // of the cache of all layers
  uint64_t weight_bytes = 0;                  // of the whole model, as far as they are known; 0: not known
  uint32_t n_layers = 0;                      // of the model; wanted where there are several devices
  std::optional<uint32_t> n_gpu_layers = {};  // that stay on devices; absent: as many as fit
  uint64_t host_bytes = UINT64_MAX;           // of the host's memory, for layers that find no place on devices
  std::string layer_folder = {};              // on whose disk the layers beyond that are kept; empty: nowhere
  uint64_t partial_bytes = kPartialBytes;     // that attention may take at a time for partial results of long contexts
  Exchange* exchange = nullptr;               // of the processes that share its programs; it must outlive the backend
  bool tries_nccl = false;                    // for their sums, where all of them try and it connects their GPUs
};

// What is known of a model's steps before its weights are loaded.
struct ScratchOutline {
  BackendLimits limits;
  KvLayout cache;                 // its block_tokens, type and groups
  std::span<const TypeId> types;  // that matrices may have
  uint32_t n_sharing = 1;         // devices that share each layer
};
// What a program's steps compute in on a device: exact on one device where all matrices have one type, and otherwise no
// less than it will be.
uint64_t scratch_bytes(const Program& program, const ScratchOutline& outline);

// Where there are several devices, each holds some of the layers, in order, and the first also what belongs to none; a
// step goes from one to the next. With an exchange each holds a part of every layer instead, and all of what belongs to
// none, and they compute together; load_matrix gives Unsupported, by name, where a matrix has no equal parts. Layers
// that find no place on their device stay in memory of the host, or in a file where that is short too, and are brought
// over each step. Precondition: one device or more.
std::unique_ptr<Backend> make_backend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options,
                                      std::unique_ptr<DeviceExchange> exchange = nullptr);

}  // namespace realizar::cuda
