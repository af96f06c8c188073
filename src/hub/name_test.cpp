#include "hub/name.h"

#include <gtest/gtest.h>

#include <string>

#include "base/result_checks.h"
#include "hub/name_table.h"

namespace realizar::hub {
namespace {

std::string spelled(std::string_view text) {
  const auto name = parse_name(text);
  return name.ok() ? to_string(*name) : "error: " + name.error().message;
}

TEST(Name, IsPrintedAsItIsTyped) {
  for (const char* text :
       {"qwen3:1.7b", "mine", "me/mine:v2", "hf:Qwen/Qwen3-1.7B-GGUF", "hf:o/r:Q4_K_M", "hf:o/r@v1:Q8_0",
        "hf:o/r@refs/pr/1", "hf:o/r@feature/x:Q8_0", "hf:o/r:sub/model-00001-of-00002.gguf", "ollama:llama3.2",
        "ollama:llama3.2:1b", "ollama:someone/model:tag", "https://example.com/a/b.gguf?x=1",
        "http://127.0.0.1:8000/m.gguf"}) {
    EXPECT_EQ(spelled(text), text);
  }
}

TEST(Name, OfOtherProgramsIsUnderstood) {
  EXPECT_EQ(spelled("qwen3:latest"), "qwen3");
  EXPECT_EQ(spelled("hf.co/o/r:Q4_K_M"), "hf:o/r:Q4_K_M");
  EXPECT_EQ(spelled("huggingface.co/o/r"), "hf:o/r");
  EXPECT_EQ(spelled("https://huggingface.co/o/r"), "hf:o/r");
  EXPECT_EQ(spelled("https://huggingface.co/o/r/"), "hf:o/r");
  EXPECT_EQ(spelled("https://huggingface.co/o/r/tree/main"), "hf:o/r");
  EXPECT_EQ(spelled("https://huggingface.co/o/r/blob/main/m.gguf"), "hf:o/r:m.gguf");
  EXPECT_EQ(spelled("https://huggingface.co/o/r/resolve/v2/sub/m.gguf?download=true"), "hf:o/r@v2:sub/m.gguf");
  EXPECT_EQ(spelled("https://huggingface.co/o/r/tree/refs%2Fpr%2F1"), "hf:o/r@refs/pr/1");
  EXPECT_EQ(spelled("ollama.com/library/qwen3:8b"), "ollama:qwen3:8b");
  EXPECT_EQ(spelled("registry.ollama.ai/me/model"), "ollama:me/model");
  EXPECT_EQ(spelled("hf.co/o/r:latest"), "hf:o/r");
}

TEST(Name, WithGgufInItIsHuggingFaces) {
  EXPECT_EQ(spelled("Qwen/Qwen3-4B-GGUF"), "hf:Qwen/Qwen3-4B-GGUF");
  EXPECT_EQ(spelled("Qwen/Qwen3-4B-GGUF:Q8_0"), "hf:Qwen/Qwen3-4B-GGUF:Q8_0");
  EXPECT_EQ(spelled("maker/model-gguf@v1:sub/m.gguf"), "hf:maker/model-gguf@v1:sub/m.gguf");
  EXPECT_EQ(spelled("ollama:maker/model-gguf"), "ollama:maker/model-gguf");
  EXPECT_EQ(spelled("model-gguf"), "model-gguf");
  EXPECT_EQ(spelled("gguf-maker/model"), "gguf-maker/model");
  EXPECT_FALSE(parse_name("../x-gguf").ok());
  EXPECT_FALSE(parse_name("a/x-gguf/b").ok());
}

TEST(Name, ThatLeadsElsewhereIsRefused) {
  for (const char* text : {"",
                           ":",
                           "..",
                           "../x",
                           "a/../b",
                           "a..b",
                           ".hidden",
                           "-x",
                           "a b",
                           "hf:",
                           "hf:one",
                           "hf:a/b/c",
                           "hf:../b",
                           "hf:a/..",
                           "hf:a/b:../x.gguf",
                           "hf:a/b:/etc/passwd",
                           "hf:a/b:x/../../y",
                           "hf:a/b:",
                           "hf:a/b@..:x",
                           "hf:a/b@v/../..",
                           "hf:a/b@/v",
                           "hf:a/b@v//w",
                           "hf:a/b@v+w",
                           "ollama:a/b/c",
                           "ollama:a:b/../c",
                           "ollama:..:x",
                           "x:..",
                           "x:a/b",
                           "file:///etc/passwd",
                           "ftp://h/x.gguf",
                           "https://h/x",
                           "https://h/..gguf/",
                           "https://u:p@h/x.gguf",
                           "https:///x.gguf",
                           "evil.example/a/b",
                           "a/b/c",
                           "a\nb",
                           "hf:a/b:x\\y"}) {
    EXPECT_FALSE(parse_name(text).ok()) << text << " is taken for " << spelled(text);
  }
  EXPECT_FALSE(parse_name(std::string(200, 'a')).ok());
}

TEST(Name, HasAManifestOfItsOwn) {
  for (const char* text : {"qwen3:1.7b", "me/mine", "hf:o/r", "hf:o/r:Q4_K_M", "hf:o/r@v1:sub/m.gguf",
                           "hf:o/r@refs/pr/1:Q8_0", "ollama:llama3.2"}) {
    const auto name = must(parse_name(text), text);
    const auto back = must(name_of_manifest(manifest_path(name), ""), text);
    EXPECT_EQ(back, name) << text;
  }
  EXPECT_EQ(manifest_path(*parse_name("mine")), "local/_/mine/latest.json");
  EXPECT_EQ(manifest_path(*parse_name("hf:o/r")), "hf/o/r/main/-.json");
  const auto url = parse_name("https://example.com/b.gguf");
  EXPECT_EQ(*name_of_manifest(manifest_path(*url), "https://example.com/b.gguf"), *url);
  EXPECT_FALSE(name_of_manifest(manifest_path(*url), "https://example.com/other.gguf").ok());
  EXPECT_FALSE(name_of_manifest("local/_/mine", "").ok());
  for (const char* scheme : {"hf", "ollama"}) EXPECT_FALSE(parse_name(scheme).ok()) << scheme;
  EXPECT_FALSE(name_of_manifest("elsewhere/_/mine/latest.json", "").ok());
}

TEST(NameTable, StandsForNamesOfHuggingFaceEachOnce) {
  for (const ShortName& row : short_names()) {
    const auto name = must(parse_name(std::string(row.model) + ":" + std::string(row.tag)), row.model);
    EXPECT_EQ(name.kind, NameKind::kLocal);
    const ModelName source = source_of(name);
    EXPECT_EQ(to_string(source), row.stands_for);
    EXPECT_EQ(source.kind, NameKind::kHuggingFace);
    EXPECT_FALSE(source.tag.empty()) << row.stands_for << " names no quantization";
  }
}

TEST(NameTable, LeavesOtherNamesToOllama) {
  EXPECT_EQ(to_string(source_of(*parse_name("no-such-model:7b"))), "ollama:no-such-model:7b");
  EXPECT_EQ(to_string(source_of(*parse_name("me/mine"))), "ollama:me/mine");
  EXPECT_EQ(to_string(source_of(*parse_name("hf:o/r:Q8_0"))), "hf:o/r:Q8_0");
}

}  // namespace
}  // namespace realizar::hub
