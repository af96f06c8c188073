#include "server/models/model_aliases.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

ModelAlias made(const std::string& name, const std::string& system = "") {
  ModelAlias model;
  model.name = name;
  model.base = "tiny";
  model.system = system;
  return model;
}

TEST(WithTag, AddsLatestWhereThereIsNoTag) {
  EXPECT_EQ(with_tag("tiny"), "tiny:latest");
  EXPECT_EQ(with_tag("tiny:q8"), "tiny:q8");
  EXPECT_EQ(with_tag("host:1234/tiny"), "host:1234/tiny:latest");
  EXPECT_EQ(with_tag("host:1234/tiny:q8"), "host:1234/tiny:q8");
}

TEST(ModelAliases, AreFoundWithTheirTagAndInAnyCase) {
  ModelAliases models;
  ASSERT_TRUE(models.put(1, made("Mario")).ok());
  for (const char* name : {"mario", "MARIO:latest", "Mario"}) EXPECT_NE(models.find(1, name), nullptr) << name;
  EXPECT_EQ(models.find(1, "mario:q8"), nullptr);
  EXPECT_EQ(models.list(1).size(), 1u);
  EXPECT_FALSE(models.erase(1, "luigi"));
  EXPECT_TRUE(models.erase(1, "mario:latest"));
  EXPECT_EQ(models.find(1, "Mario"), nullptr);
}

TEST(ModelAliases, BelongToTheirOwner) {
  ModelAliases models;
  ASSERT_TRUE(models.put(1, made("mario", "one's")).ok());
  ASSERT_TRUE(models.put(2, made("mario", "two's")).ok());
  EXPECT_EQ(models.find(1, "mario")->system, "one's");
  EXPECT_TRUE(models.erase(2, "mario"));
  EXPECT_EQ(models.find(2, "mario"), nullptr);
  EXPECT_EQ(models.find(1, "mario")->system, "one's");
  EXPECT_TRUE(models.list(3).empty());
}

TEST(ModelAliases, AreBoundedInNumberAndBytes) {
  ModelAliases models;
  for (size_t i = 0; i < ModelAliases::kMaxOfOne; ++i) ASSERT_TRUE(models.put(1, made(std::to_string(i))).ok());
  EXPECT_EQ(models.put(1, made("more")).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(models.put(1, made("7", "another")).ok()) << "it takes its own place";
  const std::string large(ModelAliases::kMaxBytesOfOne / 2, 'x');
  ASSERT_TRUE(models.put(2, made("a", large)).ok());
  EXPECT_EQ(models.put(2, made("b", large)).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(models.put(2, made("a", large)).ok());
  EXPECT_FALSE(models.put(3, made("c", large + large)).ok());
  EXPECT_TRUE(models.list(3).empty());
}

}  // namespace
}  // namespace realizar::server
