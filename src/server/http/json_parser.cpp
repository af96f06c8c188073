// Parses bodies: anything beyond the limits ends parsing before it takes memory.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "server/http/json.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxDepth = 100;
constexpr size_t kMaxValues = 200'000;
// Objects keep their members' order, and compare each new name with the earlier ones; this is the total number of
// comparisons allowed. A single object may have 10,000 members.
constexpr uint64_t kMaxComparisons = 50'000'000;

// The common part of both readers of a text: the first error, and numbers.
class Reader : public nlohmann::json_sax<Json> {
 public:
  const Status& status() const { return status_; }

  bool number_integer(number_integer_t value) override { return value_is(value); }
  bool number_unsigned(number_unsigned_t value) override { return value_is(value); }
  bool number_float(number_float_t value, const string_t&) override { return value_is(value); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int kOutOfRange = 406;
    return fail(invalid_argument(error.id == kOutOfRange
                                     ? fmt::format("the body cannot be read: {}", error.what())
                                     : fmt::format("the body is not JSON, at byte {} of {}", position, n_bytes_)));
  }

 protected:
  explicit Reader(size_t n_bytes) : n_bytes_(n_bytes) {}
  bool fail(Error error) {
    if (status_.ok()) status_ = std::move(error);
    return false;
  }
  bool enter() {
    if (depth_ == kMaxDepth) {
      return fail(invalid_argument(fmt::format("the body is nested deeper than {} levels", kMaxDepth)));
    }
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  size_t depth() const { return depth_; }
  virtual bool value_is(Json value) = 0;

 private:
  size_t n_bytes_;
  size_t depth_ = 0;
  Status status_;
};

class Builder final : public Reader {
 public:
  Builder(size_t n_bytes, const IdLimits& ids) : Reader(n_bytes), ids_(ids) {}
  ~Builder() override { take_apart(root_); }
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool start_object(size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_array() override { return n_ids_beyond_ > 0 ? fail_too_many_ids() : close(); }

  bool key(string_t& name) override {
    Json& object = *open_.back();
    n_comparisons_ += object.size();
    if (n_comparisons_ > kMaxComparisons) return fail(invalid_argument("the body's objects have too many members"));
    if (open_.size() == 1) field_ = name;
    member_ = &object[std::move(name)];
    return true;
  }

 private:
  bool value_is(Json value) override {
    const size_t max_ids = value.is_number_integer() && is_in_list() ? max_ids_here() : 0;
    if (max_ids == 0) return add(std::move(value));
    Json& list = *open_.back();
    if (list.size() == max_ids) {
      ++n_ids_beyond_;  // counted for the error message
    } else {
      list.push_back(std::move(value));
    }
    return true;
  }

  bool fail_too_many_ids() {
    const bool is_one_of_several = open_.size() > 2 && open_[1]->is_array();
    const std::string list = is_one_of_several ? fmt::format("{}[{}]", field_, open_[1]->size() - 1) : field_;
    const size_t max_ids = max_ids_here();
    return fail(context_length_exceeded(fmt::format("{}: a list has more than {} token ids", list, max_ids), list,
                                        max_ids + n_ids_beyond_, static_cast<uint32_t>(max_ids)));
  }

  bool is_in_list() const { return open_.size() >= 2 && open_.back()->is_array(); }
  size_t max_ids_here() const {
    if (field_ == "prompt" || field_ == "input") return ids_.max_prompt_ids;
    return field_ == "tokens" ? ids_.max_text_ids : 0;
  }

  Json* place(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (!parent.is_array()) return &(*member_ = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool add(Json value) {
    if (++n_values_ > kMaxValues) {
      return fail(invalid_argument(fmt::format("the body has more than {} values", kMaxValues)));
    }
    place(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (!enter()) return false;
    if (++n_values_ > kMaxValues) {
      return fail(invalid_argument(fmt::format("the body has more than {} values", kMaxValues)));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return leave();
  }

  IdLimits ids_;
  Json root_;
  std::vector<Json*> open_;  // objects and arrays; an outer one's values do not move while an inner one is open
  Json* member_ = nullptr;   // of the innermost object
  std::string field_;        // of the outermost object
  size_t n_values_ = 0, n_ids_beyond_ = 0;
  uint64_t n_comparisons_ = 0;
};

}  // namespace

void take_apart(Json& json) noexcept {
  if (json.is_array()) {
    auto& items = json.get_ref<Json::array_t&>();
    for (; !items.empty(); items.pop_back()) take_apart(items.back());
  } else if (json.is_object()) {
    auto& members = json.get_ref<Json::object_t&>();
    for (; !members.empty(); members.pop_back()) take_apart(members.back().second);
  }
}

Result<Json> parse_json(std::string_view text, const IdLimits& ids) {
  Builder builder(text.size(), ids);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return builder.status().error();
  return builder.take();
}

}  // namespace realizar::server
