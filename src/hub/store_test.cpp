#include "hub/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "hub/hash.h"
#include "hub/library.h"
#include "hub/partial_file.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(store_.prepare().ok()); }

  // A complete file in the store.
  StoredFile blob(FileRole role, const std::string& name, const std::string& text) const {
    const std::string sha256 = sha256_text(text);
    write_text(store_.blob_path(sha256), text);
    return {role, name, sha256, text.size()};
  }
  void put(const std::string& name, std::vector<StoredFile> files) const {
    const Manifest manifest{*parse_name(name), "hf:o/r", "", "2026-11-24T00:00:00Z", std::move(files)};
    must(store_.put(manifest));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> notes, names;
    for (const StoredModel& model : store_.list(notes)) names.push_back(to_string(model.manifest.name));
    return names;
  }
  size_t n_files(const char* folder) const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(root_ / folder), fs::directory_iterator()));
  }

  TempFolder root_;
  Store store_{root_};
};

TEST_F(StoreTest, GivesTheFileThatALoaderOpens) {
  put("mine", {blob(FileRole::kModel, "m.gguf", "GGUF...")});
  const auto model = must(store_.find(*parse_name("mine")));
  EXPECT_EQ(model.path.filename(), "m.gguf");
  EXPECT_EQ(content_of(model.path), "GGUF...");
}

TEST_F(StoreTest, GivesAFolderWhereThereIsNoGgufFile) {
  put("hf:o/r", {blob(FileRole::kFile, "config.json", "{}"), blob(FileRole::kModel, "model.safetensors", "x"),
                 blob(FileRole::kFile, "1_Pooling/config.json", "[]")});
  const auto model = must(store_.find(*parse_name("hf:o/r")));
  EXPECT_EQ(content_of(model.path / "config.json"), "{}");
  EXPECT_EQ(content_of(model.path / "1_Pooling/config.json"), "[]");
}

TEST_F(StoreTest, KeepsAFileOnceForAllNames) {
  put("a", {blob(FileRole::kModel, "m.gguf", "same")});
  ASSERT_TRUE(store_.copy(*parse_name("a"), *parse_name("me/b:v2")).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "me/b:v2"}));
  EXPECT_EQ(n_files("blobs"), 1u);
  const auto removed = must(store_.remove(*parse_name("a")));
  EXPECT_EQ(removed.n_bytes, 0u);
  EXPECT_TRUE(store_.find(*parse_name("me/b:v2")).ok());
  EXPECT_EQ(store_.remove(*parse_name("me/b:v2"))->n_bytes, 4u);
  EXPECT_EQ(n_files("blobs"), 0u);
  EXPECT_EQ(n_files("views"), 0u);
  EXPECT_EQ(n_files("manifests"), 0u);
}

TEST_F(StoreTest, CopiesToItsOwnNamesAlone) {
  put("a", {blob(FileRole::kModel, "m.gguf", "same")});
  EXPECT_FALSE(store_.copy(*parse_name("a"), *parse_name("hf:o/r")).ok());
  EXPECT_EQ(store_.copy(*parse_name("none"), *parse_name("b")).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, SaysThatAFileIsGone) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  fs::remove(store_.blob_path(sha256_text("text")));
  const auto model = store_.find(*parse_name("a"));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().subject, "blob");
  std::vector<std::string> notes;
  EXPECT_TRUE(store_.list(notes).empty());
  EXPECT_EQ(notes.size(), 1u);
}

TEST_F(StoreTest, LeavesOutADamagedManifestAndKeepsItsFiles) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  write_text(root_ / "manifests/local/_/broken/latest.json", "{");
  std::vector<std::string> notes;
  EXPECT_EQ(store_.list(notes).size(), 1u);
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_EQ(store_.prune()->notes.size(), 1u);
  EXPECT_TRUE(store_.remove(*parse_name("broken")).ok());
  EXPECT_TRUE(store_.prune()->notes.empty());
  EXPECT_TRUE(store_.find(*parse_name("a")).ok());
}

