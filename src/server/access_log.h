// The access log: one JSON object a line for each request that was answered.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "realizar/result.h"
#include "server/json.h"

namespace realizar::server {

class AccessLog {
 public:
  // "": no log; "-": standard error; else a file that is appended to. Errors: InvalidArgument (it cannot be written).
  static Result<AccessLog> open(const std::string& path);
  bool is_on() const { return file_ != nullptr; }
  // A full disk costs lines, never requests.
  void write(const Json& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace realizar::server
