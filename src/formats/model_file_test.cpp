#include "formats/model_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_reader.h"
#include "formats/gguf_writer.h"
#include "formats/safetensors_reader.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

GgufWriter small_model() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_u32("general.alignment", 32);
  writer.add_bool("flag", true);
  writer.add_f32("eps", 0.5f);
  writer.add_strings("tokens", {"a", "", "ccc"});
  writer.add_i32s("types", {1, -2});
  writer.add_tensor("first", TypeId::kF32, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  writer.add_tensor("second", TypeId::kQ8_0, {1, 64}, std::vector<float>(64, 1.0f));
  return writer;
}

std::string error_of(std::span<const std::byte> bytes) {
  const auto file = parse_gguf(bytes, "m.gguf");
  return file.ok() ? "" : to_string(file.error().code) + std::string(": ") + file.error().message;
}

template <class T>
void poke(std::vector<std::byte>& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

size_t find(const std::vector<std::byte>& bytes, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text);
}

TEST(Gguf, ReadsWhatWasWritten) {
  const auto bytes = small_model().bytes();
  const auto file = must(parse_gguf(bytes, "m.gguf"));
  EXPECT_EQ(*file.metadata.get_string("general.architecture").value(), "llama");
  EXPECT_EQ(*file.metadata.get_bool("flag").value(), true);
  EXPECT_EQ(*file.metadata.get_double("eps").value(), 0.5);
  EXPECT_EQ(*file.metadata.get_strings("tokens").value(), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(*file.metadata.get_ints("types").value(), (std::vector<int64_t>{1, -2}));
  EXPECT_FALSE(file.metadata.get_int("absent").value().has_value());
  EXPECT_EQ(file.metadata.get_int("flag").error().code, ErrorCode::kFormatError);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].shape, (std::vector<uint64_t>{2, 3}));
  float value = 0;
  std::memcpy(&value, file.tensors[0].data.data() + 20, 4);
  EXPECT_EQ(value, 6.0f);
  EXPECT_EQ(file.tensors[1].data.size(), 68u);
}

TEST(Gguf, ATensorIsWrittenPieceByPiece) {
  constexpr uint64_t kRows = 700'001;  // 2.8 MB: some pieces and a rest
  GgufWriter writer;
  writer.add_tensor("before", TypeId::kF32, {1}, std::vector<float>{1});
  writer.add_tensor("long", TypeId::kF32, {kRows, 1}, [](uint64_t offset, std::span<std::byte> out) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>((offset + i) % 251);
  });
  const auto bytes = writer.bytes();
  const auto file = must(parse_gguf(bytes, "m.gguf"));
  const auto data = file.tensors[1].data;
  ASSERT_EQ(data.size(), kRows * 4);
  for (size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], static_cast<std::byte>(i % 251)) << i;
}

TEST(Gguf, EveryTruncationIsAnError) {
  const auto bytes = small_model().bytes();
  const size_t end = find(bytes, "second") + 6 + 4 + 16 + 4 + 8;
  for (size_t n = 0; n < end; ++n) EXPECT_NE(error_of(std::span(bytes).first(n)), "") << n;
}

struct Damage {
  const char* name;
  std::function<void(std::vector<std::byte>&)> apply;
  const char* expected;  // in the message
};

TEST(Gguf, AKeyOrTensorThatOccursTwiceIsRefused) {
  GgufWriter keys;
  keys.add_bool("k", true);
  keys.add_bool("k", false);
  EXPECT_NE(error_of(keys.bytes()).find("metadata 'k'"), std::string::npos);
}

TEST(Gguf, AFileThatWasCutOffSaysHowMuchOfItIsThere) {
  auto whole = small_model().bytes();
  const auto file = must(parse_gguf(whole, "m.gguf"));
  const auto last = file.tensors.back().data;
  whole.resize(static_cast<size_t>(last.data() + last.size() - whole.data()));  // the padding after it is optional
  for (size_t n_missing : {1, 32, 64}) {
    auto bytes = whole;
    bytes.resize(whole.size() - n_missing);
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find("m.gguf: the file is cut off: "), std::string::npos) << error;
    EXPECT_NE(error.find(" of " + std::to_string(whole.size()) + " bytes; download it again"), std::string::npos)
        << error;
  }
  for (const size_t n_bytes : {10, 30, 200}) {
    auto bytes = whole;
    bytes.resize(n_bytes);
    EXPECT_NE(error_of(bytes).find("download it again"), std::string::npos) << error_of(bytes);
  }
}

