#include "grammar/pattern.h"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/pattern_parser.h"

namespace realizar::grammar {
namespace {

constexpr uint64_t kMaxUnrolled = 32;
constexpr int kMaxAssertionDepth = 300;

using Kind = PatternNode::Kind;

// Rules for a pattern whose only assertions are ^ at the beginning and $ at the end of its alternatives.
class PatternRules {
 public:
  PatternRules(RuleBook& book, bool is_json) : book_(book), is_json_(is_json) {}

  static bool can_write(const PatternNode& root) { return std::ranges::all_of(root.children, has_plain_middle); }

  ExprId found_in_string(const PatternNode& root) {
    std::vector<ExprId> options;
    for (const PatternNode& option : root.children) {
      std::vector<ExprId> parts;
      if (!begins(option)) parts.push_back(any_text());
      parts.push_back(sequence(middle(option)));
      if (!ends(option)) parts.push_back(any_text());
      options.push_back(book_.sequence(parts));
    }
    return book_.choice(options);
  }

  ExprId whole_text(const PatternNode& root) {
    std::vector<ExprId> options;
    for (const PatternNode& option : root.children) options.push_back(sequence(middle(option)));
    return book_.choice(options);
  }

  ExprId write(const PatternNode& node) {
    switch (node.kind) {
      case Kind::kChars:
        return is_json_ ? book_.string_char_of(node.ranges) : book_.char_of(node.ranges);
      case Kind::kSequence:
        return sequence(node.children);
      case Kind::kRepeat:
        return book_.repeat(write(node.children[0]), node.min, node.max);
      default:
        break;
    }
    std::vector<ExprId> options;
    for (const PatternNode& child : node.children) options.push_back(write(child));
    return book_.choice(options);
  }

  static bool begins(const PatternNode& option) {
    return !option.children.empty() && option.children.front().kind == Kind::kBegin;
  }
  static bool ends(const PatternNode& option) {
    return !option.children.empty() && option.children.back().kind == Kind::kEnd;
  }
  static std::span<const PatternNode> middle(const PatternNode& option) {
    std::span<const PatternNode> parts = option.children;
    if (begins(option)) parts = parts.subspan(1);
    return ends(option) ? parts.first(parts.size() - 1) : parts;
  }

 private:
  static bool has_plain_middle(const PatternNode& option) {
    return std::ranges::none_of(middle(option), &PatternNode::has_assertions);
  }

  ExprId sequence(std::span<const PatternNode> nodes) {
    std::vector<ExprId> parts;
    for (const PatternNode& node : nodes) parts.push_back(write(node));
    return book_.sequence(parts);
  }

  ExprId any_text() { return book_.repeat(book_.string_char(), 0, kNoMaximum); }

  RuleBook& book_;
  bool is_json_;
};

// The texts that may follow a part of a pattern, depending on whether the text begins there. Made on demand.
class Rest {
 public:
  using Make = std::function<Result<TermId>(bool at_begin)>;
  explicit Rest(Make make) : make_(std::move(make)) {}

  Result<TermId> operator()(bool at_begin) {
    auto& known = known_[at_begin ? 1 : 0];
    if (known) return *known;
    RZ_TRY(known, make_(at_begin));
    return *known;
  }

 private:
  Make make_;
  std::optional<TermId> known_[2];
};

// Terms for patterns with any assertions, built from the end to the beginning: a lookahead is the intersection of what
// may follow with what it requires.
class PatternTerms {
 public:
  PatternTerms(Terms& terms, const std::string& path) : terms_(terms), path_(path) {}

  Result<TermId> found(const PatternNode& root) {
    Rest rest([this](bool) { return terms_.everything(); });
    RZ_TRY(const TermId here, build(root, rest, true));
    RZ_TRY(const TermId later, build(root, rest, false));
    const TermId any_char = terms_.chars(normalized({{0, kMaxCodePoint}}));
    const TermId before = terms_.repeat(any_char, 1, kNoMaximum);
    return terms_.any_of({here, terms_.sequence(before, later)});
  }

  Result<TermId> whole(const PatternNode& root) {
    Rest rest([this](bool) { return terms_.empty(); });
    return build(root, rest, true);
  }

 private:
  Error not_built(const std::string& what, const PatternNode& node) const {
    return unsupported(path_ + ": " + what + " is not supported (character " + std::to_string(node.at + 1) + ")",
                       path_);
  }

