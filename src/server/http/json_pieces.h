// JSON that is written piece by piece: lists in it are made item by item, and long texts in slices, when their turn
// comes, so that neither its tree nor its text is ever there as a whole. One thread at a time.
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
  // Gives the i-th item. Called once for each, in their order. An item may hold lists itself.
  using MakeItem = std::function<Json(size_t i)>;
  // About the most that one step writes, unless a single item is longer.
  static constexpr size_t kStepBytes = 16u << 10;
  // The bytes that are written where the JSON is put together, before a worker is asked for the rest.
  static constexpr size_t kFirstBytes = 32u << 10;

  // Stands for a list of n_items in whatever is put here; to be used once. JSON's binary values, which no text can
  // hold, are those that stand for lists.
  Json list(size_t n_items, MakeItem make);
  // Has `json` written after what was put before.
  void put(Json json);
  // The same of bytes, as they are.
  void put_bytes(std::string_view bytes);
  // Appends what comes next to `out`, by steps, until that has n_bytes or all is written.
  void write(std::string& out, size_t n_bytes);
  bool is_done() const { return parts_.empty(); }
  // How many steps were made: each writes an item of a list, a slice of a text, or what stands around those.
  uint64_t n_steps() const { return n_steps_; }

 private:
  struct List {
    size_t n_items;
    MakeItem make;
  };
  struct Part {
    enum class Kind : uint8_t { kBytes, kText, kList };
    Kind kind;
    std::string text;      // kBytes: as it is written; kText: what the string says
    size_t at = 0;         // bytes of the text, or items of the list, that are written
    List* list = nullptr;  // of kList
  };

  void step(std::string& out);
  void write_slice(Part part, std::string& out);
  void write_item(Part part, std::string& out);
  void unfold(Json& json, std::vector<Part>& parts);
  static void add_bytes(std::string_view bytes, std::vector<Part>& parts);

  std::deque<List> lists_;
  std::vector<Part> parts_;  // that are left, the next one last
  uint64_t n_steps_ = 0;
};

}  // namespace realizar::server
