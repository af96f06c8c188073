// A reply that adds the headers which every answer has, and tells when it is over and how it went.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/caught.h"
#include "server/http.h"

namespace realizar::server {

class RecordedReply final : public Reply {
 public:
  // `headers` is asked when the reply begins. `on_over`: called once, with the status; 499 where the client went away
  // first. It must not throw.
  static std::shared_ptr<RecordedReply> over(std::shared_ptr<Reply> reply, std::function<Headers()> headers,
                                             std::function<void(int status)> on_over) {
    auto recorded = std::make_shared<RecordedReply>(std::move(reply), std::move(headers), std::move(on_over));
    // The connection holds the inner reply only while it is under way, and that holds this one as long.
    recorded->inner_->on_closed = [recorded] { recorded->client_left(); };
    recorded->inner_->on_drained = [weak = std::weak_ptr(recorded)] {
      if (const auto self = weak.lock(); self != nullptr && self->on_drained) self->on_drained();
    };
    return recorded;
  }

  RecordedReply(std::shared_ptr<Reply> reply, std::function<Headers()> headers, std::function<void(int)> on_over)
      : inner_(std::move(reply)), headers_(std::move(headers)), on_over_(std::move(on_over)) {}

  void send(HttpResponse response) override {
    if (is_closed()) return;
    status_ = response.status;
    add_headers(response);
    inner_->send(std::move(response));
    over();
  }
  void begin_stream(HttpResponse head) override {
    status_ = head.status;
    add_headers(head);
    inner_->begin_stream(std::move(head));
  }
  void write(std::string_view bytes) override { inner_->write(bytes); }
  void end() override {
    if (is_closed()) return;
    inner_->end();
    over();
  }
  bool is_congested() const override { return inner_->is_congested(); }
  bool is_closed() const override { return inner_->is_closed(); }
  void drop() noexcept override { inner_->drop(); }

 private:
  void add_headers(HttpResponse& response) {
    const auto headers = std::exchange(headers_, {});
    if (!headers) return;
    for (auto& header : headers()) response.headers.push_back(std::move(header));
  }
  void client_left() {
    status_ = 499;
    // The call is over, whatever its end throws.
    if (const auto callback = std::exchange(on_closed, {})) static_cast<void>(caught(callback));
    over();
  }
  void over() {
    on_closed = on_drained = {};
    on_failed = {};
    // What the inner reply holds of this one ends here too, or neither would ever be freed.
    const auto released = std::exchange(inner_->on_closed, {});
    if (const auto callback = std::exchange(on_over_, {})) callback(status_);
  }

  std::shared_ptr<Reply> inner_;
  std::function<Headers()> headers_;
  std::function<void(int)> on_over_;
  int status_ = 0;
};

}  // namespace realizar::server