TEST(Gguf, AFileThatEndsAnywhereBeforeItsTensorsSaysSo) {
  const auto whole = small_model().bytes();
  const size_t n_metadata = find(whole, "first") - 8;
  for (size_t n_bytes = 4; n_bytes < n_metadata; ++n_bytes) {
    auto bytes = whole;
    bytes.resize(n_bytes);
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find("m.gguf: the file is cut off or damaged: it has " + std::to_string(n_bytes) + " bytes, and "),
              std::string::npos)
        << error;
    EXPECT_TRUE(error.ends_with("; download it again")) << error;
  }
}

TEST(Gguf, AFileWithoutTensorsNeedsNoPadding) {
  std::vector<std::byte> bytes(24);  // magic, version, no tensors, no metadata; the data would begin at byte 32
  std::memcpy(bytes.data(), "GGUF", 4);
  poke<uint32_t>(bytes, 4, 3);
  must(parse_gguf(bytes, "m.gguf"));
}

TEST(Gguf, DamageIsNamed) {
  const auto shape_of_first = [](const std::vector<std::byte>& b) { return find(b, "first") + 5 + 4; };
  const Damage damages[] = {
      {"magic", [](auto& b) { b[0] = std::byte{'X'}; }, "magic at byte 0"},
      {"version 1", [](auto& b) { poke<uint32_t>(b, 4, 1); }, "Unsupported: m.gguf: version at byte 4"},
      {"big-endian", [](auto& b) { poke<uint32_t>(b, 4, 0x03000000); }, "big-endian"},
      {"2^60 tensors", [](auto& b) { poke<uint64_t>(b, 8, uint64_t{1} << 60); }, "tensor_count at byte 8"},
      {"2^60 keys", [](auto& b) { poke<uint64_t>(b, 16, uint64_t{1} << 60); }, "metadata_kv_count at byte 16"},
      {"4 GB key", [](auto& b) { poke<uint64_t>(b, 24, uint64_t{1} << 32); }, "key of metadata entry 0"},
      {"value type", [](auto& b) { poke<uint32_t>(b, 24 + 8 + 20, 77); },
       "expected a value type of 0 to 12, actual 77"},
      {"bool of 2", [](auto& b) { poke<uint8_t>(b, find(b, "flag") + 8, 2); }, "expected a bool, 0 or 1, actual 2"},
      {"nested array", [](auto& b) { poke<uint32_t>(b, find(b, "tokens") + 10, 9); }, "array of arrays"},
      {"huge array", [](auto& b) { poke<uint64_t>(b, find(b, "types") + 13, uint64_t{1} << 61); }, "metadata 'types'"},
      {"alignment 0", [](auto& b) { poke<uint32_t>(b, find(b, "alignment") + 13, 0); }, "power of two, actual 0"},
      {"alignment 48", [](auto& b) { poke<uint32_t>(b, find(b, "alignment") + 13, 48); }, "power of two, actual 48"},
      {"overflow", [&](auto& b) { poke<uint64_t>(b, shape_of_first(b), uint64_t{1} << 63); }, "less than 2^63 bytes"},
      {"too large", [&](auto& b) { poke<uint64_t>(b, shape_of_first(b), 1u << 20); }, "within the"},
      {"n_dims", [&](auto& b) { poke<uint32_t>(b, shape_of_first(b) - 4, 9); }, "expected 1 to 4, actual 9"},
      {"row of a block type", [](auto& b) { poke<uint64_t>(b, find(b, "second") + 10, 63); },
       "multiple of 32 elements"},
      {"unsupported type", [&](auto& b) { poke<uint32_t>(b, shape_of_first(b) + 16, 5); },
       "Unsupported: m.gguf: tensor 'first': type at byte"},
      {"misaligned", [&](auto& b) { poke<uint64_t>(b, shape_of_first(b) + 20, 4); }, "expected a multiple of 32"},
      {"beyond the end", [&](auto& b) { poke<uint64_t>(b, shape_of_first(b) + 20, 1u << 20); }, "within the"},
      {"overlap", [](auto& b) { poke<uint64_t>(b, find(b, "second") + 10 + 16 + 4, 0); }, "an overlap"},
  };
  for (const Damage& damage : damages) {
    auto bytes = small_model().bytes();
    damage.apply(bytes);
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find(damage.expected), std::string::npos) << damage.name << ": " << error;
  }
}

