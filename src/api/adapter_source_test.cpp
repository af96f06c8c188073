#include "api/adapter_source.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

struct Case {
  const char *text, *name, *path;
  float scale;
};

TEST(AdapterSource, HasANameAPathAndAScale) {
  for (const Case& c : {Case{"poet=poet.gguf", "poet", "poet.gguf", 1.0f},
                        {"poet=/a/b.gguf:0.5", "poet", "/a/b.gguf", 0.5f},
                        {"a/poet.gguf", "poet", "a/poet.gguf", 1.0f},
                        {"a/poet.v2/", "poet.v2", "a/poet.v2/", 1.0f},
                        {"a/poet.gguf:-2", "poet", "a/poet.gguf", -2.0f},
                        {"poet=a:b.gguf", "poet", "a:b.gguf", 1.0f},
                        {"base:poet=b=c.gguf:1e-1", "base:poet", "b=c.gguf", 0.1f}}) {
    const auto source = parse_adapter(c.text);
    ASSERT_TRUE(source.ok()) << c.text;
    EXPECT_EQ(source->name, c.name);
    EXPECT_EQ(source->path, c.path);
    EXPECT_EQ(source->scale, c.scale);
  }
}

TEST(AdapterSource, IsRefusedWithoutAPathOrWithAnEmptyName) {
  for (const char* text : {"", "poet=", "=a.gguf", ":0.5", "poet=:2"}) {
    EXPECT_EQ(parse_adapter(text).error().code, ErrorCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace realizar
