#include "server/watch/trace_context.h"

#include <gtest/gtest.h>

#include <set>

#include "base/encodings.h"

namespace realizar::server {
namespace {

// The example of the recommendation.
constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kSpan = "00f067aa0ba902b7";
const std::string kParent = std::string("00-") + kTrace + "-" + kSpan + "-01";

TEST(Traceparent, NamesATraceASpanAndWhetherItIsSampled) {
  const auto context = parse_traceparent(kParent);
  ASSERT_TRUE(context);
  EXPECT_EQ(hex_of(context->trace_id), kTrace);
  EXPECT_EQ(hex_of(context->span_id), kSpan);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(to_traceparent(*context), kParent);
}

TEST(Traceparent, IsSampledByItsLowestFlagAlone) {
  const std::string ids = kParent.substr(0, kParent.size() - 2);
  for (const auto& [flags, is_sampled] : {std::pair{"00", false}, {"01", true}, {"02", false}, {"ff", true}}) {
    const auto context = parse_traceparent(ids + flags);
    ASSERT_TRUE(context) << flags;
    EXPECT_EQ(context->is_sampled, is_sampled) << flags;
  }
}

TEST(Traceparent, OfALaterVersionMayGoOn) {
  const std::string rest = kParent.substr(2);
  EXPECT_TRUE(parse_traceparent("01" + rest));
  EXPECT_TRUE(parse_traceparent("cc" + rest + "-what-the-future-brings"));
  EXPECT_FALSE(parse_traceparent("cc" + rest + "."));
  EXPECT_FALSE(parse_traceparent("00" + rest + "-"));
  EXPECT_FALSE(parse_traceparent("ff" + rest));
}

TEST(Traceparent, IsNothingElse) {
  const auto with = [](size_t at, char c) {
    std::string text = kParent;
    text[at] = c;
    return text;
  };
  for (const std::string& text :
       {std::string(), std::string("00"), kParent.substr(0, 54), kParent + "0", " " + kParent, kParent + " ",
        with(2, '_'), with(35, '0'), with(52, '_'), with(0, 'x'), with(3, 'A'), with(36, 'F'), with(53, 'g'),
        with(54, '\0'), std::string("00-") + std::string(32, '0') + "-" + kSpan + "-01",
        std::string("00-") + kTrace + "-" + std::string(16, '0') + "-01"}) {
    EXPECT_FALSE(parse_traceparent(text)) << text;
  }
}

TEST(Tracestate, IsAListOfKeysAndValues) {
  for (const char* text : {"rojo=00f067aa0ba902b7", "rojo=1,congo=t61rcWkgMzE", "a=b , c=d", "a=b,,c=d", "a=b,",
                           "tenant@vendor=x y", "0a_-*/=!~"}) {
    EXPECT_TRUE(is_tracestate(text)) << text;
  }
  for (const char* text : {"", ",", "a", "a=", "=b", "A=b", "_a=b", "a=b=c", "a=b,a=c", "a@b@c=d", "a=\x7f", "a=b\n"}) {
    EXPECT_FALSE(is_tracestate(text)) << text;
  }
}

TEST(Tracestate, HasBounds) {
  const auto list_of = [](size_t n) {
    std::string list;
    for (size_t i = 0; i < n; ++i) list += (i > 0 ? ",k" : "k") + std::to_string(i) + "=v";
    return list;
  };
  EXPECT_TRUE(is_tracestate(list_of(32)));
  EXPECT_FALSE(is_tracestate(list_of(33)));
  EXPECT_TRUE(is_tracestate("a=" + std::string(256, 'b')));
  EXPECT_FALSE(is_tracestate("a=" + std::string(257, 'b')));
  EXPECT_FALSE(
      is_tracestate("a=" + std::string(200, 'b') + ",b=" + std::string(200, 'b') + ",c=" + std::string(200, 'b')));
}

TEST(ServerSpan, GoesOnWithTheCallersTrace) {
  const ServerSpan span = begin_span(kParent, "a=b");
  EXPECT_EQ(hex_of(span.context.trace_id), kTrace);
  EXPECT_EQ(hex_of(span.parent), kSpan);
  EXPECT_NE(span.context.span_id, span.parent);
  EXPECT_TRUE(span.context.is_sampled);
  EXPECT_EQ(span.state, "a=b");
  EXPECT_TRUE(begin_span(kParent, "A").state.empty());
  EXPECT_FALSE(begin_span(kParent.substr(0, 54) + "0", "").context.is_sampled);
}

TEST(ServerSpan, BeginsATraceWhereThereIsNone) {
  std::set<std::string> traces, spans;
  for (int i = 0; i < 1000; ++i) {
    const ServerSpan span = begin_span(i % 2 == 0 ? "" : "rubbish", "a=b");
    EXPECT_FALSE(span.has_parent());
    EXPECT_TRUE(span.context.is_sampled);
    EXPECT_TRUE(span.state.empty());
    traces.insert(hex_of(span.context.trace_id));
    spans.insert(hex_of(span.context.span_id));
  }
  EXPECT_EQ(traces.size(), 1000u);
  EXPECT_EQ(spans.size(), 1000u);
}

}  // namespace
}  // namespace realizar::server
