// >>>name, a line break and an object, while the answer's text follows >>>all: Functionary 3.2. The prompt ends with
// the first >>>, so an answer begins with the name.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& functionary_format() {
  static const KnownFormat format{
      .name = "functionary",
      .signs = {">>>all"},
      .is_printed = true,
      .format = {.calls = CallForm{.arguments = CallForm::Arguments::kObjectAfter,
                                   .name_end = "\n",
                                   .between = ">>>",
                                   .other_openers = {">>>"},
                                   .reads_bare = true},
                 .content_wrapper = TagPair{"all\n", ""}},
  };
  return format;
}

}  // namespace realizar::text
