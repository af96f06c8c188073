// Many short strings in one allocation, found by index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::text {

class StringTable {
 public:
  void reserve(size_t n_strings, size_t n_bytes) {
    ends_.reserve(n_strings);
    bytes_.reserve(n_bytes);
  }
  void add(std::string_view s) {
    bytes_.append(s);
    ends_.push_back(bytes_.size());
  }
  size_t size() const { return ends_.size(); }
  // Valid until the next add().
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;  // ends_[i] is one past string i in bytes_
};

}  // namespace realizar::text
