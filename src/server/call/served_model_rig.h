// For tests: the bundled model in the form in which a server holds it, and the context of a request for it.
#pragma once

#include <memory>
#include <string>

#include "server/call/request_context.h"
#include "server/call/response_store.h"
#include "server/models/model_aliases.h"
#include "server/models/served_model.h"

namespace realizar::server {

class ServedModelRig {
 public:
  explicit ServedModelRig(const std::string& path) {
    context.responses = &responses_;
    context.made = &made_;
    auto loaded = LoadedModel::load(path, {});
    if (!loaded.ok()) return;
    model_->id = "tiny";
    model_->loaded = std::move(*loaded);
    model_->output_format = model_->loaded->output_format;
  }

  bool is_ready() const { return model_->loaded != nullptr; }
  const ServedModel& model() const { return *model_; }
  const ServedModelPtr& shared_model() const { return model_; }
  void set_output_format(text::OutputFormat format) { model_->output_format = std::move(format); }
  RequestContext context_of(const KeyDigest& key) const {
    RequestContext own = context;
    own.key = key;
    own.tenant = tenant_of(key);
    return own;
  }

  RequestContext context;

 private:
  ServedModelPtr model_ = std::make_shared<ServedModel>();
  ResponseStore responses_{{}};
  ModelAliases made_;
};

}  // namespace realizar::server