TEST_F(StoreTest, ADamagedManifestKeepsWhatItSeemsToNameAndNothingElse) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  put("b", {blob(FileRole::kModel, "m.gguf", "other text")});
  const StoredFile named = blob(FileRole::kModel, "m.gguf", "named"), unnamed = blob(FileRole::kModel, "m.gguf", "not");
  write_text(root_ / "manifests/local/_/broken/latest.json", R"({"files": [{"sha256": ")" + named.sha256 + "\", \"si");
  const auto removed = must(store_.remove(*parse_name("b")));
  EXPECT_FALSE(removed.are_busy);
  EXPECT_EQ(removed.notes.size(), 1u);
  EXPECT_EQ(removed.n_bytes, 10u);
  const auto pruned = must(store_.prune());
  EXPECT_EQ(pruned.notes.size(), 1u);
  EXPECT_EQ(pruned.n_bytes, unnamed.n_bytes);
  EXPECT_TRUE(store_.has_blob(named.sha256, named.n_bytes));
  EXPECT_TRUE(store_.find(*parse_name("a")).ok());
}

TEST_F(StoreTest, WhereAManifestCannotBeReadAllFilesStay) {
  blob(FileRole::kModel, "m.gguf", "text");
  write_text(store_.partial_folder() / "sha256-x", "part");
  fs::create_directories(root_ / "manifests/local/_/large");
  const fs::path large = root_ / "manifests/local/_/large/latest.json";
  write_text(large, "");
  fs::resize_file(large, kMaxManifestBytes + 1);
  const auto pruned = must(store_.prune());
  EXPECT_EQ(pruned.notes.size(), 1u);
  EXPECT_EQ(n_files("blobs"), 1u);
  EXPECT_EQ(n_files("partial"), 0u);
}

TEST_F(StoreTest, NeverFollowsALinkOutOfItself) {
  const fs::path outside = root_.string() + "-outside";
  for (const std::string folder : {"blobs", "manifests", "views", "partial", "manifests/local"}) {
    put("a", {blob(FileRole::kModel, "m.gguf", "text")});
    fs::remove_all(outside);
    fs::create_directories(outside.parent_path());
    fs::rename(root_ / folder, outside);
    write_text(outside / "mine/file", "theirs");
    write_text(outside / ("sha256-" + sha256_text("x")), "x");
    fs::create_symlink(outside, root_ / folder);
    const auto n_outside = [&] {
      return std::distance(fs::recursive_directory_iterator(outside), fs::recursive_directory_iterator());
    };
    const auto n_before = n_outside();
    std::vector<std::string> notes;
    EXPECT_TRUE(store_.list(notes).empty()) << folder;
    EXPECT_NE(notes.size(), 0u) << folder;
    for (const std::string& note : notes) EXPECT_NE(note.find("is a symbolic link"), std::string::npos) << note;
    const auto expect_refused = [&](const Error& error) {
      EXPECT_NE(error.message.find((root_ / folder).string() + " is a symbolic link"), std::string::npos)
          << error.message;
    };
    expect_refused(store_.find(*parse_name("a")).error());
    expect_refused(store_.remove(*parse_name("a")).error());
    expect_refused(store_.put({*parse_name("b"), "hf:o/r", "", "", {blob(FileRole::kModel, "n.gguf", "new")}}).error());
    if (folder != "manifests/local") {
      expect_refused(store_.prune().error());
      expect_refused(store_.prepare().error());
    }
    EXPECT_EQ(n_outside(), n_before + (folder == "blobs" ? 1 : 0)) << folder << ": but for what this test wrote";
    fs::remove(root_ / folder);
    fs::rename(outside, root_ / folder);
  }
}

TEST_F(StoreTest, TakesNeitherABlobNorAManifestThatIsALink) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  const StoredFile file = blob(FileRole::kModel, "m.gguf", "text");
  const fs::path place = store_.blob_path(file.sha256), outside = root_ / "elsewhere";
  fs::rename(place, outside);
  fs::create_symlink(outside, place);
  EXPECT_EQ(store_.find(*parse_name("a")).error().subject, "blob");
  EXPECT_FALSE(store_.read_blob(file, 100).ok());
  fs::remove(place);
  fs::rename(outside, place);
  const fs::path manifest = root_ / "manifests/local/_/a/latest.json";
  fs::rename(manifest, outside);
  fs::create_symlink(outside, manifest);
  EXPECT_FALSE(store_.find(*parse_name("a")).ok());
  EXPECT_FALSE(store_.put({*parse_name("a"), "hf:o/r", "", "", {file}}).ok());
  EXPECT_EQ(content_of(outside).find("\"pulled\": \"\""), std::string::npos);
  EXPECT_TRUE(store_.prune().ok());
}

