// Writes a small GGUF model with random weights for any row of the architecture table, for tests/data/conformance: its
// metadata and tensors follow from the row, and more keys from the command line.
//   make_conformance ROW FILE [NAME=VALUE ...]
// NAME is a dimension (of TinyDims in support/tiny_model.h), "experts" (1: with experts where the family may have
// them), "ffn_biases" (1: with those of gated ffns), "keys_as_values" (1: layers without a window make values of keys),
// "grows" (1: later layers have more heads and wider ffns), "without" (a tensor that is left out, in every layer:
// attn_output.bias), "seed", "large_type" (BF16: of weights of a thousand rows or columns and more), "words" (1: with a
// vocabulary of BERT's kind), or a key of GGUF's without the architecture; VALUE is a whole number, a number with a
// point, true or false, a list of those in brackets, or a string.
#include <cstdio>
#include <string>
#include <vector>

#include "model/arch/list.h"
#include "support/made_model.h"
#include "support/tiny_model.h"

int main(int argc, char** argv) {
  using namespace realizar;
  std::vector<std::string> words;
  if (argc >= 3) words = {argv[1]};
  words.insert(words.end(), argv + std::min(argc, 3), argv + argc);
  const auto writer = test::made_model(words);
  if (!writer) {
    std::fprintf(stderr, "usage: make_conformance ROW FILE [NAME=VALUE ...]\nrows:");
    for (const ArchSpec* spec : all_architectures()) std::fprintf(stderr, " %s", test::test_name(*spec).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const Status written = writer->write(argv[2]);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written.ok() ? 0 : 1;
}
