#include "hub/user_library.h"

#include <dlfcn.h>

#include "hub/user_folders.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

// The library's, where this code is in one, then the program's.
std::vector<fs::path> folders_of_this_code() {
  std::vector<fs::path> folders;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&bundled_file), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = info.dli_fname;
    if (file.has_parent_path()) folders.push_back(file.parent_path());
  }
  std::error_code error;
  folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  return folders;
}

}  // namespace

Library user_library(const fs::path& store) {
  const fs::path root = store.empty() ? data_folder().value_or("realizar") / "models" : store;
  return {Store(root), model_caches(), bundled_file()};
}

fs::path bundled_file() {
  const fs::path file = "models/realizar-tiny/realizar-tiny-Q8_0.gguf";
  for (const fs::path& folder : folders_of_this_code()) {
    // bin/ and lib/ of an install tree have share/realizar beside them; those of build/<preset> lie three levels below
    // the source.
    for (const fs::path& candidate : {folder / "../share/realizar" / file, folder / "../../.." / file}) {
      std::error_code error;
      if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error);
    }
  }
  return {};
}

}  // namespace realizar::hub
