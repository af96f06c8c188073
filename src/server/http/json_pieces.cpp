#include "server/http/json_pieces.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace realizar::server {
namespace {

constexpr size_t kValueBytes = 8;  // the approximate size of a value's text, without its strings

// Whether a value can be written at once; subtracts its approximate size from `room`.
bool fits(const Json& json, size_t& room) {
  const size_t n_bytes = kValueBytes + (json.is_string() ? json.get_ref<const std::string&>().size() : 0);
  if (json.is_binary() || n_bytes > room) return false;
  room -= n_bytes;
  if (!json.is_object())
    return !json.is_array() || std::ranges::all_of(json, [&](const Json& x) { return fits(x, room); });
  for (const auto& [name, value] : json.items()) {
    if (name.size() > room) return false;
    room -= name.size();
    if (!fits(value, room)) return false;
  }
  return true;
}

// The end of a slice of the text from `at` on: between characters, so that the slices' JSON adds up to the whole
// text's.
size_t slice_end(const std::string& text, size_t at) {
  constexpr size_t kMaxContinuing = 3;  // bytes of a character after its first
  if (text.size() - at <= JsonPieces::kStepBytes) return text.size();
  const size_t most = at + JsonPieces::kStepBytes;
  for (size_t end = most; end + kMaxContinuing >= most; --end) {
    if (!continues_character(text[end])) return end;
  }
  return most;
}

}  // namespace

Json JsonPieces::list(size_t n_items, MakeItem make) {
  lists_.push_back({n_items, std::move(make)});
  return Json::binary({}, lists_.size() - 1);
}

void JsonPieces::put(Json json) {
  const TakenApartAtEnd end{json};
  std::vector<Part> parts;
  unfold(json, parts);
  parts_.insert(parts_.begin(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
}

void JsonPieces::put_bytes(std::string_view bytes) {
  std::vector<Part> last;
  if (!parts_.empty()) last.push_back(std::move(parts_.front()));
  add_bytes(bytes, last);
  if (!parts_.empty()) parts_.erase(parts_.begin());
  parts_.insert(parts_.begin(), std::make_move_iterator(last.rbegin()), std::make_move_iterator(last.rend()));
}

void JsonPieces::write(std::string& out, size_t n_bytes) {
  while (out.size() < n_bytes && !parts_.empty()) step(out);
}

void JsonPieces::step(std::string& out) {
  ++n_steps_;
  Part part = std::move(parts_.back());
  parts_.pop_back();
  switch (part.kind) {
    case Part::Kind::kBytes:
      out += part.text;
      break;
    case Part::Kind::kText:
      write_slice(std::move(part), out);
      break;
    case Part::Kind::kList:
      write_item(std::move(part), out);
      break;
  }
}

void JsonPieces::write_slice(Part part, std::string& out) {
  const size_t end = slice_end(part.text, part.at);
  const std::string quoted = dump(part.text.substr(part.at, end - part.at));
  out.append(quoted, 1, quoted.size() - 2);
  part.at = end;
  if (part.at < part.text.size()) parts_.push_back(std::move(part));
}

void JsonPieces::write_item(Part part, std::string& out) {
  List& list = *part.list;
  if (part.at == 0) out += '[';
  if (part.at == list.n_items) {
    out += ']';
    list.make = nullptr;
    return;
  }
  if (part.at > 0) out += ',';
  Json item = list.make(part.at++);
  const TakenApartAtEnd end{item};
  parts_.push_back(std::move(part));
  // Most items are small.
  if (size_t room = kStepBytes; fits(item, room)) {
    out += dump(item);
    return;
  }
  std::vector<Part> parts;
  unfold(item, parts);
  std::move(parts.rbegin(), parts.rend(), std::back_inserter(parts_));
}

void JsonPieces::unfold(Json& json, std::vector<Part>& parts) {
  if (size_t room = kStepBytes; fits(json, room)) return add_bytes(dump(json), parts);
  if (json.is_binary()) {
    parts.push_back({Part::Kind::kList, {}, 0, &lists_[json.get_binary().subtype()]});
  } else if (json.is_string()) {
    add_bytes("\"", parts);
    parts.push_back({Part::Kind::kText, std::move(json.get_ref<std::string&>())});
    add_bytes("\"", parts);
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) {
      add_bytes(i == 0 ? "[" : ",", parts);
      unfold(json[i], parts);
    }
    add_bytes("]", parts);
  } else {
    std::string_view before = "{";
    for (auto& [name, value] : json.items()) {
      add_bytes(std::exchange(before, ","), parts);
      add_bytes(dump(name) + ":", parts);
      unfold(value, parts);
    }
    add_bytes("}", parts);
  }
}

// Appends to the previous bytes as long as they remain one step.
void JsonPieces::add_bytes(std::string_view bytes, std::vector<Part>& parts) {
  const bool is_new =
      parts.empty() || parts.back().kind != Part::Kind::kBytes || parts.back().text.size() >= kStepBytes;
  if (is_new) parts.push_back({Part::Kind::kBytes, {}});
  parts.back().text += bytes;
}

}  // namespace realizar::server