TEST_F(StoreTest, ALinkOfAViewThatLeadsElsewhereIsReplaced) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  const fs::path link = store_.find(*parse_name("a"))->path;
  write_text(root_ / "elsewhere", "another");
  fs::remove(link);
  fs::create_symlink(root_ / "elsewhere", link);
  const auto model = must(store_.find(*parse_name("a")));
  EXPECT_EQ(content_of(model.path), "text");
}

TEST_F(StoreTest, PrunesWhatNothingNames) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  blob(FileRole::kModel, "other.gguf", "unused");
  write_text(store_.partial_folder() / "sha256-x", "part");
  const auto removed = must(store_.prune());
  EXPECT_GE(removed.n_bytes, 6u);
  EXPECT_EQ(n_files("blobs"), 1u);
  EXPECT_EQ(n_files("partial"), 0u);
  EXPECT_TRUE(store_.find(*parse_name("a")).ok());
}

TEST_F(StoreTest, RemovesNoFileWhileOthersAddSome) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  {
    const auto lock = must(store_.lock_shared());
    EXPECT_TRUE(store_.prune()->are_busy);
    EXPECT_TRUE(store_.remove(*parse_name("a"))->are_busy);
    EXPECT_EQ(n_files("blobs"), 1u);
    EXPECT_TRUE(names().empty());
  }
  EXPECT_EQ(store_.prune()->n_bytes, 4u);
}

