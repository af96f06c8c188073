#include "server/http/origin_policy.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

int status_of(const OriginPolicy& policy, const Headers& headers, const char* method = "POST",
              Effect effect = Effect::kNone) {
  HttpRequest request;
  request.method = method;
  request.headers = headers;
  const auto refusal = policy.refusal(request, effect);
  return refusal ? refusal->status : 200;
}

TEST(IsLoopback, KnowsNamesAndAddresses) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "localhost:8080", "a.localhost", "127.0.0.1",
                           "127.1.2.3:80", "::1", "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"", "0.0.0.0", "127.0.0.1.evil.example", "localhost.evil.example", "evil-localhost",
                           "128.0.0.1", "::", "[::2]", "127.1", "2130706433", "[", "]", ":", "::1:8080"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(OriginPolicy, OnLoopbackOnlyItsOwnNamesReachIt) {
  const OriginPolicy policy({"127.0.0.1", {"llm.example"}, {}, false, {}});
  for (const char* host : {"localhost:8080", "127.0.0.1", "[::1]:1", "llm.example", "LLM.example:443"}) {
    EXPECT_EQ(status_of(policy, {{"Host", host}}, "GET"), 200) << host;
  }
  for (const char* host : {"evil.example:8080", "a.llm.example", "10.0.0.1", ""}) {
    EXPECT_EQ(status_of(policy, {{"Host", host}}, "GET"), 403) << host;
    EXPECT_EQ(status_of(policy, {{"Host", host}}, "OPTIONS"), 403) << host;
  }
  EXPECT_EQ(status_of(policy, {}), 200);  // HTTP/1.0
}

TEST(OriginPolicy, OnLoopbackNamesThatNoStrangerCanHaveReachItToo) {
  const OriginPolicy policy({"127.0.0.1", {}, {}, false, "desk.example"});
  for (const char* host : {"host.docker.internal:8080", "desk.local", "desk.example", "desk:8080", "10.0.0.1"}) {
    EXPECT_EQ(status_of(policy, {{"Host", host}}, "GET"), 200) << host;
  }
  for (const char* host : {"evil.example:8080", "local.example", "internal.example"}) {
    EXPECT_EQ(status_of(policy, {{"Host", host}}, "GET"), 403) << host;
  }
}

TEST(OriginPolicy, ElsewhereNamesAreCheckedWhereTheyAreKnown) {
  EXPECT_EQ(status_of(OriginPolicy({"0.0.0.0", {}, {}, false, {}}), {{"Host", "gpu-1.lan:8080"}}), 200);
  const OriginPolicy named({"0.0.0.0", {"gpu-1.lan"}, {}, false, {}});
  EXPECT_EQ(status_of(named, {{"Host", "gpu-1.lan:8080"}}), 200);
  EXPECT_EQ(status_of(named, {{"Host", "localhost:8080"}}), 200);
  EXPECT_EQ(status_of(named, {{"Host", "evil.example"}}), 403);
  EXPECT_EQ(status_of(OriginPolicy({"0.0.0.0", {"*"}, {}, false, {}}), {{"Host", "any"}}), 200);
  EXPECT_EQ(status_of(OriginPolicy({"127.0.0.1", {"*"}, {}, false, {}}), {{"Host", "any"}}), 200);
}

TEST(OriginPolicy, WhatReachesFarWantsANameThatNoStrangerCanHave) {
  const auto status = [](const OriginOptions& options, const char* host, const char* method = "POST") {
    return status_of(OriginPolicy(options), {{"Host", host}}, method, Effect::kFarReaching);
  };
  const OriginOptions anywhere{"0.0.0.0", {}, {}, false, "gpu-1.lan"};
  for (const char* host :
       {"10.0.0.1:8080", "[fd00::1]:8080", "::1", "localhost:8080", "a.localhost", "gpu-1:8080", "gpu-1.local",
        "gpu-1.LOCAL.", "host.docker.internal:8080", "gpu-1.lan", "GPU-1.lan:8080", "gpu-1.lan."}) {
    EXPECT_EQ(status(anywhere, host), 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "evil.example.", "gpu-2.lan", "10.0.0.1.evil.example",
                           "10.0.1", "local.example", "gpu-1.lan.evil.example", "a.locals"}) {
    EXPECT_EQ(status(anywhere, host), 403) << host;
    EXPECT_EQ(status(anywhere, host, "GET"), 403) << host;
    EXPECT_EQ(status_of(OriginPolicy(anywhere), {{"Host", host}}), 200) << host;
  }
  EXPECT_EQ(status({"0.0.0.0", {"llm.example"}, {}, false, ""}, "llm.example"), 200);
  EXPECT_EQ(status({"0.0.0.0", {"llm.example"}, {}, false, "gpu-1.lan"}, "gpu-1.lan"), 403);
  EXPECT_EQ(status({"0.0.0.0", {"*"}, {}, false, ""}, "evil.example"), 200);
  EXPECT_EQ(status({"gpu-1.lan", {}, {}, false, ""}, "gpu-1.lan"), 200);
  EXPECT_EQ(status({"0.0.0.0", {}, {}, true, ""}, "evil.example"), 200);
}

