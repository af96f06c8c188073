// Times the opening of model files, which reads headers only: open_bench FILE...
#include <chrono>
#include <cstdio>

#include "formats/model_file.h"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  constexpr int kReps = 5;
  for (int i = 1; i < argc; ++i) {
    for (int rep = 0; rep < kReps; ++rep) {
      const auto start = Clock::now();
      const auto file = realizar::ModelFile::open(argv[i]);
      const std::chrono::duration<double, std::milli> taken = Clock::now() - start;
      if (!file.ok()) {
        std::fprintf(stderr, "%s\n", file.error().message.c_str());
        return 1;
      }
      std::printf("%s: %.1f GB, %zu tensors, %.2f ms\n", argv[i], static_cast<double>(file->file_bytes()) * 1e-9,
                  file->tensors().size(), taken.count());
    }
  }
  return 0;
}