TEST_F(StoreTest, ThatIsNotThereIsEmpty) {
  const Store none(root_ / "none");
  std::vector<std::string> notes;
  EXPECT_TRUE(none.list(notes).empty());
  EXPECT_EQ(none.find(*parse_name("a")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.remove(*parse_name("a")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.prune()->n_bytes, 0u);
  EXPECT_FALSE(fs::exists(none.root()));
}

TEST_F(StoreTest, MayBeMoved) {
  put("a", {blob(FileRole::kModel, "m.gguf", "text")});
  const fs::path moved = root_.string() + "-moved";
  fs::rename(root_, moved);
  const auto model = must(Store(moved).find(*parse_name("a")));
  EXPECT_EQ(content_of(model.path), "text");
  fs::rename(moved, root_);
}

class PartialFileTest : public StoreTest {
 protected:
  std::optional<PartialFile> open() const {
    return must(PartialFile::open(
        store_.partial_folder(), "key", [] { return Status(); }, [] { return false; }));
  }
  static constexpr uint64_t kLength = (9u << 20) + 3;
};

TEST_F(PartialFileTest, GoesOnWhereItWasLeft) {
  const std::string piece(3u << 20, 'x');
  {
    auto file = open();
    ASSERT_TRUE(file->begin(kLength, "etag").ok());
    EXPECT_FALSE(file->was_resumed());
    EXPECT_EQ(file->pieces().size(), 3u);
    ASSERT_TRUE(file->write(1, piece).ok());
  }
  auto file = open();
  ASSERT_TRUE(file->begin(kLength, "etag").ok());
  EXPECT_TRUE(file->was_resumed());
  EXPECT_EQ(file->n_done(), piece.size());
  std::string read(piece.size(), ' ');
  ASSERT_TRUE(file->read(file->pieces()[1]->begin, std::as_writable_bytes(std::span(read))).ok());
  EXPECT_EQ(read, piece);
}

TEST_F(PartialFileTest, BeginsAnewForAnotherFile) {
  for (const auto& [n_bytes, validator] : {std::pair(kLength + 1, "etag"), std::pair(kLength, "other")}) {
    {
      auto file = open();
      ASSERT_TRUE(file->begin(kLength, "etag").ok());
      ASSERT_TRUE(file->write(0, std::string(4u << 20, 'x')).ok());
    }
    auto file = open();
    ASSERT_TRUE(file->begin(n_bytes, validator).ok());
    EXPECT_FALSE(file->was_resumed());
    EXPECT_EQ(file->n_done(), 0u);
    file->discard();
  }
}

TEST_F(PartialFileTest, BelievesNoJournalThatCannotBe) {
  {
    auto file = open();
    ASSERT_TRUE(file->begin(kLength, "etag").ok());
    ASSERT_TRUE(file->write(0, std::string(4u << 20, 'x')).ok());
  }
  std::string journal = content_of(store_.partial_folder() / "key.journal");
  journal[128 + 7] = 1;  // the highest byte of the first piece's count
  write_text(store_.partial_folder() / "key.journal", journal);
  auto file = open();
  ASSERT_TRUE(file->begin(kLength, "etag").ok());
  EXPECT_EQ(file->n_done(), 0u);
}

TEST_F(PartialFileTest, IsOpenOnceAndSaysSo) {
  auto file = open();
  int n_waits = 0;
  const auto on_wait = [&]() -> Status {
    if (++n_waits == 2) return Error{ErrorCode::kCancelled, "enough", ""};
    return {};
  };
  const auto second = PartialFile::open(store_.partial_folder(), "key", on_wait, [] { return false; });
  EXPECT_EQ(second.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(n_waits, 2);
}

TEST_F(PartialFileTest, RefusesWhatTheDiskHasNoRoomFor) {
  auto file = open();
  const Status status = file->begin(uint64_t{1} << 49, "");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().subject, "disk");
}

TEST_F(PartialFileTest, BecomesABlobThatNobodyWritesTo) {
  auto file = open();
  ASSERT_TRUE(file->begin(5, "").ok());
  ASSERT_TRUE(file->write(0, "hello").ok());
  ASSERT_TRUE(file->publish(store_.blob_path(sha256_text("hello"))).ok());
  EXPECT_TRUE(store_.has_blob(sha256_text("hello"), 5));
  struct stat info {};
  ASSERT_EQ(::stat(store_.blob_path(sha256_text("hello")).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0444u);
  EXPECT_EQ(n_files("partial"), 0u);
}

// Two caches as left by their own programs.
class CachesTest : public StoreTest {
 protected:
  void add_to_hugging_face(const std::string& repo, const std::string& file, const std::string& text) const {
    const fs::path folder = root_ / "hf" / ("models--" + repo);
    write_text(folder / "blobs" / sha256_text(text), text);
    write_text(folder / "refs/main", kCommit);
    const fs::path link = folder / "snapshots" / kCommit / file;
    fs::create_directories(link.parent_path());
    fs::create_symlink(folder / "blobs" / sha256_text(text), link);
  }
  void add_to_ollama(const std::string& path, const std::string& model, const std::string& text) const {
    const auto layer = [&](const std::string& type, const std::string& bytes) {
      write_text(root_ / "ollama/blobs" / ("sha256-" + sha256_text(bytes)), bytes);
      return R"({"mediaType":"application/vnd.ollama.image.)" + type + R"(","digest":"sha256:)" + sha256_text(bytes) +
             R"(","size":)" + std::to_string(bytes.size()) + "}";
    };
    write_text(root_ / "ollama/manifests/registry.ollama.ai" / path,
               R"({"schemaVersion":2,"layers":[)" + layer("model", model) + "," + layer("template", text) + "]}");
  }
  static constexpr const char* kCommit = "0123456789012345678901234567890123456789";
  Library library() const { return {store_, {root_ / "hf", {root_ / "none", root_ / "ollama"}}}; }
};

TEST_F(CachesTest, AreUsedInPlace) {
  add_to_hugging_face("Qwen--Qwen3-1.7B-GGUF", "Qwen3-1.7B-Q8_0.gguf", "GGUF hf");
  add_to_ollama("library/llama9/1b", "GGUF ollama", "{{ .Prompt }}");
  const auto short_name = must(library().find(*parse_name("qwen3:1.7b")));
  EXPECT_EQ(content_of(short_name.path), "GGUF hf");
  EXPECT_EQ(short_name.place, Place::kHuggingFaceCache);
  const auto bare = must(library().find(*parse_name("llama9:1b")));
  EXPECT_EQ(content_of(bare.path), "GGUF ollama");
  EXPECT_EQ(read_texts(bare)->chat_template, "{{ .Prompt }}");
  EXPECT_EQ(library().find(*parse_name("ollama:llama9:1b"))->place, Place::kOllamaCache);
  EXPECT_EQ(library().find(*parse_name("llama9:2b")).error().code, ErrorCode::kNotFound);
  std::vector<std::string> notes, names;
  for (const LocalModel& model : library().list(notes)) names.push_back(to_string(model.name));
  EXPECT_EQ(names, (std::vector<std::string>{"hf:Qwen/Qwen3-1.7B-GGUF:Qwen3-1.7B-Q8_0.gguf", "ollama:llama9:1b"}));
}