class Folder : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view content) const { root_.put(name, content); }

  static std::string safetensors(const std::string& header, size_t n_data) {
    const uint64_t n = header.size();
    return std::string(reinterpret_cast<const char*>(&n), 8) + header + std::string(n_data, '\x01');
  }
  std::string open_error() const {
    const auto file = ModelFile::open(root_);
    return file.ok() ? "" : file.error().message;
  }
  TempFolder root_;
};

constexpr const char* kTwoTensors =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]},)"
    R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

TEST_F(Folder, OpensAFolderWithItsSideFiles) {
  put("config.json", R"({"hidden_size":64,"rope_scaling":{"factor":8.0,"type":null},"list":[1,2],"mixed":[1,"x"]})");
  put("model.safetensors", safetensors(kTwoTensors, 12));
  put("tokenizer_config.json", R"({"chat_template":[{"name":"default","template":"T"}]})");
  const auto file = must(ModelFile::open(root_));
  EXPECT_EQ(file.format(), FileFormat::kHuggingFace);
  EXPECT_EQ(*file.metadata().get_int("hidden_size").value(), 64);
  EXPECT_EQ(*file.metadata().get_double("rope_scaling.factor").value(), 8.0);
  EXPECT_FALSE(file.metadata().contains("rope_scaling.type"));
  EXPECT_EQ(*file.metadata().get_ints("list").value(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*file.metadata().get_string("mixed").value(), R"([1,"x"])");
  ASSERT_NE(file.find("b"), nullptr);
  EXPECT_EQ(file.find("b")->shape, (std::vector<uint64_t>{2, 2}));
  EXPECT_EQ(file.side_files().value().chat_templates.at(0).source, "T");
  EXPECT_FALSE(file.side_files().value().tokenizer_json.has_value());
}

TEST_F(Folder, IntegersAbove64BitsAreRead) {
  put("config.json", R"({"max":1000000000000000019884624838656,"list":[1,18446744073709551615]})");
  put("model.safetensors", safetensors(kTwoTensors, 12));
  put("tokenizer_config.json", R"({"model_max_length":1000000000000000019884624838656,"chat_template":"T"})");
  const auto file = must(ModelFile::open(root_));
  EXPECT_EQ(*file.metadata().get_double("max").value(), 1e30);
  EXPECT_EQ(file.metadata().get_int("max").error().code, ErrorCode::kFormatError);
  EXPECT_EQ(file.metadata().get_doubles("list").value()->back(), 18446744073709551615.0);
  EXPECT_EQ(file.side_files().value().chat_templates.at(0).source, "T");
}

TEST_F(Folder, JsonAsPythonAndEditorsWriteIt) {
  const std::string mark = "\xef\xbb\xbf";
  put("config.json", mark + "{\"n\": 256.0,\r\n\"high\": Infinity, \"low\": [-Infinity, 1], \"none\": NaN}\r\n");
  put("model.safetensors", safetensors(kTwoTensors, 12));
  put("tokenizer_config.json", mark + "{\"n\": 1e30}");
  put("generation_config.json", mark + "{\"top_k\": 40.0, \"x\": NaN}");
  put("chat_template.jinja", mark + "T");
  const auto file = must(ModelFile::open(root_));
  EXPECT_EQ(*file.metadata().get_int("n").value(), 256);
  EXPECT_GT(*file.metadata().get_double("high").value(), 1e308);
  EXPECT_LT(file.metadata().get_doubles("low").value()->front(), -1e308);
  EXPECT_FALSE(file.metadata().contains("none"));
  const SideFiles side = file.side_files().value();
  EXPECT_EQ(side.tokenizer_config_json, "{\"n\": 1e30}");
  EXPECT_EQ(side.generation_config_json, "{\"top_k\": 40, \"x\": null}");
  ASSERT_EQ(side.chat_templates.size(), 1u);
  EXPECT_EQ(side.chat_templates[0].source, "T");
}

TEST_F(Folder, DeepConfigIsRefused) {
  put("config.json", R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}");
  EXPECT_NE(open_error().find("at most 32 levels"), std::string::npos) << open_error();
}

TEST_F(Folder, IntegerBuffersAreLeftOutAndOtherIntegersRefused) {
  put("config.json", "{}");
  const std::string header = R"({"h.0.attn.bias":{"dtype":"U8","shape":[1,1,2,2],"data_offsets":[4,8]},)"
                             R"("scale":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                             R"("e.position_ids":{"dtype":"I64","shape":[1,2],"data_offsets":[8,24]}})";
  put("model.safetensors", safetensors(header, 24));
  auto file = must(ModelFile::open(root_));
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "scale");
  EXPECT_EQ(file.tensors()[0].n_elems(), 1u);
  put("model.safetensors", safetensors(header, 25));
  EXPECT_NE(open_error().find("1 bytes after it"), std::string::npos) << open_error();

  put("model.safetensors", safetensors(header, 24));
  const std::string index = "model.safetensors.index.json";
  put(index, R"({"weight_map":{"h.0.attn.bias":"model.safetensors","scale":"model.safetensors",)"
             R"("e.position_ids":"model.safetensors"}})");
  EXPECT_EQ(open_error(), "");
  put(index, R"({"weight_map":{"h.0.attn.bias":"model.safetensors","scale":"model.safetensors"}})");
  EXPECT_EQ(open_error(), "");
}

