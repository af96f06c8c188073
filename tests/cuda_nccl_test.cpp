// The calls of NCCL, through a library that replaces it: communicators end together, an error aborts all of them, and
// errors of running operations are found. Processes use it if all of them can, and get the same results from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "backend/cuda/device/nccl.h"
#include "backend/cuda/device/process_exchange.h"
#include "support/emulated_cuda.h"
#include "support/fake_nccl.h"
#include "support/thread_ranks.h"

namespace realizar::test {
namespace {

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    fake_nccl_fail(0, 0, 0);
    fake_nccl_log()->clear();
    device_->attach();
    exchange_ = std::move(*cuda::open_nccl(std::vector<uint32_t>{0, 1}));
  }
  Status gather() {
    const cuda::DeviceExchange::Part part{device_.get(), nullptr, nullptr};
    return exchange_->gather({&part, 1}, 4);
  }

  std::unique_ptr<cuda::Device> device_ = make_emulated_cuda_device();
  std::unique_ptr<cuda::DeviceExchange> exchange_;
};

TEST_F(Nccl, CommunicatorsEndTogether) {
  exchange_ = nullptr;
  EXPECT_EQ(*fake_nccl_log(), (NcclLog{"in group: destroy", "in group: destroy"}));
}

TEST_F(Nccl, AnErrorOfACallGivesAllUp) {
  EXPECT_TRUE(gather().ok());
  EXPECT_FALSE(exchange_->is_lost());
  fake_nccl_fail(3, 0, 0);
  EXPECT_EQ(gather().error().message, "NCCL: the fake library was told to fail");
  EXPECT_TRUE(exchange_->is_lost());
  fake_nccl_fail(0, 0, 0);
  fake_nccl_log()->erase(fake_nccl_log()->begin(), fake_nccl_log()->begin() + 2);
  EXPECT_EQ(*fake_nccl_log(), (NcclLog{"abort", "abort"}));
  EXPECT_NE(gather().error().message.find("load the model again"), std::string::npos);
  exchange_ = nullptr;
  EXPECT_EQ(fake_nccl_log()->size(), 2u);  // aborted communicators are not destroyed as well
}

TEST_F(Nccl, AnErrorOfWhatIsUnderWayIsFound) {
  constexpr int kInProgress = 7, kRemoteError = 6;
  fake_nccl_fail(0, kInProgress, 0);
  EXPECT_TRUE(exchange_->check().ok());
  fake_nccl_fail(0, kRemoteError, 0);
  EXPECT_EQ(exchange_->check().error().code, ErrorCode::kInternal);
  EXPECT_TRUE(exchange_->is_lost());
  EXPECT_EQ(*fake_nccl_log(), (NcclLog{"abort", "abort"}));
}

// Processes that gather [rank, rank + 1, rank + 2].
class NcclOfProcesses : public testing::Test {
 protected:
  static constexpr uint32_t kProcesses = 3;
  struct Gathered {
    std::vector<float> values;
    std::string way;
  };

  void SetUp() override {
    fake_nccl_fail(0, 0, 0);
    fake_nccl_log()->clear();
  }
  // `without`: the process that does not try NCCL.
  static std::vector<Gathered> gather(uint32_t without) {
    ThreadExchanges exchanges(kProcesses);
    std::vector<Gathered> gathered(kProcesses);
    std::vector<std::thread> processes;
    for (uint32_t rank = 0; rank < kProcesses; ++rank) {
      processes.emplace_back([&, rank] {
        const auto device = make_emulated_cuda_device();
        cuda::ProcessExchange exchange(*device, exchanges.of(rank), rank != without);
        EXPECT_TRUE(exchange.reserve(size_t{kProcesses} * 3).ok());
        for (uint32_t turn = 0; turn < 2; ++turn) {
          const std::vector<float> own = {0.0f + rank, 1.0f + rank, 2.0f + rank};
          std::vector<float> all(size_t{kProcesses} * own.size());
          const cuda::DeviceExchange::Part part{device.get(), own.data(), all.data()};
          EXPECT_TRUE(exchange.gather({&part, 1}, own.size()).ok());
          gathered[rank] = {all, exchange.way_of_sums()};
        }
      });
    }
    for (std::thread& process : processes) process.join();
    return gathered;
  }
  static void expect_all_by(const char* way, const std::vector<Gathered>& gathered) {
    for (const Gathered& one : gathered) {
      EXPECT_EQ(one.values, (std::vector<float>{0, 1, 2, 1, 2, 3, 2, 3, 4}));
      EXPECT_EQ(one.way, way);
    }
  }
};

TEST_F(NcclOfProcesses, IsUsedWhereAllTryIt) {
  expect_all_by("sums by NCCL", gather(kProcesses));
  EXPECT_EQ(std::ranges::count(*fake_nccl_log(), "join"), kProcesses);
  EXPECT_EQ(std::ranges::count(*fake_nccl_log(), "in group: gather"), 2 * kProcesses);
}

TEST_F(NcclOfProcesses, IsLeftAloneWhereOneDoesNot) {
  expect_all_by("sums by way of the host's memory", gather(1));
  EXPECT_TRUE(fake_nccl_log()->empty());
}

TEST_F(NcclOfProcesses, IsGivenUpWhereItConnectsNotAll) {
  fake_nccl_fail(0, 0, 5);
  expect_all_by("sums by way of the host's memory", gather(kProcesses));
  EXPECT_EQ(std::ranges::count(*fake_nccl_log(), "abort"), 2);
  EXPECT_EQ(std::ranges::count(*fake_nccl_log(), "in group: gather"), 0);
}

// No wait for it on a GPU is in vain.
TEST_F(NcclOfProcesses, IsGivenUpWhereOneIsGone) {
  ThreadExchanges exchanges(2);
  std::vector<std::thread> processes;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    processes.emplace_back([&, rank] {
      const auto device = make_emulated_cuda_device();
      cuda::ProcessExchange exchange(*device, exchanges.of(rank), true);
      float own = 1, all[2] = {};
      const cuda::DeviceExchange::Part part{device.get(), &own, all};
      EXPECT_TRUE(exchange.gather({&part, 1}, 1).ok());
      if (rank == 1) return;
      EXPECT_TRUE(exchange.check().ok());
      exchanges.lose(1);
      EXPECT_NE(exchange.check().error().message.find("rank 1"), std::string::npos);
      EXPECT_TRUE(exchange.is_lost());
    });
  }
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(std::ranges::count(*fake_nccl_log(), "abort"), 1);
}

}  // namespace
}  // namespace realizar::test
