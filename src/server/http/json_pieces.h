// JSON that is written piece by piece: lists are made item by item, and long texts in slices, only when they are
// written, so that neither the tree nor the text ever exists as a whole. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/json.h"

namespace realizar::server {

class JsonPieces {
 public:
  // Returns the i-th item. Called once for each, in order. An item may itself contain lists.
  using MakeItem = std::function<Json(size_t i)>;
  // The approximate maximum that one step writes, unless a single item is longer.
  static constexpr size_t kStepBytes = 16u << 10;
  // The bytes that are written where the JSON is put together, before a worker writes the rest.
  static constexpr size_t kFirstBytes = 32u << 10;

  // A placeholder for a list of n_items within a put value; to be used once. Placeholders are JSON's binary values,
  // which no text can contain.
  Json list(size_t n_items, MakeItem make);
  // Appends `json` to the output.
  void put(Json json);
  // Appends bytes unchanged.
  void put_bytes(std::string_view bytes);
  // Appends the next output to `out`, step by step, until that has n_bytes or everything is written.
  void write(std::string& out, size_t n_bytes);
  bool is_done() const { return parts_.empty(); }
  // The number of steps so far: each writes an item of a list, a slice of a text, or the JSON around them.
  uint64_t n_steps() const { return n_steps_; }

 private:
  struct List {
    size_t n_items;
    MakeItem make;
  };
  struct Part {
    enum class Kind : uint8_t { kBytes, kText, kList };
    Kind kind;
    std::string text;      // kBytes: written unchanged; kText: the string's value
    size_t at = 0;         // bytes of the text, or items of the list, already written
    List* list = nullptr;  // for kList
  };

  void step(std::string& out);
  void write_slice(Part part, std::string& out);
  void write_item(Part part, std::string& out);
  void unfold(Json& json, std::vector<Part>& parts);
  static void add_bytes(std::string_view bytes, std::vector<Part>& parts);

  std::deque<List> lists_;
  std::vector<Part> parts_;  // the remaining ones, the next one last
  uint64_t n_steps_ = 0;
};

}  // namespace realizar::server