TEST_F(Folder, QuantizationMayHaveAFileOfItsOwn) {
  put("model.safetensors", safetensors(kTwoTensors, 12));
  put("config.json", "{}");
  put("quant_config.json", R"({"zero_point":true,"q_group_size":64,"w_bit":4,"version":"GEMM"})");
  auto file = must(ModelFile::open(root_));
  EXPECT_EQ(*file.metadata().get_string("quantization_config.quant_method"), "awq");
  EXPECT_EQ(*file.metadata().get_int("quantization_config.bits"), 4);
  EXPECT_EQ(*file.metadata().get_int("quantization_config.group_size"), 64);
  put("quantize_config.json", R"({"bits":5,"sym":true,"modules":["a"]})");
  EXPECT_NE(open_error().find("gptq of 5 bits"), std::string::npos) << open_error();
  put("config.json", R"({"quantization_config":{"quant_method":"nonesuch"}})");
  EXPECT_NE(open_error().find("'nonesuch'"), std::string::npos) << open_error();
}

TEST_F(Folder, EmptyTensorsAreNotAmongTheOthers) {
  put("config.json", "{}");
  put("model.safetensors",
      safetensors(
          R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
          R"("c":{"dtype":"F32","shape":[2,0],"data_offsets":[4,4]}})",
          4));
  const auto file = must(ModelFile::open(root_));
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_NE(file.find("b"), nullptr);
  EXPECT_EQ(file.find("a"), nullptr);
  ASSERT_EQ(file.empty_tensors().size(), 2u);
  EXPECT_EQ(file.empty_tensors()[1].shape, (std::vector<uint64_t>{2, 0}));
}

TEST_F(Folder, DamagedSafeTensorsAreNamed) {
  put("config.json", "{}");
  const std::pair<std::string, const char*> cases[] = {
      {"short", "header length"},
      {safetensors("{", 0), "not valid JSON"},
      {safetensors("[]", 0), "expected a JSON object"},
      {safetensors(kTwoTensors, 11), "model.safetensors: the file is cut off: "},
      {safetensors(kTwoTensors, 12).substr(0, 40), "ends within its header, after 40 bytes; download it again"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 8), "a range within 8 bytes"},
      {safetensors(kTwoTensors, 13), "after it"},
      {safetensors(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8), "element type I64"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}})", 4), "expected 0 bytes"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "expected 12 bytes"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "a range within"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), "expected a start at 0"},
      {safetensors(
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           8),
       "each name once"},
      {safetensors(R"({"a":{"dtype":"F32","shape":[9223372036854775807,4],"data_offsets":[0,8]}})", 8), "2^63"},
  };
  for (const auto& [content, expected] : cases) {
    put("model.safetensors", content);
    EXPECT_NE(open_error().find(expected), std::string::npos) << open_error();
  }
  fs::remove(root_ / "model.safetensors");
  EXPECT_NE(open_error().find("neither model.safetensors"), std::string::npos);
  put("config.json", "{\"a\": nan}");
  EXPECT_NE(open_error().find("not valid JSON"), std::string::npos);
}

