// Token ids to text while they arrive. Gives out only whole UTF-8 characters, and never a piece of text that may yet
// turn out to be the beginning of a stop string. One per sequence; not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer.h"

namespace realizar::text {

class StreamingDetokenizer {
 public:
  // `tokenizer` must outlive this. Empty stop strings are ignored.
  StreamingDetokenizer(const Tokenizer& tokenizer, std::vector<std::string> stop_strings, DecodeOptions options = {});

  struct Output {
    std::string text;      // what is now certain; may be empty
    bool stopped = false;  // a stop string is complete; text ends just before it, and no more comes
  };
  Output push(TokenId id);
  // What was held back, at the end of the generation; incomplete UTF-8 becomes U+FFFD.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::string> stop_strings_;
  DecodeOptions options_;
  std::string held_;  // bytes not yet given out
  bool at_start_ = true;
  bool stopped_ = false;
};

}  // namespace realizar::text
