// Downloads that go on whether or not their clients wait, as llama.cpp's router has them: POST /v1/models begins one,
// GET /v1/models/sse tells of it. I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "server/models/model_events.h"
#include "server/models/model_pulls.h"

namespace realizar::server {

class ModelDownloads {
 public:
  struct Download {
    std::string name;  // as the client gave it
    ModelPullPtr pull;
    FileShares files;
  };

  // `on_event`: there is one more among `events`.
  ModelDownloads(ModelPulls& pulls, ModelEvents& events, std::function<void()> on_event)
      : pulls_(pulls), events_(events), on_event_(std::move(on_event)) {}
  ModelDownloads(const ModelDownloads&) = delete;
  ModelDownloads& operator=(const ModelDownloads&) = delete;
  ~ModelDownloads();

  // Errors: InvalidArgument where it is under way; those of ModelPulls::start.
  Status start(uint64_t tenant, const std::string& given, const hub::ModelName& name, const hub::ModelName& source,
               std::function<void(ModelSource)> on_stored);
  // False where no download of that name is under way.
  bool cancel(const std::string& given);
  const std::list<Download>& list() const { return downloads_; }

 private:
  void on_news(std::list<Download>::iterator download);

  ModelPulls& pulls_;
  ModelEvents& events_;
  std::function<void()> on_event_;
  std::list<Download> downloads_;  // those under way
};

}  // namespace realizar::server