TEST(OriginPolicy, PagesOfOtherSitesReachNothingThatActs) {
  const OriginPolicy policy({"127.0.0.1", {}, {"http://a.example"}, false, ""});
  const auto status = [&](Headers headers, const char* method, Effect effect) {
    headers.emplace_back("Host", "localhost:8080");
    return status_of(policy, headers, method, effect);
  };
  const Headers picture{{"Sec-Fetch-Site", "cross-site"}};
  EXPECT_EQ(status(picture, "GET", Effect::kNone), 200);  // a link to the chat page
  EXPECT_EQ(status(picture, "GET", Effect::kFarReaching), 403);
  EXPECT_EQ(status(picture, "POST", Effect::kNone), 403);
  EXPECT_EQ(status(picture, "POST", Effect::kFarReaching), 403);
  for (const char* site : {"same-origin", "same-site", "none", ""}) {
    EXPECT_EQ(status({{"Sec-Fetch-Site", site}}, "GET", Effect::kFarReaching), 200) << site;
    EXPECT_EQ(status({{"Sec-Fetch-Site", site}}, "POST", Effect::kNone), 200) << site;
  }
  const Headers allowed{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://a.example"}};
  EXPECT_EQ(status(allowed, "GET", Effect::kFarReaching), 200);
  EXPECT_EQ(status(allowed, "POST", Effect::kFarReaching), 200);
  const Headers other{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://b.example"}};
  EXPECT_EQ(status(other, "GET", Effect::kFarReaching), 403);
  EXPECT_EQ(status(other, "GET", Effect::kNone), 200);
}

TEST(OriginPolicy, OnlyItsOwnPagesAndThoseOfCorsOriginsMayDoAnything) {
  const OriginPolicy policy({"127.0.0.1", {}, {"http://localhost:3000"}, false, {}});
  const auto of = [&](const char* origin, const char* method = "POST") {
    return status_of(policy, {{"Host", "localhost:8080"}, {"Origin", origin}}, method);
  };
  EXPECT_EQ(of("http://localhost:8080"), 200);
  EXPECT_EQ(of("https://localhost:8080"), 200);  // through a proxy that ends TLS
  EXPECT_EQ(of("http://localhost:3000"), 200);
  for (const char* origin : {"http://evil.example", "http://localhost", "http://localhost:8081", "null", "",
                             "http://localhost:8080.evil.example", "ftp://localhost:8080", "http://127.0.0.1:8080",
                             "chrome-extension://abcdef", "application://x", "http://app://x"}) {
    EXPECT_EQ(of(origin), 403) << origin;
    EXPECT_EQ(of(origin, "DELETE"), 403) << origin;
    EXPECT_EQ(of(origin, "GET"), 200) << origin;
    EXPECT_EQ(of(origin, "OPTIONS"), 200) << origin;
  }
  const OriginPolicy open({"127.0.0.1", {}, {"*"}, false, {}});
  EXPECT_EQ(status_of(open, {{"Host", "localhost"}, {"Origin", "null"}}), 200);
}

TEST(OriginPolicy, PagesOfTheUsersMachineMayAskForAnswersAlone) {
  const auto status = [](const OriginOptions& options, const char* origin, Effect effect,
                         const char* host = "localhost:8080") {
    return status_of(OriginPolicy(options), {{"Host", host}, {"Origin", origin}, {"Sec-Fetch-Site", "cross-site"}},
                     "POST", effect);
  };
  const OriginOptions here{"127.0.0.1", {"llm.example"}, {}, false, {}};
  for (const char* origin : {"http://localhost", "http://localhost:3000", "https://localhost:8443",
                             "http://127.0.0.1:8081", "http://[::1]:1", "https://[::1]"}) {
    EXPECT_EQ(status(here, origin, Effect::kAnswer), 200) << origin;
    EXPECT_EQ(status(here, origin, Effect::kNone), 403) << origin;
    EXPECT_EQ(status(here, origin, Effect::kFarReaching), 403) << origin;
  }
  for (const char* origin : {"http://localhost:3000.evil.example", "http://localhost.evil.example", "http://localhost:",
                             "http://localhost:1/x", "ftp://localhost:1", "http://127.0.0.2:1", "http://a.localhost:1",
                             "http://localhost@evil.example", "http://evil.example", "http://::1", "null", ""}) {
    EXPECT_EQ(status(here, origin, Effect::kAnswer), 403) << origin;
  }
  // Not on a server that others reach too, nor under a name that others know it by.
  EXPECT_EQ(status({"0.0.0.0", {}, {}, false, {}}, "http://localhost:3000", Effect::kAnswer), 403);
  EXPECT_EQ(status(here, "http://localhost:3000", Effect::kAnswer, "llm.example"), 403);
  EXPECT_EQ(status({"127.0.0.1", {}, {}, true, {}}, "http://evil.example", Effect::kAnswer), 200);  // has a key
}

TEST(OriginPolicy, ALocalPageIsOfAnotherServer) {
  const auto is_local_page = [](bool asks_for_keys, const char* origin) {
    HttpRequest request;
    request.headers = {{"Host", "localhost:8080"}, {"Origin", origin}};
    return OriginPolicy({"::1", {}, {"http://localhost:5000"}, asks_for_keys, {}}).is_local_page(request);
  };
  EXPECT_TRUE(is_local_page(false, "http://localhost:3000"));
  EXPECT_FALSE(is_local_page(false, "http://localhost:8080"));
  EXPECT_FALSE(is_local_page(false, "http://localhost:5000"));
  EXPECT_FALSE(is_local_page(false, ""));
  EXPECT_FALSE(is_local_page(true, "http://localhost:3000"));
}

TEST(OriginPolicy, ProgramsWhoseWindowsArePagesMayCall) {
  const OriginPolicy policy({"127.0.0.1", {}, {}, false, {}});
  for (const char* origin : {"app://obsidian.md", "app://-", "tauri://localhost", "file://", "vscode-webview://1a2b",
                             "vscode-file://vscode-app"}) {
    EXPECT_EQ(status_of(policy, {{"Host", "localhost:11434"}, {"Origin", origin}}), 200) << origin;
    EXPECT_TRUE(policy.is_cors_origin(origin));
  }
}

TEST(OriginPolicy, OriginsMayBeAllOfASchemeOrOfAHost) {
  const OriginPolicy policy(
      {"127.0.0.1", {}, {"chrome-extension://*", "http://localhost:*", "http://a.example*"}, false, {}});
  for (const char* origin : {"chrome-extension://abcdef", "http://localhost:3000", "http://a.example*"}) {
    EXPECT_TRUE(policy.is_cors_origin(origin)) << origin;
  }
  for (const char* origin : {"chrome-extension://", "moz-extension://abcdef", "http://localhost",
                             "http://localhost:", "http://localhost:3000.evil.example", "https://localhost:3000",
                             "http://a.example.evil.example"}) {
    EXPECT_FALSE(policy.is_cors_origin(origin)) << origin;
  }
}

TEST(OriginPolicy, WhoeverHasAKeyMayUseItFromAnywhere) {
  const OriginPolicy policy({"127.0.0.1", {}, {}, true, {}});
  EXPECT_EQ(status_of(policy, {{"Host", "llm.example"}, {"Origin", "https://llm.example:444"}}), 200);
}

TEST(OriginPolicy, MessagesAreShort) {
  HttpRequest request;
  request.headers = {{"Host", std::string(30'000, 'x') + ".example"}};
  EXPECT_LT(OriginPolicy({"127.0.0.1", {}, {}, false, {}}).refusal(request)->message.size(), 300u);
}

}  // namespace
}  // namespace realizar::server
