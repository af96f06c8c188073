// Defaults of `realizar serve` for requests: sampling, length, reasoning, the chat template.
#pragma once

#include <optional>
#include <string>

#include "cli/flags.h"
#include "cli/options.h"
#include "server/call/options.h"

namespace realizar::cli {

struct ServingDefaults {
  void add_to(Flags flags);
  // Errors: InvalidArgument, NotFound (a file), those of a template.
  Status put_into(server::ServerOptions& options) const;

 private:
  SamplingFlags sampling_;
  bool context_shift_ = false, verbose_ = false;
  std::optional<int32_t> max_tokens_, reasoning_budget_;
  std::string template_, template_file_, template_variables_;
  std::string reasoning_ = "auto", reasoning_format_ = "auto", pooling_;
};

}  // namespace realizar::cli
