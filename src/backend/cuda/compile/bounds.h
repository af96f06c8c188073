// Upper bounds of the kernels on a model's sizes.
#pragma once

#include "backend/program.h"
#include "realizar/result.h"

namespace realizar::cuda {

// The ranks or devices that run a program.
struct Runners {
  uint32_t n_devices = 1;
  bool is_shared = false;      // the devices share each layer
  bool has_processes = false;  // other processes share the program
};
// Errors: as Backend::check.
Status check_bounds(const Program& program, const Runners& runners);

}  // namespace realizar::cuda