// Python's json module writes it, and folders of Mamba 2 contain it.
TEST_F(Folder, AnInfiniteNumberOfTheConfigIsTheLargest) {
  put("model.safetensors", safetensors("{}", 0));
  put("config.json", R"({"limits": [0.0, Infinity], "least": -Infinity, "name": "an \"Infinity\" of {Infinity}"})");
  const auto file = must(ModelFile::open(root_));
  constexpr double kLargest = std::numeric_limits<double>::max();
  EXPECT_EQ(*file.metadata().get_doubles("limits"), (std::vector<double>{0, kLargest}));
  EXPECT_EQ(*file.metadata().get_double("least"), -kLargest);
  EXPECT_EQ(*file.metadata().get_string("name"), "an \"Infinity\" of {Infinity}");
}

TEST_F(Folder, SplitGgufIsFoundFromAnyPart) {
  for (uint32_t no = 0; no < 2; ++no) {
    GgufWriter writer;
    writer.add_u32("split.no", no);
    writer.add_u32("split.count", 2);
    if (no == 0) writer.add_string("general.architecture", "llama");
    writer.add_tensor("t" + std::to_string(no), TypeId::kF32, {1}, std::vector<float>{1.0f});
    ASSERT_TRUE(writer.write(root_ / ("m-0000" + std::to_string(no + 1) + "-of-00002.gguf")).ok());
  }
  for (const char* part : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    const auto file = must(ModelFile::open(root_ / part));
    EXPECT_EQ(file.tensors().size(), 2u);
    EXPECT_TRUE(file.metadata().contains("general.architecture"));
  }
  fs::rename(root_ / "m-00001-of-00002.gguf", root_ / "other.gguf");
  EXPECT_TRUE(fails_with(ModelFile::open(root_ / "other.gguf"), "expected a name ending in"));
  EXPECT_EQ(ModelFile::open(root_ / "m-00002-of-00002.gguf").error().code, ErrorCode::kNotFound);
}

TEST_F(Folder, PartsOfTwoSetsAreNoModel) {
  const std::string parts[] = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"};
  const auto write = [&](uint32_t no, const std::optional<std::string>& set) {
    GgufWriter writer;
    if (set) writer.add_string("split.set_id", *set);
    writer.add_u32("split.no", no);
    writer.add_u32("split.count", 2);
    writer.add_tensor("t" + std::to_string(no), TypeId::kF32, {1}, std::vector<float>{1.0f});
    ASSERT_TRUE(writer.write(root_ / parts[no]).ok());
  };
  const std::optional<std::string> sets[] = {std::nullopt, "one", "two\n"};
  for (const auto& first : sets) {
    for (const auto& second : sets) {
      write(0, first);
      write(1, second);
      for (const std::string& part : parts) {
        const auto file = ModelFile::open(root_ / part);
        EXPECT_EQ(file.ok(), first == second);
        if (first == second) continue;
        EXPECT_NE(file.error().message.find((root_ / parts[1]).string() + ": split.set_id: expected "),
                  std::string::npos)
            << file.error().message;
        EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
      }
    }
  }
}

