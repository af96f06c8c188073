#include "backend/ranks/launcher.h"

#include <gtest/gtest.h>

#include <map>

namespace realizar::ranks {
namespace {

Launch launch_in(const std::map<std::string, std::string>& environment) {
  return launch_of([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, MpirunTellsTheNumberOfRanks) {
  const Launch launch = launch_in({{"OMPI_COMM_WORLD_SIZE", "3"}, {"PMIX_RANK", "0"}, {"SLURM_NTASKS", "8"}});
  EXPECT_EQ(launch.n_ranks, 3u);
  EXPECT_EQ(launch.variable, "OMPI_COMM_WORLD_SIZE");
}

TEST(Launcher, SlurmTellsItWithPmixAlone) {
  EXPECT_EQ(launch_in({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NTASKS", "8"}}).n_ranks, 2u);
  EXPECT_EQ(launch_in({{"PMIX_RANK", "1"}, {"SLURM_NTASKS", "8"}}).variable, "SLURM_NTASKS");
  EXPECT_EQ(launch_in({{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "8"}}).n_ranks, 1u);
}

TEST(Launcher, OneProcessIsNoJob) {
  EXPECT_EQ(launch_in({}).n_ranks, 1u);
  EXPECT_EQ(launch_in({{"OMPI_COMM_WORLD_SIZE", "1"}}).variable, "");
  for (const char* bad : {"", "x", "2x", "-2", "99999999999"}) {
    EXPECT_EQ(launch_in({{"OMPI_COMM_WORLD_SIZE", bad}}).n_ranks, 1u) << bad;
  }
}

}  // namespace
}  // namespace realizar::ranks
