// Names of functions that stand in namespaces, as the Responses API has them: a model sees each function under one
// name, joined from both, and a client is told of its call by the two.
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

  // A function without a namespace keeps its name: all of these come first. What is joined is no other's name, and as
  // long as names may be.
  std::string add(std::string_view space, std::string_view name);
  // The name under which the model sees the function. A function that was not added,
  // because an earlier turn called it, gets the best guess; a bare name may be one in a namespace.
  std::string find(std::string_view space, std::string_view name) const;
  // The function that the model calls so.
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
