#include "formats/hf_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/model_file.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

class PartsFolder : public testing::Test {
 protected:
  void SetUp() override { put("config.json", "{}"); }
  void put(const std::string& name, std::string_view content) const { root_.put(name, content); }
  // A file with tensors of these names, with one number each.
  void put_tensors(const std::string& name, const std::vector<std::string>& tensors, char byte = '\x01') const {
    std::string header = "{";
    for (size_t i = 0; i < tensors.size(); ++i) {
      header += (i > 0 ? ",\"" : "\"") + tensors[i] + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
                std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
    }
    header += "}";
    const uint64_t n = header.size();
    put(name, std::string(reinterpret_cast<const char*>(&n), 8) + header + std::string(4 * tensors.size(), byte));
  }
  void put_index(const std::string& map) const {
    put(kIndex, R"({"metadata":{"total_size":1},"weight_map":)" + map + "}");
  }
  std::string open_error() const {
    const auto file = ModelFile::open(root_);
    return file.ok() ? "" : file.error().message;
  }
  // The names in alphabetical order, separated by spaces, or the error.
  std::string tensors() const {
    const auto file = ModelFile::open(root_);
    if (!file.ok()) return "error: " + file.error().message;
    std::vector<std::string> names;
    for (const TensorInfo& tensor : file->tensors()) names.push_back(tensor.name);
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  }
  std::string notes() const {
    const auto file = ModelFile::open(root_);
    std::string text;
    for (const std::string& note : file->notes()) text += note + "\n";
    return text;
  }
  TempFolder root_;
};

TEST_F(PartsFolder, ReadsWhatThePartsHoldWhateverTheIndexNames) {
  put_tensors("one.safetensors", {"a"});
  put_tensors("two.safetensors", {"b"});
  for (const char* map :
       {R"({"a":"one.safetensors","b":"two.safetensors"})", R"({"a":"./one.safetensors","b":".//two.safetensors"})",
        R"({"a":"two.safetensors","b":"one.safetensors"})", R"({"x":"one.safetensors","b":"two.safetensors"})"}) {
    put_index(map);
    EXPECT_EQ(tensors(), "a b") << map;
  }
}

TEST_F(PartsFolder, NotesTensorsThatNoPartHas) {
  put_tensors("one.safetensors", {"a"});
  put_index(R"({"a":"one.safetensors"})");
  EXPECT_EQ(notes(), "");
  put_index(R"({"a":"one.safetensors","z":"one.safetensors","y":"one.safetensors"})");
  EXPECT_EQ(notes(), "the folder's index names tensors that no part has: y, z\n");
}

TEST_F(PartsFolder, TakesTheTensorThatTheIndexMeansWhereTwoPartsHaveIt) {
  put_tensors("one.safetensors", {"a", "b"}, '\x01');
  put_tensors("two.safetensors", {"a"}, '\x02');
  for (const auto& [file, byte] : {std::pair("one.safetensors", 1), std::pair("two.safetensors", 2)}) {
    put_index(std::string(R"({"b":"one.safetensors","c":"two.safetensors","a":")") + file + "\"}");
    const auto model = must(ModelFile::open(root_));
    EXPECT_EQ(model.find("a")->data.front(), static_cast<std::byte>(byte)) << file;
  }
  put_index(R"({"b":"one.safetensors","c":"two.safetensors"})");
  EXPECT_NE(open_error().find("'a'"), std::string::npos) << open_error();
}

TEST_F(PartsFolder, NamesThePartThatIsMissing) {
  put_tensors("model-00001-of-00002.safetensors", {"a"});
  const std::string missing = "model-00002-of-00002.safetensors is missing";
  EXPECT_NE(open_error().find(missing), std::string::npos) << open_error();
  put_index(R"({"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"})");
  EXPECT_NE(open_error().find(missing + ", which " + kIndex + " names"), std::string::npos) << open_error();
  put_tensors("model.safetensors", {"c"});
  EXPECT_EQ(tensors(), "c");
  EXPECT_NE(notes().find("model.safetensors is read instead"), std::string::npos) << notes();
}

TEST_F(PartsFolder, TakesPartsWithoutAnIndexByTheirNames) {
  put_tensors("model-00001-of-00002.safetensors", {"a"});
  put_tensors("model-00002-of-00002.safetensors", {"b"});
  put_tensors("other.safetensors", {"c"});
  EXPECT_EQ(tensors(), "a b");
  put_tensors("consolidated-00001-of-00001.safetensors", {"d"});
  EXPECT_EQ(tensors(), "a b");
  fs::rename(root_ / "model-00002-of-00002.safetensors", root_ / "MODEL-00002-OF-00002.safetensors");
  EXPECT_EQ(tensors(), "a b");
  put_index(R"({"a":"model-00001-of-00002.safetensors"})");
  EXPECT_EQ(tensors(), "a") << "a part in other letters is no part of an index";
}

TEST_F(PartsFolder, ReadsPartsThatTheIndexLeavesOut) {
  put_tensors("model-00001-of-00002.safetensors", {"a"});
  put_tensors("model-00002-of-00002.safetensors", {"b"});
  put_index(R"({"a":"model-00001-of-00002.safetensors"})");
  EXPECT_EQ(tensors(), "a b");
}

TEST_F(PartsFolder, RefusesAnIndexThatLeavesTheFolderOrNamesNothing) {
  put_tensors("one.safetensors", {"a"});
  for (const char* map : {R"({"a":"../one.safetensors"})", R"({"a":"x/../../one.safetensors"})", R"({"a":"/one"})",
                          R"({"a":"."})", R"({"a":""})", R"({"a":"x/"})", R"({"a":1})", R"({"a":null})"}) {
    put_index(map);
    EXPECT_NE(open_error().find("expected the name of a file in the folder"), std::string::npos) << map << open_error();
  }
  put_index("{}");
  EXPECT_NE(open_error().find("names no tensor"), std::string::npos) << open_error();
  put_index("[]");
  EXPECT_NE(open_error().find("'weight_map'"), std::string::npos) << open_error();
  put_tensors("below/one.safetensors", {"b"});
  put_index(R"({"b":"./below/one.safetensors"})");
  EXPECT_EQ(tensors(), "b");
}

}  // namespace
}  // namespace realizar