TEST_F(CachesTest, OfLlamaCppHaveFlatNames) {
  for (const char* file : {"maker_big-00001-of-00002.gguf", "maker_big-00002-of-00002.gguf", "maker_r_x.gguf",
                           "maker_r_s_y.gguf", "org_some-gguf_sub_z.gguf", "org_some-gguf_mmproj-z.gguf",
                           "half-00001-of-00002.gguf", "alone.gguf", ".gguf", "notes.txt"}) {
    write_text(root_ / "llama" / file, "GGUF");
  }
  for (const char* file : {"manifest=maker=r=latest.json", "manifest=maker=r_s=Q8_0.json", "manifest=broken.json"}) {
    write_text(root_ / "llama" / file, "{}");
  }
  const Library library(store_, {"", {}, {}, root_ / "llama"});
  std::vector<std::string> notes, names;
  for (const LocalModel& model : library.list(notes)) names.push_back(to_string(model.name));
  EXPECT_EQ(names, (std::vector<std::string>{"alone", "hf:maker/r:x.gguf", "hf:maker/r_s:y.gguf",
                                             "hf:org/some-gguf:sub_z.gguf", "maker_big-00001-of-00002"}));
  EXPECT_EQ(library.find(*parse_name("maker_big-00001-of-00002"))->n_bytes, 8u);
  EXPECT_EQ(library.find(*parse_name("hf:org/some-gguf"))->path.filename(), "org_some-gguf_sub_z.gguf");
  EXPECT_FALSE(library.find(*parse_name("half-00001-of-00002")).ok());
  EXPECT_FALSE(library.find(*parse_name("alone:v2")).ok());
  EXPECT_FALSE(library.find(*parse_name("hf:maker/r@v1")).ok());
}

TEST_F(CachesTest, AreBesideTheBundledModelWhoseNameTheStoreMayTake) {
  write_text(root_ / "tiny.gguf", "GGUF bundled");
  add_to_ollama("library/realizar-tiny/latest", "GGUF ollama", "");
  const Library library(store_, {"", {root_ / "ollama"}}, root_ / "tiny.gguf");
  const ModelName name = *parse_name(kBundledModel);
  const auto bundled = must(library.find(name));
  EXPECT_EQ(bundled.place, Place::kBundled);
  EXPECT_EQ(content_of(bundled.path), "GGUF bundled");
  std::vector<std::string> notes;
  EXPECT_EQ(library.list(notes).back().place, Place::kBundled);
  put("realizar-tiny", {blob(FileRole::kModel, "m.gguf", "own")});
  EXPECT_EQ(library.find(name)->place, Place::kStore);
  for (const LocalModel& model : library.list(notes)) EXPECT_NE(model.place, Place::kBundled);
  EXPECT_EQ(Library(store_, {}, root_ / "none").find(*parse_name("ollama:realizar-tiny")).ok(), false);
}

TEST_F(CachesTest, AreNotUsedWhereAFileIsNotWhole) {
  add_to_hugging_face("o--r", "m-Q8_0-00001-of-00002.gguf", "GGUF 1");
  EXPECT_FALSE(library().find(*parse_name("hf:o/r")).ok());
  add_to_hugging_face("o--r", "m-Q8_0-00002-of-00002.gguf", "GGUF 2");
  EXPECT_TRUE(library().find(*parse_name("hf:o/r:Q8_0")).ok());
  fs::remove(root_ / "hf/models--o--r/blobs" / sha256_text("GGUF 2"));
  EXPECT_FALSE(library().find(*parse_name("hf:o/r")).ok());
  add_to_ollama("library/llama9/1b", "GGUF ollama", "t");
  write_text(root_ / "ollama/blobs" / ("sha256-" + sha256_text("GGUF ollama")), "GGUF oll");
  EXPECT_FALSE(library().find(*parse_name("ollama:llama9:1b")).ok());
}

TEST_F(CachesTest, ComeAfterTheStore) {
  add_to_ollama("library/llama9/1b", "GGUF ollama", "t");
  put("llama9:1b", {blob(FileRole::kModel, "m.gguf", "GGUF own")});
  EXPECT_EQ(library().find(*parse_name("llama9:1b"))->place, Place::kStore);
}

}  // namespace
}  // namespace realizar::hub
