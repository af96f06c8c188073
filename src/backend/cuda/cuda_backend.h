// The backend for NVIDIA GPUs. Group types are multiplied as int8 with activations in groups of 32, exactly, and summed
// in F32; plain types in F32. Refused, by name: heads of more than 512 dimensions, latents of more than 512 with
// rotated keys of more than 64, more than 512 experts or 32 chosen; latents on devices that share layers; several
// devices in a process that shares its programs with others.
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
  uint64_t memory_bytes = 0;                  // of each device's memory, for everything; 0: free memory
  uint64_t other_bytes = 0;                   // of that, per device, for other uses than weights and cache
  uint64_t kv_bytes = 0;                      // cache of all layers
  uint64_t weight_bytes = 0;                  // estimate for the whole model; 0: unknown
  uint32_t n_layers = 0;                      // in the model; required with several devices
  std::optional<uint32_t> n_gpu_layers = {};  // layers that stay on devices; absent: as many as fit
  uint64_t host_bytes = UINT64_MAX;           // host memory for layers that do not fit on devices
  std::string layer_folder = {};              // folder for layers that do not fit in host memory either; empty: none
  uint64_t partial_bytes = kPartialBytes;     // memory for partial results of attention over long contexts
  Exchange* exchange = nullptr;               // between processes that share its programs; it must outlive the backend
  bool tries_nccl = false;                    // for sums, if all processes try and it connects their GPUs
};

// A model's properties known before its weights are loaded.
struct ScratchOutline {
  BackendLimits limits;
  KvLayout cache;                 // its block_tokens, type and groups
  std::span<const TypeId> types;  // possible types of matrices
  uint32_t n_sharing = 1;         // devices that share each layer
};
// Work memory of a program's steps per device: exact on one device with one type of matrices, else an upper bound.
uint64_t scratch_bytes(const Program& program, const ScratchOutline& outline);

// With several devices, each holds some of the layers, in order, and the first also weights outside layers; a step
// passes from one to the next. With an exchange each holds a part of every layer instead, and all weights outside
// layers, and they compute in parallel; load_matrix returns Unsupported, by name, for a matrix without equal parts.
// Layers that do not fit on their device stay in host memory, or in a file if that is short too, and are streamed in
// each step. Precondition: at least one device.
std::unique_ptr<Backend> make_backend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options,
                                      std::unique_ptr<DeviceExchange> exchange = nullptr);

}  // namespace realizar::cuda
