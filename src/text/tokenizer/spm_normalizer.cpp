#include "text/tokenizer/spm_normalizer.h"

#include <utility>

#include "text/tokenizer/gguf_vocab.h"

namespace realizar::text {
namespace {

// Removes spaces at the ends and all but one in a run.
void remove_extra_spaces(std::string& text) {
  size_t n = 0;
  for (const char c : text) {
    if (c == ' ' && (n == 0 || text[n - 1] == ' ')) continue;
    text[n++] = c;
  }
  if (n > 0 && text[n - 1] == ' ') --n;
  text.resize(n);
}

class SpmNormalizer final : public Normalizer {
 public:
  SpmNormalizer(std::unique_ptr<Normalizer> charsmap, SpmWhitespace options)
      : charsmap_(std::move(charsmap)), options_(options) {}

  void apply(std::string& segment, bool at_start) const override {
    if (charsmap_) charsmap_->apply(segment, at_start);
    if (options_.remove_extra) remove_extra_spaces(segment);
    if (segment.empty()) return;
    const std::string_view space = options_.escape ? kMetaspace : " ";
    std::string out;
    out.reserve(segment.size() + segment.size() / 2);
    if (options_.add_prefix && (at_start || options_.prefix_every_segment)) out += space;
    for (const char c : segment) {
      if (c == ' ') {
        out += space;
      } else {
        out += c;
      }
    }
    segment = std::move(out);
  }

 private:
  std::unique_ptr<Normalizer> charsmap_;
  SpmWhitespace options_;
};

}  // namespace

std::unique_ptr<Normalizer> make_spm_normalizer(std::unique_ptr<Normalizer> charsmap, SpmWhitespace options) {
  return std::make_unique<SpmNormalizer>(std::move(charsmap), options);
}

}  // namespace realizar::text
