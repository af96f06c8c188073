// Writes the Hugging Face folders of support/hf_families.h, one per family and class, for other programs:
//   make_hf_folders OUT
// Each is OUT/MODEL_CLASS, with config.json and F32 weights, without a tokenizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "support/hf_families.h"
#include "support/hf_folder.h"
#include "support/made_model.h"
#include "support/test_data.h"

namespace {

namespace fs = std::filesystem;
using namespace realizar;

bool write_folder(const test::HfFamilyCase& family, const fs::path& out) {
  const auto original = test::open_conformance(test::source_file("tests/data/conformance"), family.name);
  if (!original.ok()) {
    std::fprintf(stderr, "%s: %s\n", family.name, original.error().message.c_str());
    return false;
  }
  const test::HfFolder folder;
  folder.write(*original, family.config, test::HfFolderForm::kF32, family.prefix, family.has_stacks);
  std::error_code error;
  fs::copy(folder, out / (std::string(family.name) + "_" + test::hf_class_of(family.config)),
           fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
  if (error) std::fprintf(stderr, "%s: %s\n", family.name, error.message().c_str());
  return !error;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_hf_folders OUT\n");
    return 2;
  }
  std::error_code error;
  fs::create_directories(argv[1], error);
  const auto families = realizar::test::hf_families();
  return std::ranges::all_of(families, [&](const auto& family) { return write_folder(family, argv[1]); }) ? 0 : 1;
}
