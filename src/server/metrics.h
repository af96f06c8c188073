// What /metrics shows, in Prometheus' text format. Names, labels and buckets are vLLM's where the meaning is the same.
#pragma once

#include <memory>
#include <string>

#include "realizar/request.h"
#include "server/model_registry.h"

namespace realizar::server {

class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();

  void observe_inter_token(const std::string& model, double ms);
  void observe_request(const std::string& model, const GenerationStats& stats, const char* finish_reason,
                       uint32_t n_tokens, double total_ms);
  void count_aborted(const std::string& model);
  void count_http(const std::string& route, int status);

  // The text of /metrics, with what the engines say now.
  std::string text(const ModelRegistry& models, uint32_t n_connections) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::server
