// The latest changes of models, for clients that listen to them. I/O thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "realizar/result.h"
#include "server/http/json.h"
#include "server/models/model_list.h"

namespace realizar::server {

// The progress of a file's download.
struct FileShare {
  uint64_t n_done, n_bytes;
};
using FileShares = std::map<std::string, FileShare>;

// {FILE: {done, total}}
Json shares_json(const FileShares& files);

class ModelEvents {
 public:
  void add(const ModelChange& change);
  // A change not of one model: the list was read anew.
  void add_reload();
  void add_download(const std::string& model, const FileShares& files, const FileShare& whole);
  void add_download_end(const std::string& model, const Status& result);
  uint64_t end() const { return end_; }
  // Server-sent events for all remaining changes from `next` on; sets `next` to their end.
  std::string since(uint64_t& next) const;

 private:
  static constexpr size_t kMaxKept = 256;
  void keep(std::string event);

  std::deque<std::string> events_;
  uint64_t end_ = 0;  // events so far
};

}  // namespace realizar::server
