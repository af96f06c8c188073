// How NCCL is called, by a library that stands for it: communicators end together, an error gives all of them up, and
// errors of what is under way are found.
#include <gtest/gtest.h>

#include "backend/cuda/device/nccl.h"
#include "support/emulated_cuda.h"
#include "support/fake_nccl.h"

namespace realizar::test {
namespace {

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    fake_nccl_fail(0, 0);
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
  fake_nccl_fail(3, 0);
  EXPECT_EQ(gather().error().message, "NCCL: the fake library was told to fail");
  EXPECT_TRUE(exchange_->is_lost());
  fake_nccl_fail(0, 0);
  fake_nccl_log()->erase(fake_nccl_log()->begin(), fake_nccl_log()->begin() + 2);
  EXPECT_EQ(*fake_nccl_log(), (NcclLog{"abort", "abort"}));
  EXPECT_NE(gather().error().message.find("load the model again"), std::string::npos);
  exchange_ = nullptr;
  EXPECT_EQ(fake_nccl_log()->size(), 2u);  // what was given up is not destroyed on top of that
}

TEST_F(Nccl, AnErrorOfWhatIsUnderWayIsFound) {
  constexpr int kInProgress = 7, kRemoteError = 6;
  fake_nccl_fail(0, kInProgress);
  EXPECT_TRUE(exchange_->check().ok());
  fake_nccl_fail(0, kRemoteError);
  EXPECT_EQ(exchange_->check().error().code, ErrorCode::kInternal);
  EXPECT_TRUE(exchange_->is_lost());
  EXPECT_EQ(*fake_nccl_log(), (NcclLog{"abort", "abort"}));
}

}  // namespace
}  // namespace realizar::test
