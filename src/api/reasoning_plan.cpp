#include "api/reasoning_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/grammar_constraint.h"
#include "api/language_model.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/answer.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {
namespace {

struct Effort {
  std::string_view name;
  std::string_view nearest;  // one of the three that every template with efforts supports
  int64_t budget;            // for a template that supports none; -1: unlimited
};

constexpr std::array<Effort, 7> kEfforts = {{
    {"none", "low", 0},
    {"minimal", "low", 512},
    {"low", "low", 1024},
    {"medium", "medium", 8192},
    {"high", "high", 24576},
    {"xhigh", "high", -1},
    {"max", "high", -1},
}};

bool has_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

const Effort* find_effort(std::string_view name) {
  const auto found = std::ranges::find(kEfforts, name, &Effort::name);
  return found == kEfforts.end() ? nullptr : &*found;
}

// The effort if the template's source mentions it, else the nearest that all templates support.
std::string effort_for(const std::string& effort, std::string_view template_source) {
  const Effort* known = find_effort(effort);
  const bool is_spelled =
      has_word(template_source, "'" + effort + "'") || has_word(template_source, "\"" + effort + "\"");
  return known == nullptr || is_spelled ? effort : std::string(known->nearest);
}

// Whether the model is to think, if the options decide it directly or indirectly.
std::optional<bool> is_enabled(const ReasoningOptions& options) {
  if (options.budget == 0) return false;
  const bool has_known_effort = options.effort && find_effort(*options.effort) != nullptr;
  if (!options.enabled && has_known_effort) return *options.effort != "none";
  return options.enabled;
}

class BudgetConstraint final : public TokenConstraint {
 public:
  BudgetConstraint(std::shared_ptr<TokenConstraint> inner, text::ReasoningMarks marks, const text::Tokenizer& tokenizer,
                   ReasoningBudget budget)
      : inner_(std::move(inner)), marks_(std::move(marks)), tokenizer_(&tokenizer), n_left_(budget.n_tokens) {
    if (budget.starts_in_reasoning) enter_reasoning();
  }

  bool allow(std::span<uint64_t> allowed) override {
    if (place_ == Place::kClosing) {
      closing_.allow(allowed);
      return true;
    }
    const bool inner_binds = inner_ != nullptr && inner_->allow(allowed);
    const bool is_forbidden = has_just_closed_ && not_after_close_ && word_of(*not_after_close_) < allowed.size();
    if (!is_forbidden) return inner_binds;
    if (!inner_binds) std::fill(allowed.begin(), allowed.end(), ~uint64_t{0});
    allowed[word_of(*not_after_close_)] &= ~bit_of(*not_after_close_);
    return true;
  }

  Readiness prepare(int64_t& n_work) override {
    return inner_ != nullptr ? inner_->prepare(n_work) : Readiness::kReady;
  }

  void accept(TokenId id) override {
    if (inner_ != nullptr) inner_->accept(id);
    has_just_closed_ = false;
    if (place_ == Place::kAfter) return;
    if (place_ == Place::kClosing) return note_closed();
    tail_ += tokenizer_->token_bytes(id, {.skip_special = false});
    if (place_ == Place::kBefore) {
      look_for_begin();
    } else {
      count();
    }
  }

  // If `inner` ends the reasoning, the rest of it does not count.
  bool refuse_end(TokenId id) override {
    if (place_ == Place::kClosing) return true;
    if (inner_ == nullptr || !inner_->refuse_end(id)) return false;
    if (place_ == Place::kReasoning) leave_reasoning();
    return true;
  }

  std::shared_ptr<TokenConstraint> clone() const override {
    auto copy = std::make_shared<BudgetConstraint>(*this);
    if (inner_ != nullptr) copy->inner_ = inner_->clone();
    return copy;
  }

  std::vector<std::string> left_out() const override {
    return inner_ != nullptr ? inner_->left_out() : std::vector<std::string>();
  }

 private:
  enum class Place { kBefore, kReasoning, kClosing, kAfter };
  static constexpr size_t kMaxTailBytes = 256;  // longer than any mark with the token that ends it

  static size_t word_of(TokenId id) { return static_cast<size_t>(to_index(id)) / 64; }
  static uint64_t bit_of(TokenId id) { return uint64_t{1} << (static_cast<size_t>(to_index(id)) % 64); }

  void enter_reasoning() {
    place_ = Place::kReasoning;
    tail_.clear();
    if (n_left_ == 0) close();
  }

