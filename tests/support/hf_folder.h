// A Hugging Face folder of a GGUF model's weights, with the names, the order of rows and the config.json of
// transformers: written for tests, independently of the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/temp_folder.h"
#include "formats/model_file.h"

namespace realizar::test {

// Some matrices in another type, or the resulting values in F32.
enum class HfFolderForm { kF32, kMxfp4, kMxfp4InF32, kF8, kF8InF32 };

// The first of a config.json's "architectures". Some of these files contain words that are not valid JSON.
std::string hf_class_of(std::string_view config);

class HfFolder : public TempFolder {
 public:
  // `prefix`: before the name of each tensor; `has_stacks`: of experts, if folders may also have them separately.
  void write(const ModelFile& gguf, const std::string& config, HfFolderForm form = HfFolderForm::kF32,
             const std::string& prefix = "", bool has_stacks = false) const;
  // A further tensor.
  void add(const std::string& name, const std::vector<uint64_t>& shape, const std::vector<float>& values) const;

  std::vector<float> logits() const;  // computed by the reference backend
};

}  // namespace realizar::test
