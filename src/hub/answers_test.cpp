// Answers of hubs and registries, and the store's own manifests.
#include <gtest/gtest.h>

#include <string>

#include "hub/hf_hub.h"
#include "hub/manifest.h"
#include "hub/ollama_manifest.h"

namespace realizar::hub {
namespace {

const std::string kHash(64, 'a'), kGitHash(40, 'b');

std::string tree_of(const std::string& entry) {
  return "[" + entry + "]";
}

TEST(HfTree, HasTheHashOfLargeFilesAndGitsOfSmallOnes) {
  const auto files = parse_hf_tree(
      R"([{"type":"directory","oid":"x","size":0,"path":"sub"},
          {"type":"file","oid":")" +
          kGitHash + R"(","size":12,"path":"config.json"},
          {"type":"file","oid":")" +
          kGitHash + R"(","size":134,"lfs":{"oid":")" + kHash +
          R"(","size":5000000000,"pointerSize":134},"path":"sub/m.gguf","xetHash":"1"}])",
      "tree");
  ASSERT_TRUE(files.ok()) << files.error().message;
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].path, "config.json");
  EXPECT_EQ((*files)[0].digest, (Digest{Digest::Kind::kGit, kGitHash}));
  EXPECT_EQ((*files)[1].n_bytes, 5'000'000'000u);
  EXPECT_EQ((*files)[1].digest, (Digest{Digest::Kind::kSha256, kHash}));
}

TEST(HfTree, RefusesWhatIsNone) {
  const std::string file = R"({"type":"file","path":"m.gguf",)";
  for (const std::string& text :
       {std::string("{}"), std::string("[1]"), std::string(""), std::string("[{\"type\":\"file\"}]"),
        tree_of(file + R"("size":-1,"oid":")" + kGitHash + "\"}"),
        tree_of(file + R"("size":1e300,"oid":")" + kGitHash + "\"}"),
        tree_of(file + R"("size":18446744073709551615,"oid":")" + kGitHash + "\"}"),
        tree_of(file + R"("size":1,"oid":"short"})"), tree_of(file + R"("size":1,"oid":7})"),
        tree_of(file + R"("size":1,"lfs":{"oid":"../../x","size":1}})"), std::string(100'000, '[')}) {
    EXPECT_FALSE(parse_hf_tree(text, "tree").ok()) << text.substr(0, 80);
  }
}

TEST(HfTree, LeavesOutFilesThatLeadElsewhere) {
  for (const char* path : {"../m.gguf", "/m.gguf", "a/../../m.gguf", "a//m.gguf", ".git/config", "a\\\\b.gguf"}) {
    const auto files = parse_hf_tree(
        tree_of(R"({"type":"file","size":1,"oid":")" + kGitHash + R"(","path":")" + path + "\"}"), "tree");
    ASSERT_TRUE(files.ok()) << path;
    EXPECT_TRUE(files->empty()) << path;
  }
}

TEST(HfRevision, IsACommit) {
  EXPECT_EQ(*parse_hf_revision(R"({"sha":")" + kGitHash + "\"}", "x"), kGitHash);
  EXPECT_FALSE(parse_hf_revision(R"({"sha":"../x"})", "x").ok());
  EXPECT_FALSE(parse_hf_revision("{}", "x").ok());
}

TEST(HfPages, AreFollowedByTheirLink) {
  EXPECT_EQ(next_page(R"(<https://h/a?cursor=1>; rel="next")"), "https://h/a?cursor=1");
  EXPECT_EQ(next_page(R"(<https://h/p>; rel="prev", <https://h/n>; rel="next")"), "https://h/n");
  EXPECT_EQ(next_page(R"(<https://h/p>; rel="prev")"), "");
  EXPECT_EQ(next_page(""), "");
  EXPECT_EQ(next_page(">;<"), "");
}

std::string layer(const std::string& type, const std::string& digest, const std::string& size) {
  return R"({"mediaType":"application/vnd.ollama.image.)" + type + R"(","digest":")" + digest + R"(","size":)" + size +
         "}";
}
std::string manifest_of(const std::string& layers) {
  return R"({"schemaVersion":2,"config":{"digest":"sha256:0","size":1},"layers":[)" + layers + "]}";
}

TEST(OllamaManifest, HasLayersByTheirKind) {
  const std::string digest = "sha256:" + kHash;
  const auto layers =
      parse_ollama_manifest(manifest_of(layer("model", digest, "100") + "," + layer("template", digest, "2") + "," +
                                        layer("license", digest, "3") + "," + layer("license", digest, "3") + "," +
                                        layer("something.new", digest, "4")),
                            "m");
  ASSERT_TRUE(layers.ok()) << layers.error().message;
  ASSERT_EQ(layers->size(), 4u);
  EXPECT_EQ((*layers)[0].role, FileRole::kModel);
  EXPECT_EQ(ollama_file_names(*layers, *parse_name("ollama:qwen3:1.7b")),
            (std::vector<std::string>{"qwen3-1.7b.gguf", "template.txt", "license.txt", "license-2.txt"}));
}

TEST(OllamaManifest, RefusesWhatIsNone) {
  const std::string digest = "sha256:" + kHash;
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), manifest_of(""), manifest_of("1"),
        manifest_of(layer("model", "sha256:../../x", "1")), manifest_of(layer("model", "md5:" + kHash, "1")),
        manifest_of(layer("model", digest, "-1")), manifest_of(layer("model", digest, "\"1\"")),
        manifest_of(layer("model", digest, "1") + "," + layer("model", digest, "1")),
        manifest_of(layer("template", digest, "1")), manifest_of(layer("tensor", digest, "1"))}) {
    EXPECT_FALSE(parse_ollama_manifest(text, "m").ok()) << text;
  }
}

TEST(Manifest, IsReadAsItWasWritten) {
  Manifest manifest{*parse_name("mine"),
                    "hf:o/r:Q8_0",
                    kGitHash,
                    "2026-11-24T05:40:00Z",
                    {{FileRole::kModel, "m-00001-of-00002.gguf", kHash, 5},
                     {FileRole::kModel, "m-00002-of-00002.gguf", kHash, 6},
                     {FileRole::kTemplate, "template.txt", kHash, 7}}};
  const auto read = parse_manifest(to_json(manifest), "m");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->source, manifest.source);
  EXPECT_EQ(read->n_bytes(), 18u);
  ASSERT_EQ(read->files.size(), 3u);
  EXPECT_EQ(read->gguf()->name, "m-00001-of-00002.gguf");
  EXPECT_EQ(read->find(FileRole::kTemplate)->n_bytes, 7u);
}

TEST(Manifest, RefusesFilesThatLeadElsewhereAndDoubles) {
  const auto with = [](const std::string& name, const std::string& hash) {
    const std::string file = R"({"role":"model","name":")" + name + R"(","sha256":")" + hash + R"(","size":1})";
    return parse_manifest(R"({"format":1,"source":"","revision":"","pulled":"","files":[)" + file + "," +
                              R"({"role":"model","name":"same","sha256":")" + kHash + R"(","size":1}]})",
                          "m");
  };
  EXPECT_TRUE(with("m.gguf", kHash).ok());
  EXPECT_FALSE(with("../m.gguf", kHash).ok());
  EXPECT_FALSE(with("/m.gguf", kHash).ok());
  EXPECT_FALSE(with("m.gguf", "../x").ok());
  EXPECT_FALSE(with("same", kHash).ok());
  EXPECT_FALSE(parse_manifest(R"({"format":2})", "m").ok());
}

}  // namespace
}  // namespace realizar::hub
