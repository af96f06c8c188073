#include "base/amounts.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(Amounts, BytesHaveTheUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(3000000), "3.0 MB");
  EXPECT_EQ(bytes_text(4812345), "4.8 MB");
  EXPECT_EQ(bytes_text(999499999), "999 MB");
  EXPECT_EQ(bytes_text(999500000), "1.00 GB");
  EXPECT_EQ(bytes_text(1321000000), "1.32 GB");
  EXPECT_EQ(bytes_text(12345000000), "12.3 GB");
  EXPECT_EQ(bytes_text(141000000000), "141 GB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "18.4 EB");
}

TEST(Amounts, LongNumbersAreGrouped) {
  EXPECT_EQ(grouped_text(0), "0");
  EXPECT_EQ(grouped_text(999), "999");
  EXPECT_EQ(grouped_text(1000), "1,000");
  EXPECT_EQ(grouped_text(131072), "131,072");
  EXPECT_EQ(grouped_text(1234567), "1,234,567");
}

}  // namespace
}  // namespace realizar
