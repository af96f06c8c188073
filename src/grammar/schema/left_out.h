// The keywords that a relaxed grammar leaves out of its schema, by their places.
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
  // The error of a keyword that cannot be held. Where the schema is relaxed, its place is listed instead, and the
  // caller goes on without the keyword; limits stay errors.
  Status take(Error error) {
    if (!is_relaxed_ || error.subject == kLimitSubject) return error;
    note(std::move(error.subject));
    return {};
  }
  // Lists a keyword that the grammar does not hold in full.
  void note(std::string place) {
    const bool is_new = std::ranges::find(places_, place) == places_.end();
    if (is_new && places_.size() < kMaxPlaces) places_.push_back(std::move(place));
  }
  // Notes it for a relaxed schema alone: a strict one is not refused for it.
  void note_overlap(const std::string& place) {
    if (is_relaxed_) note(place);
  }
  // In the order in which they were found, each once; not all of very many.
  const std::vector<std::string>& places() const { return places_; }

 private:
  static constexpr size_t kMaxPlaces = 50;

  bool is_relaxed_;
  std::vector<std::string> places_;
};

}  // namespace realizar::grammar
