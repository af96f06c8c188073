// Writes a small GGUF model with random weights, for tests/data/conformance, and prints its hashes in the manifest's
// format.
//   make_conformance NAME.gguf                    a model described by words in the manifest
//   make_conformance ROW FILE [NAME=VALUE ...]    any row of the architecture table: metadata and tensors follow from
//                                                 the row, and more keys from the command line
// NAME is a dimension (of TinyDims in support/tiny_model.h), "experts" (1: with experts if the family may have them),
// "ffn_biases" (1: with those of gated ffns), "keys_as_values" (1: layers without a window use keys as values),
// "plain_latents" (1: latent attention makes queries directly, and keys and values by one matrix),
// "grows" (1: later layers have more heads and wider ffns), "without" (a tensor that is omitted, in every layer:
// attn_output.bias), "seed", "large_type" (BF16: for weights with at least a thousand rows or columns), "words" (1:
// with a vocabulary like BERT's), or a key of GGUF's without the architecture; VALUE is a whole number, a number with a
// point, true or false, a list of those in brackets, or a string.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "model/arch/list.h"
#include "support/made_model.h"
#include "support/test_data.h"
#include "support/tiny_model.h"

int main(int argc, char** argv) {
  using namespace realizar;
  const std::vector<std::string> args(argv + 1, argv + argc);
  std::vector<std::string> words;
  std::string path;
  if (args.size() == 1) {
    path = args[0];
    words = test::words_for(test::source_file("tests/data/conformance"), std::filesystem::path(path).stem());
  } else if (args.size() > 1) {
    path = args[1];
    words = {args[0]};
    words.insert(words.end(), args.begin() + 2, args.end());
  }
  const auto writer = test::made_model(words);
  if (!writer) {
    std::fprintf(stderr, "usage: make_conformance NAME.gguf\n       make_conformance ROW FILE [NAME=VALUE ...]\nrows:");
    for (const ArchSpec* spec : all_architectures()) std::fprintf(stderr, " %s", test::test_name(*spec).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const Status written = writer->write(path);
  const auto hash = written.ok() ? test::hash_of(*writer, path) : written.error();
  if (!hash.ok()) {
    std::fprintf(stderr, "%s\n", hash.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", to_string(*hash).c_str());
  return 0;
}