  Result<TermId> build(const PatternNode& node, Rest& rest, bool at_begin) {
    if (!node.has_assertions) return plain_run(std::span(&node, 1), rest, at_begin);
    if (depth_ > kMaxAssertionDepth) return not_built("a pattern of so many assertions", node);
    ++depth_;
    auto result = with_assertions(node, rest, at_begin);
    --depth_;
    return result;
  }

  Result<TermId> with_assertions(const PatternNode& node, Rest& rest, bool at_begin) {
    if (node.kind == Kind::kBegin) return at_begin ? rest(true) : terms_.none();
    if (node.kind == Kind::kLookahead) return lookahead(node, rest, at_begin);
    if (node.kind == Kind::kSequence) return sequence(node.children, rest, at_begin);
    if (node.kind == Kind::kRepeat) return repeat(node, rest, at_begin);
    if (node.kind == Kind::kEnd) {
      RZ_TRY(const TermId own, rest(at_begin));
      return terms_.all_of({own, terms_.empty()});
    }
    std::vector<TermId> options;
    for (const PatternNode& child : node.children) {
      RZ_TRY(const TermId option, build(child, rest, at_begin));
      options.push_back(option);
    }
    return terms_.any_of(options);
  }

  Result<TermId> lookahead(const PatternNode& node, Rest& rest, bool at_begin) {
    Rest anything([this](bool) { return terms_.everything(); });
    RZ_TRY(const TermId wanted, build(node.children[0], anything, at_begin));
    RZ_TRY(const TermId own, rest(at_begin));
    return terms_.all_of({node.negated ? terms_.complement(wanted) : wanted, own});
  }

  Result<TermId> sequence(std::span<const PatternNode> nodes, Rest& rest, bool at_begin) {
    if (nodes.empty()) return rest(at_begin);
    const auto first_with = std::ranges::find_if(nodes, &PatternNode::has_assertions);
    const size_t n_plain = static_cast<size_t>(first_with - nodes.begin());
    const size_t n_first = std::max<size_t>(n_plain, 1);
    Rest after([&](bool begin) { return sequence(nodes.subspan(n_first), rest, begin); });
    return n_plain > 0 ? plain_run(nodes.first(n_plain), after, at_begin) : build(nodes[0], after, at_begin);
  }

  // Parts without assertions. The rest begins at the text's start only if they are empty.
  Result<TermId> plain_run(std::span<const PatternNode> nodes, Rest& rest, bool at_begin) {
    TermId own = terms_.empty();
    bool can_be_empty = true;
    for (size_t i = nodes.size(); i-- > 0;) {
      own = terms_.sequence(plain(nodes[i]), own);
      can_be_empty = can_be_empty && nodes[i].min_length == 0;
    }
    RZ_TRY(const TermId later, rest(false));
    if (!at_begin || !can_be_empty) return terms_.sequence(own, later);
    RZ_TRY(const TermId now, rest(true));
    if (now == later) return terms_.sequence(own, later);
    return terms_.any_of({now, terms_.sequence(terms_.without(own, terms_.empty()), later)});
  }

  TermId plain(const PatternNode& node) {
    if (node.kind == Kind::kChars) return terms_.chars(node.ranges);
    if (node.kind == Kind::kRepeat) return terms_.repeat(plain(node.children[0]), node.min, node.max);
    if (node.kind == Kind::kChoice) {
      std::vector<TermId> options;
      for (const PatternNode& child : node.children) options.push_back(plain(child));
      return terms_.any_of(options);
    }
    TermId all = terms_.empty();
    for (size_t i = node.children.size(); i-- > 0;) all = terms_.sequence(plain(node.children[i]), all);
    return all;
  }

  // Repeated assertions look at what follows, which includes the other repetitions.
  Result<TermId> repeat(const PatternNode& node, Rest& rest, bool at_begin) {
    const PatternNode& item = node.children[0];
    const bool is_endless = node.max == kNoMaximum;
    if (item.min_length == 0) return not_built("a repetition of what may be only an assertion", node);
    if ((is_endless ? node.min : node.max) > kMaxUnrolled)
      return not_built("so long a repetition of an assertion", node);
    if (!is_endless) return counted(item, node.min, node.max, rest, at_begin);
    const TermId loop = terms_.variable();
    Rest again([loop](bool) { return loop; });
    RZ_TRY(const TermId stop, rest(false));
    RZ_TRY(const TermId more, build(item, again, false));
    terms_.define(loop, terms_.any_of({stop, more}));
    Rest rest_or_again([&](bool begin) -> Result<TermId> {
      if (!begin) return loop;
      RZ_TRY(const TermId none_of_it, rest(true));
      RZ_TRY(const TermId some, build(item, again, true));
      return terms_.any_of({none_of_it, some});
    });
    return counted(item, node.min, node.min, rest_or_again, at_begin);
  }

