#include "text/spm_normalizer.h"

#include "text/gguf_vocab.h"

namespace realizar::text {
namespace {

class SpmNormalizer final : public Normalizer {
 public:
  explicit SpmNormalizer(SpmWhitespace options) : options_(options) {}

  void apply(std::string& segment, bool at_start) const override {
    if (segment.empty()) return;
    std::string out;
    out.reserve(segment.size() + segment.size() / 2);
    if (options_.add_prefix && (at_start || options_.prefix_every_segment)) out += kMetaspace;
    for (char c : segment) {
      if (c == ' ') {
        out += kMetaspace;
      } else {
        out += c;
      }
    }
    segment = std::move(out);
  }

 private:
  SpmWhitespace options_;
};

}  // namespace

std::unique_ptr<Normalizer> make_spm_whitespace(SpmWhitespace options) {
  return std::make_unique<SpmNormalizer>(options);
}

}  // namespace realizar::text
