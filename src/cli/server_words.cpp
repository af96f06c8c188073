#include "cli/server_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "api/adapter_source.h"
#include "base/try.h"
#include "cli/flags.h"
#include "cli/foreign_words.h"

namespace realizar::cli {
namespace {

class Translator {
 public:
  explicit Translator(const std::vector<std::string>& given) : given_(given) { translated_.words = {"serve"}; }

  // Errors: InvalidArgument.
  Result<ServerWords> translate() {
    while (at_ < given_.size()) {
      const std::string& word = given_[at_++];
      const size_t sign = word.find('=');
      const std::string name = word.substr(0, sign);
      const auto flag = word.starts_with('-') ? find_foreign_word(name, CalledAs::kServer) : std::nullopt;
      if (!flag) {
        translated_.words.push_back(word);
        has_key_ = has_key_ || name == "--api-key" || name == "--api-key-file" || name == "--api-keys";
        continue;
      }
      std::optional<std::string> value;
      if (sign != std::string::npos) value = word.substr(sign + 1);
      RZ_CHECK_OK(take(*flag, name, std::move(value)));
    }
    RZ_CHECK_OK(contexts());
    RZ_CHECK_OK(default_adapter());
    finish();
    return std::move(translated_);
  }

 private:
  Status take(const ForeignWord& flag, std::string_view name, std::optional<std::string> value) {
    using enum ForeignKind;
    if (flag.kind == kRefused) return invalid_argument(fmt::format("{}: {}", name, flag.text));
    if (flag.kind == kNoted) translated_.notes.push_back(fmt::format("{} {}", name, flag.text));
    if (flag.kind == kRenamed && !flag.has_value) translated_.words.emplace_back(flag.text);
    if (flag.kind == kUnified) is_unified_ = true;
    if (flag.kind == kMetrics) has_metrics_ = true;
    if (flag.kind == kUnapplied) applies_adapters_ = false;
    if (!flag.has_value) return {};
    if (!value && at_ == given_.size()) return invalid_argument(fmt::format("{} needs a value", name));
    if (!value) value = given_[at_++];
    if (flag.kind == kModel) model_ = *value;
    if (flag.kind == kAlias) aliases_ = *value;
    if (flag.kind == kOrigins) origins_ = values_of(*value);
    if (flag.kind == kAdapters) return add_adapters(name, *value);
    if (!flag.values.empty() && *value == flag.values) return {};
    if (flag.kind == kContext) context_ = *value;
    if (flag.kind == kSequences) sequences_ = *value;
    if (flag.kind == kRenamed || flag.kind == kReasoning) add(flag.text, *value);
    if (flag.kind == kReasoning) says_reasoning_ = true;
    return {};
  }

  void add(std::string_view flag, std::string value) {
    translated_.words.emplace_back(flag);
    translated_.words.push_back(std::move(value));
  }

  Status add_adapters(std::string_view flag, const std::string& files) {
    for (const std::string& file : values_of(files)) {
      const auto source = parse_adapter(file);
      if (!source.ok()) return invalid_argument(fmt::format("{} {}: expected FILE or FILE:SCALE", flag, files));
      adapters_.push_back(source->name);
      add("--lora", fmt::format("{}={}:{}", source->name, source->path, source->scale));
    }
    return {};
  }

  // llama-server adds up all its adapters, unless a request says otherwise.
  Status default_adapter() {
    if (!applies_adapters_ || adapters_.empty()) return {};
    if (adapters_.size() > 1) {
      return invalid_argument(
          "--lora: a request has one adapter here: with --lora-init-without-apply each chooses one, by `lora` or by "
          "its "
          "model's name");
    }
    add("--lora-default", adapters_.front());
    return {};
  }

  // llama-server's defaults: it has metrics only on request, loads no model at the start if none is given, accepts web
  // pages of any origin that have a key, and lets models think that can.
  void finish() {
    add_model();
    translated_.words.emplace_back("--llama-answers");
    if (!has_metrics_) translated_.words.emplace_back("--no-metrics");
    if (!says_reasoning_) add("--chat-template-kwargs", R"({"enable_thinking": true})");
    if (!origins_ && has_key_) origins_ = {"*"};
    for (const std::string& origin : origins_.value_or(std::vector<std::string>())) add_origin(origin);
  }

  void add_model() {
    std::vector<std::string> names = values_of(aliases_);
    std::ranges::sort(names);
    if (!model_.empty()) translated_.words.push_back(names.empty() ? model_ : names.front() + "=" + model_);
    if (!names.empty()) add("--alias", aliases_);
    if (model_.empty()) translated_.words.emplace_back("--no-preload");
  }

  void add_origin(const std::string& origin) {
    if (origin != "localhost") return add("--cors-origin", origin);
    for (const char* scheme : {"http://", "https://"}) {
      for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) {
        add("--cors-origin", std::string(scheme) + host);
        add("--cors-origin", std::string(scheme) + host + ":*");
      }
    }
  }

  static std::vector<std::string> values_of(const std::string& text) {
    std::vector<std::string> values;
    std::istringstream stream(text);
    for (std::string value; std::getline(stream, value, ',');) {
      if (!value.empty()) values.push_back(value);
    }
    return values;
  }

  // llama-server has one context for all sequences: each has its part of it, or, if it is unified or their number is
  // not given, as much as is left.
  Status contexts() {
    uint32_t n_ctx = 0, n_seqs = 1;
    if (!context_.empty() && !read_value(context_, n_ctx).empty()) {
      return invalid_argument(fmt::format("--ctx-size {}: expected a whole number", context_));
    }
    const bool is_number = sequences_.empty() || (read_value(sequences_, n_seqs).empty() && n_seqs > 0);
    if (!is_number) return invalid_argument(fmt::format("--parallel {}: expected 1 or more", sequences_));
    if (!sequences_.empty()) translated_.words.insert(translated_.words.end(), {"--max-seqs", sequences_});
    if (n_ctx == 0) return {};
    const uint32_t own = is_unified_ ? n_ctx : std::max(1u, n_ctx / n_seqs);
    translated_.words.insert(translated_.words.end(),
                             {"--ctx", std::to_string(own), "--kv-tokens", std::to_string(n_ctx)});
    return {};
  }

  const std::vector<std::string>& given_;
  std::string context_, sequences_, model_, aliases_;
  std::optional<std::vector<std::string>> origins_;
  std::vector<std::string> adapters_;
  bool is_unified_ = false, applies_adapters_ = true;
  bool has_metrics_ = false, has_key_ = false, says_reasoning_ = false;
  size_t at_ = 0;
  ServerWords translated_;
};

}  // namespace

bool is_llama_server(std::string_view program) {
  const size_t slash = program.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? program : program.substr(slash + 1);
  return name == "realizar-server" || name == "llama-server";
}

Result<ServerWords> words_of_llama_server(const std::vector<std::string>& given) {
  return Translator(given).translate();
}

}  // namespace realizar::cli
