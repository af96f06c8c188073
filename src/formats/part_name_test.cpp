#include "formats/part_name.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(PartName, KnowsTheNumberOfAPart) {
  const auto part = part_name("dir/m-00002-of-00010.gguf", ".gguf");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->stem, "dir/m");
  EXPECT_EQ(part->no, 2u);
  EXPECT_EQ(part->count, 10u);
  EXPECT_EQ(part->name_of(3), "dir/m-00003-of-00010.gguf");
  for (const char* name : {"m.gguf", "-00001-of-00002.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf",
                           "m-0001-of-0002.gguf", "m-00001-of-0000x.gguf", "m-00001-of-00002.bin"}) {
    EXPECT_FALSE(part_name(name, ".gguf")) << name;
  }
}

TEST(PartName, KeepsTheSpelling) {
  const auto part = part_name("M-00001-OF-00002.GGUF", ".gguf");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->name_of(2), "M-00002-OF-00002.GGUF");
  EXPECT_TRUE(part->is_same_set(*part_name("m-00002-of-00002.gguf", ".gguf")));
  EXPECT_FALSE(part->is_same_set(*part_name("m-00002-of-00003.gguf", ".gguf")));
  EXPECT_FALSE(part_name("M-00001-OF-00002.GGUF", ".safetensors"));
}

}  // namespace
}  // namespace realizar
