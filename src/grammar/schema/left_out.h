// Paths of the keywords that a relaxed grammar leaves out of its schema.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "grammar/limits.h"
#include "realizar/result.h"

namespace realizar::grammar {

class LeftOut {
 public:
  explicit LeftOut(bool is_relaxed) : is_relaxed_(is_relaxed) {}

  bool is_relaxed() const { return is_relaxed_; }
  // Handles an unsupported keyword: returns the error, or if the schema is relaxed, lists its path, and the caller
  // continues without the keyword. Limits remain errors.
  Status take(Error error) {
    if (!is_relaxed_ || error.subject == kLimitSubject) return error;
    note(std::move(error.subject));
    return {};
  }
  // Lists a keyword that the grammar does not enforce in full.
  void note(std::string path) {
    const bool is_new = std::ranges::find(paths_, path) == paths_.end();
    if (is_new && paths_.size() < kMaxPaths) paths_.push_back(std::move(path));
  }
  // Lists it only for a relaxed schema; a strict one is not refused for it.
  void note_overlap(const std::string& path) {
    if (is_relaxed_) note(path);
  }
  // Distinct paths in order of discovery, up to a maximum.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  static constexpr size_t kMaxPaths = 50;

  bool is_relaxed_;
  std::vector<std::string> paths_;
};

}  // namespace realizar::grammar