  Result<TermId> counted(const PatternNode& item, uint64_t min, uint64_t max, Rest& rest, bool at_begin) {
    if (max == 0) return rest(at_begin);
    Rest after([&](bool begin) { return counted(item, min == 0 ? 0 : min - 1, max - 1, rest, begin); });
    RZ_TRY(const TermId once, build(item, after, at_begin));
    if (min > 0) return once;
    RZ_TRY(const TermId none_of_it, rest(at_begin));
    return terms_.any_of({once, none_of_it});
  }

  Terms& terms_;
  const std::string& path_;
  int depth_ = 0;
};

Error too_large(const std::string& path) {
  return unsupported(path + ": the pattern, with its lookaheads and the wanted lengths, takes too large an automaton",
                     path);
}

// Only for `^x{m,n}$` with one code point x: returns x{m,n}.
const PatternNode* only_char(const PatternNode& root) {
  if (root.children.size() != 1) return nullptr;
  const PatternNode& only = root.children[0];
  if (!PatternRules::begins(only) || !PatternRules::ends(only) || only.children.size() != 3) return nullptr;
  const PatternNode& repeat = only.children[1];
  return repeat.kind == Kind::kRepeat && repeat.children[0].kind == Kind::kChars ? &repeat : nullptr;
}

// If no alternative is anchored on both sides, texts may have any length from the pattern's minimum on.
LengthRange lengths_of(const PatternNode& root) {
  const bool is_whole = std::ranges::all_of(
      root.children, [](const auto& option) { return PatternRules::begins(option) && PatternRules::ends(option); });
  return {root.min_length, is_whole ? root.max_length : kNoMaximum};
}

}  // namespace

Result<std::optional<ExprId>> pattern_in_string(RuleBook& book, std::string_view pattern, const LengthRange& wanted,
                                                const std::string& path) {
  RZ_TRY(const PatternNode root, parse_pattern(pattern, path));
  if (PatternRules::can_write(root)) {
    PatternRules rules(book, true);
    const LengthRange lengths = lengths_of(root);
    if (lengths.min >= wanted.min && lengths.max <= wanted.max) return std::optional(rules.found_in_string(root));
    if (const PatternNode* repeat = only_char(root)) {
      const uint64_t min = std::max(repeat->min, wanted.min), max = std::min(repeat->max, wanted.max);
      if (min > max) return std::optional<ExprId>();
      return std::optional(book.repeat(rules.write(repeat->children[0]), min, max));
    }
  }
  Terms terms;
  RZ_TRY(const TermId found, PatternTerms(terms, path).found(root));
  const TermId any_char = terms.chars(normalized({{0, kMaxCodePoint}}));
  const auto machine = terms.machine_of(terms.all_of({found, terms.repeat(any_char, wanted.min, wanted.max)}));
  if (!machine) return too_large(path);
  if (machine->states.empty()) return std::optional<ExprId>();
  return std::optional(expr_of(book, *machine, true));
}

Result<ExprId> regex_in_text(RuleBook& book, std::string_view regex, const std::string& path) {
  RZ_TRY(const PatternNode root, parse_pattern(regex, path));
  if (PatternRules::can_write(root)) return PatternRules(book, false).whole_text(root);
  Terms terms;
  RZ_TRY(const TermId whole, PatternTerms(terms, path).whole(root));
  const auto machine = terms.machine_of(whole);
  if (!machine) return too_large(path);
  if (machine->states.empty()) return invalid_argument(path + ": no text matches this pattern", path);
  return expr_of(book, *machine, false);
}

Result<TermId> texts_with_pattern(Terms& terms, std::string_view pattern, const std::string& path) {
  RZ_TRY(const PatternNode root, parse_pattern(pattern, path));
  return PatternTerms(terms, path).found(root);
}

}  // namespace realizar::grammar
