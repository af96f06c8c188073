// Any bytes as the list of a repository's files: an error, or files within a folder, some of which form a model or none
// do. The same bytes as a commit, a header Link and the answer to a search, whose names can be typed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hub/hf_hub.h"

using namespace realizar::hub;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_hf_revision(text, "fuzz"));
  static_cast<void>(next_page(text));
  if (const auto repos = parse_hf_search(text, "fuzz"); repos.ok()) {
    for (const FoundRepo& repo : *repos) {
      const auto again = parse_name(to_string(repo.name));
      if (!again.ok() || *again != repo.name || !repo.name.tag.empty()) std::abort();
    }
  }
  const auto files = parse_hf_tree(text, "fuzz");
  if (!files.ok()) return 0;
  for (const RepoFile& file : *files) {
    if (!is_safe_file(file.path) || !is_hex_digest(file.digest.hex, file.digest.kind)) std::abort();
  }
  for (const char* what : {"", "Q4_K_M", "m.gguf"}) {
    const auto chosen = choose_files(*files, what, "fuzz");
    if (chosen.ok() && chosen->empty()) std::abort();
  }
  return 0;
}
