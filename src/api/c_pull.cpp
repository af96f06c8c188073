// The C interface: downloads of models.
#include "api/c_support.h"
#include "base/try.h"
#include "realizar/models.h"

using namespace realizar;
using namespace realizar::c;

namespace {

PullOptions to_options(const rz_pull_options& given) {
  const auto text = [](const char* from) { return from == nullptr ? std::string() : std::string(from); };
  PullOptions options;
  options.models_store = text(given.models_store);
  options.file = text(given.file);
  options.only_if_missing = given.only_if_missing != 0;
  options.mirror = text(given.mirror);
  options.token = text(given.token);
  options.ca_file = text(given.ca_file);
  if (given.on_progress != nullptr) {
    options.progress = [on_progress = given.on_progress, user = given.on_progress_user](
                           const std::string& file, uint64_t done_bytes, uint64_t total_bytes) {
      return on_progress(file.c_str(), done_bytes, total_bytes, user) != 0;
    };
  }
  return options;
}

}  // namespace

int64_t rz_pull(const char* name, const rz_pull_options* options, char* full_name, size_t capacity) {
  return counted([&]() -> Result<int64_t> {
    if (name == nullptr) return null_argument("name");
    RZ_TRY(const rz_pull_options given, read_struct(options));
    RZ_TRY(const std::string pulled, pull_model(name, to_options(given)));
    return copy_text(pulled, full_name, capacity);
  });
}
