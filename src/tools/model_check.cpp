#include "tools/model_check.h"

#include <algorithm>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/model.h"

namespace realizar {
namespace {

// By its name alone: a file of a known name may lack the tensor that tells which of the name's families it is of.
bool is_known(const ModelFile& gguf) {
  const auto name = gguf.metadata().get_string("general.architecture");
  return !name.ok() || !*name ||
         std::ranges::find(all_architectures(), **name, &ArchSpec::name) != all_architectures().end();
}

}  // namespace

Status check_model(const ModelFile& file) {
  if (file.format() == FileFormat::kGguf) {
    RZ_TRY(const auto type, file.metadata().get_string("general.type"));
    if ((type && *type != "model") || !is_known(file)) return {};
  }
  RZ_TRY(const ModelConfig config, read_config(file));
  return check_tensors(file, config);
}

}  // namespace realizar