  // A tag opens reasoning only before the answer's first word, a channel's header anywhere.
  void look_for_begin() {
    if (marks_.is_channel) {
      if (tail_.find(marks_.begin) != std::string::npos) return enter_reasoning();
      return bound_tail();
    }
    std::string_view text = tail_;
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.starts_with(marks_.begin)) return enter_reasoning();
    if (!std::string_view(marks_.begin).starts_with(text)) leave_reasoning();
  }

  void count() {
    --n_left_;
    const auto is_there = [this](const std::string& end) { return tail_.find(end) != std::string::npos; };
    if (std::ranges::any_of(marks_.ends, is_there)) return leave_reasoning();
    if (n_left_ == 0) return close();
    bound_tail();
  }

  void close() {
    closing_.begin(*tokenizer_, tail_, marks_.close);
    place_ = closing_.is_open() ? Place::kClosing : Place::kAfter;
  }

  void note_closed() {
    closing_.accept();
    if (closing_.is_open()) return;
    leave_reasoning();
    has_just_closed_ = true;
    not_after_close_ = tokenizer_->find(marks_.not_after_close);
  }

  void leave_reasoning() {
    place_ = marks_.is_channel ? Place::kBefore : Place::kAfter;
    tail_.clear();
  }

  void bound_tail() {
    if (tail_.size() > kMaxTailBytes) tail_.erase(0, tail_.size() - kMaxTailBytes / 2);
  }

  std::shared_ptr<TokenConstraint> inner_;
  text::ReasoningMarks marks_;
  const text::Tokenizer* tokenizer_;
  uint32_t n_left_;  // tokens
  Place place_ = Place::kBefore;
  std::string tail_;    // the end of the text, which may contain a mark
  ForcedText closing_;  // running while in kClosing
  bool has_just_closed_ = false;
  std::optional<TokenId> not_after_close_;
};

}  // namespace

Result<ReasoningWish> reasoning_wish(const ReasoningOptions& options, std::string_view template_source) {
  if (options.budget && (*options.budget < -1 || *options.budget > INT32_MAX)) {
    return invalid_argument(fmt::format("reasoning_budget: expected tokens, or -1, actual {}", *options.budget),
                            "reasoning_budget");
  }
  const bool knows_efforts = has_word(template_source, "reasoning_effort");
  const bool has_switch =
      has_word(template_source, "enable_thinking") || has_word(template_source, "thinking is defined");
  const std::optional<bool> enabled = is_enabled(options);
  ReasoningWish wish;
  int64_t budget = options.budget.value_or(-1);
  if (enabled) {
    wish.variables["enable_thinking"] = *enabled;
    wish.variables["thinking"] = *enabled;
    if (!*enabled) budget = has_switch ? -1 : 0;
  }
  if (options.effort) {
    const Effort* effort = find_effort(*options.effort);
    if (effort == nullptr && !knows_efforts) {
      return invalid_argument(
          fmt::format("reasoning_effort: expected none, minimal, low, medium, high, xhigh or max, actual {}",
                      shown(*options.effort)),
          "reasoning_effort");
    }
    wish.variables["reasoning_effort"] = effort_for(*options.effort, template_source);
    if (!knows_efforts && !options.budget && enabled.value_or(true)) budget = effort->budget;
  }
  if (budget < 0) return wish;
  wish.budget = static_cast<uint32_t>(budget);
  wish.variables["thinking_budget"] = budget;
  return wish;
}

Result<ReasoningPlan> plan_reasoning(const LanguageModel& model, const ReasoningOptions& options) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_TRY(const ReasoningWish wish, reasoning_wish(options, loaded.output_source));
  return ReasoningPlan{wish.variables.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), wish.budget};
}

Result<std::shared_ptr<TokenConstraint>> reasoning_constraint(const LanguageModel& model, uint32_t budget,
                                                              std::span<const TokenId> prompt,
                                                              std::shared_ptr<TokenConstraint> inner) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_CHECK_OK(loaded.require_tokenizer());
  text::AnswerOptions parts;
  text::detect_parts(parts, *loaded.tokenizer, loaded.output_format, prompt);
  return with_reasoning_budget(std::move(inner), *parts.format, *loaded.tokenizer, {budget, parts.starts_in_reasoning});
}

std::shared_ptr<TokenConstraint> with_reasoning_budget(std::shared_ptr<TokenConstraint> inner,
                                                       const text::OutputFormat& format,
                                                       const text::Tokenizer& tokenizer, ReasoningBudget budget) {
  auto marks = text::reasoning_marks(format);
  if (!marks) return inner;
  return std::make_shared<BudgetConstraint>(std::move(inner), std::move(*marks), tokenizer, budget);
}

}  // namespace realizar
