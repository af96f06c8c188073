// For tests of dialects: the bundled model, loaded once for a suite, and views of results.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/call/chat_messages.h"
#include "server/call/served_model_rig.h"

namespace realizar::server {

// A message in the form for a template that supports everything.
inline Json template_json(const ChatMessage& message) {
  return text::fitted({{message}}, {})["messages"][0];
}

class DialectTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    rig_ = std::make_unique<ServedModelRig>(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf");
    ASSERT_TRUE(rig_->is_ready());
  }
  static void TearDownTestSuite() { rig_.reset(); }

  // The field that an error names; "": none.
  template <class T>
  static std::string field_of(const Result<T>& read) {
    return read.ok() ? "" : read.error().subject;
  }

  static inline std::unique_ptr<ServedModelRig> rig_;
};

}  // namespace realizar::server
