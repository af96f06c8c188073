// For tests: the path of a new folder of this process, deleted with its content at the end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace realizar {

class TempFolder : public std::filesystem::path {
 public:
  TempFolder() : path(testing::TempDir() + "realizar." + std::to_string(::getpid()) + "." + next_number()) {
    std::filesystem::create_directories(*this);
  }
  ~TempFolder() { std::filesystem::remove_all(*this); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Writes a file, and the folders that `name` has.
  std::filesystem::path put(const std::filesystem::path& name, std::string_view content) const {
    std::filesystem::create_directories((*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary) << content;
    return *this / name;
  }

 private:
  static std::string next_number() {
    static std::atomic<int> n = 0;
    return std::to_string(n++);
  }
};

}  // namespace realizar
