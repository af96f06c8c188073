#include "api/forced_text.h"

#include <algorithm>

#include "text/tokenizer/tokenizer.h"

namespace realizar {
namespace {

// The length of the longest proper prefix of `text` that ends `written`.
size_t n_begun(std::string_view written, std::string_view text) {
  size_t n_bytes = text.empty() ? 0 : std::min(written.size(), text.size() - 1);
  while (n_bytes > 0 && !written.ends_with(text.substr(0, n_bytes))) --n_bytes;
  return n_bytes;
}

}  // namespace

void ForcedText::begin(const text::Tokenizer& tokenizer, std::string_view written, std::string_view text) {
  n_accepted_ = 0;
  if (const auto token = tokenizer.find(text)) {
    tokens_ = {*token};
    return;
  }
  text.remove_prefix(n_begun(written, text));
  tokens_ = tokenizer.encode(text, {.add_special = false, .parse_special = true});
}

void ForcedText::allow(std::span<uint64_t> allowed) const {
  std::ranges::fill(allowed, uint64_t{0});
  const auto next = static_cast<size_t>(to_index(tokens_[n_accepted_]));
  if (next / 64 < allowed.size()) allowed[next / 64] = uint64_t{1} << (next % 64);
}

}  // namespace realizar
