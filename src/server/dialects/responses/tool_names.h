// Names of functions in namespaces, as in the Responses API: the model sees each function under one joined name, and
// the client gets the two parts of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace realizar::server {

class ToolNames {
 public:
  struct Parts {
    std::string space;  // "": none
    std::string name;
  };

  // A function without a namespace keeps its name; all such functions must be added first. A joined name is unique, and
  // no longer than the maximum.
  std::string add(std::string_view space, std::string_view name);
  // The name under which the model sees the function. A function that was not added,
  // because an earlier turn called it, gets its most likely name; a name without a namespace may belong to one.
  std::string find(std::string_view space, std::string_view name) const;
  // The function that the model calls by this name.
  Parts parts_of(std::string_view joined) const;

 private:
  struct Entry {
    Parts parts;
    std::string joined;
  };
  bool is_taken(std::string_view joined) const;

  std::vector<Entry> entries_;
};

}  // namespace realizar::server
