// For tests: the bundled model as a server would hold it, and a call to hand to what reads requests.
#pragma once

#include <memory>
#include <string>

#include "server/call/background.h"
#include "server/call/context.h"
#include "server/call/tenant.h"
#include "server/watch/metrics.h"

namespace realizar::server {

class ServedModelRig {
 public:
  explicit ServedModelRig(const std::string& path) {
    auto loaded = LoadedModel::load(path, {});
    if (!loaded.ok()) return;
    model_->id = "tiny";
    model_->loaded = std::move(*loaded);
    model_->output_format = text::detect_output_format(model_->loaded->output_source);
    HttpOptions http;
    http.port = 0;
    auto server = HttpServer::create(http, [](const auto&, const auto&) { return std::nullopt; });
    if (!server.ok()) return;
    http_ = std::move(*server);
    context_ =
        std::make_unique<ServerContext>(ServerContext{options, *http_, models_, metrics_, responses_, background_});
  }

  bool is_ready() const { return context_ != nullptr; }
  const ServedModel& model() const { return *model_; }
  const ServedModelPtr& shared_model() const { return model_; }
  void set_output_format(text::OutputFormat format) { model_->output_format = std::move(format); }
  // Lasts until the next one is made.
  Call& call(const KeyDigest& key = {}, const std::shared_ptr<Reply>& reply = nullptr) {
    context_->calls.clear();
    Call& call = context_->add_call({}, reply);
    call.key = key;
    call.tenant = tenant_of(key);
    return call;
  }
  ServerContext& context() { return *context_; }

  ServerOptions options;

 private:
  ServedModelPtr model_ = std::make_shared<ServedModel>();
  std::unique_ptr<HttpServer> http_;
  ModelRegistry models_{{}, {}};
  ServerMetrics metrics_;
  ResponseStore responses_{{}};
  BackgroundRecords background_{1 << 20, 1 << 20};
  std::unique_ptr<ServerContext> context_;
};

}  // namespace realizar::server