TEST_F(Folder, SplitKeysMustTellTheTruth) {
  const auto path = root_ / "m-00001-of-00001.gguf";
  const auto error_of_keys = [&](const std::vector<std::pair<std::string, uint32_t>>& keys) {
    GgufWriter writer = small_model();
    for (const auto& [key, value] : keys) writer.add_u32(key, value);
    EXPECT_TRUE(writer.write(path).ok());
    const auto file = ModelFile::open(path);
    return file.ok() ? "" : file.error().message;
  };
  EXPECT_EQ(error_of_keys({}), "");
  EXPECT_EQ(error_of_keys({{"split.no", 0}, {"split.count", 1}, {"split.tensors.count", 2}}), "");
  EXPECT_NE(error_of_keys({{"split.tensors.count", 7}}).find("split.tensors.count: expected 2, actual 7"),
            std::string::npos);
  EXPECT_NE(error_of_keys({{"split.no", 7}}).find("split.no 7 of split.count 1"), std::string::npos);
  EXPECT_NE(error_of_keys({{"split.no", 1}, {"split.count", 0}}).find("split.no 1 of split.count 0"),
            std::string::npos);
  EXPECT_EQ(error_of_keys({{"split.no", 0}, {"split.count", 0}}), "") << "merged by llama-gguf-split";
}

TEST_F(Folder, NoFileOfAModelIsWaitedFor) {
  const auto pipe = [&](const std::string& name) {
    fs::remove(root_ / name);
    ASSERT_EQ(::mkfifo((root_ / name).c_str(), 0600), 0);
  };
  const auto expect_refused = [&](const std::string& name) {
    EXPECT_EQ(open_error(), (root_ / name).string() + " is not a regular file");
  };
  pipe("model.gguf");
  EXPECT_EQ(ModelFile::open(root_ / "model.gguf").error().message,
            (root_ / "model.gguf").string() + " is not a regular file");
  fs::remove(root_ / "model.gguf");
  pipe("config.json");
  expect_refused("config.json");
  fs::remove(root_ / "config.json");
  put("config.json", "{}");
  pipe("model.safetensors");
  expect_refused("model.safetensors");
  pipe("model.safetensors.index.json");
  expect_refused("model.safetensors.index.json");
  fs::remove(root_ / "model.safetensors");
  put("a.safetensors", safetensors(kTwoTensors, 12));
  fs::remove(root_ / "model.safetensors.index.json");
  put("model.safetensors", safetensors(kTwoTensors, 12));
  for (const char* side : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}) {
    pipe(side);
    const auto file = must(ModelFile::open(root_));
    EXPECT_EQ(file.side_files().error().message, (root_ / side).string() + " is not a regular file");
    fs::remove(root_ / side);
  }
}

TEST_F(Folder, AFileThatShrinksWhileItIsReadFailsThatReadingAlone) {
  const auto path = root_ / "m.gguf";
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_tensor("t", TypeId::kF32, {64, 256}, std::vector<float>(64 * 256, 1.0f));
  ASSERT_TRUE(writer.write(path).ok());
  const auto file = must(ModelFile::open(path));
  EXPECT_TRUE(file.check().ok());
  fs::resize_file(path, 4096);
  const auto data = file.tensors()[0].data;
  EXPECT_EQ(data.back(), std::byte{0});
  EXPECT_EQ(file.checked(Result<int>(1)).error().code, ErrorCode::kFormatError);
  EXPECT_TRUE(fails_with(file.check(), "became shorter"));
}

TEST(Gguf, NamesInMessagesAreSpelledOut) {
  const std::string key = std::string("\x1b[2J") + '\0' + "k";
  GgufWriter writer;
  writer.add_u32(key, 1);
  writer.add_u32(key, 2);
  EXPECT_NE(error_of(writer.bytes()).find("metadata '\\x1b[2J\\x00k'"), std::string::npos) << error_of(writer.bytes());
}

bool is_model(const fs::path& path) {
  return path.extension() == ".gguf" || fs::exists(path / "config.json");
}

TEST(SharedModels, EveryOneOpens) {
  size_t n_opened = 0;
  for (const char* folder : {"conformance", "tiny-model"}) {
    const fs::path root = fs::path(RZ_SHARED_DIR) / folder;
    if (!fs::exists(root)) GTEST_SKIP() << root << " is absent";
    for (const auto& entry : fs::directory_iterator(root)) {
      if (!is_model(entry.path())) continue;
      const auto file = must(ModelFile::open(entry.path()), entry.path());
      EXPECT_FALSE(file.tensors().empty()) << entry.path();
      EXPECT_TRUE(file.side_files().ok()) << entry.path();
      ++n_opened;
    }
  }
  EXPECT_GT(n_opened, 0u);
}

}  // namespace
}  // namespace realizar
