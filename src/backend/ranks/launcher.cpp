#include "backend/ranks/launcher.h"

#include <charconv>
#include <string_view>

namespace realizar::ranks {
namespace {

// 0: unset, or not a number.
uint32_t count_in(const LookUp& environment, const char* name) {
  const char* value = environment(name);
  if (value == nullptr) return 0;
  const std::string_view text = value;
  uint32_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  return fault == std::errc() && end == text.data() + text.size() ? n : 0;
}

}  // namespace

Launch launch_of(const LookUp& environment) {
  // mpirun and prterun.
  if (const uint32_t n = count_in(environment, "OMPI_COMM_WORLD_SIZE"); n > 0) {
    return n > 1 ? Launch{n, "OMPI_COMM_WORLD_SIZE"} : Launch{};
  }
  // Slurm also sets the number of tasks in batch scripts, which are not ranks; PMIX_RANK marks a rank.
  if (environment("PMIX_RANK") == nullptr) return {};
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    if (const uint32_t n = count_in(environment, name); n > 0) return n > 1 ? Launch{n, name} : Launch{};
  }
  return {};
}

}  // namespace realizar::ranks
