// Runs a fuzz target over every file of the folders named on the command line: the seed corpus as a test, with any
// compiler. A finding ends the process (sanitizer report or abort), so reaching the end is the assertion.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  int n_inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++n_inputs;
    }
  }
  std::printf("%d inputs\n", n_inputs);
  return n_inputs > 0 ? 0 : 1;
}
