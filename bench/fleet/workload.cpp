#include "workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/caught.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar::fleet {
namespace {

constexpr uint32_t kChatTurns = 8;                      // at most
constexpr uint32_t kLeastAgents = 2, kMostAgents = 8;   // of a burst
constexpr uint32_t kLeastTurns = 2, kMostTurns = 6;     // of an agent
constexpr double kChatThinkS = 20, kAgentThinkS = 1.5;  // means: a person reads and types, a tool runs
constexpr double kBurstS = 0.5;                         // within which the agents of a burst begin
constexpr uint32_t kLengths = 4;                        // of system prompts
constexpr uint32_t kSystemLengths[kLengths] = {128, 512, 1024, 2048},
                   kShortSystemLengths[kLengths] = {48, 96, 160, 256};

constexpr double mean(uint32_t least, uint32_t most) {
  return (least + most) / 2.0;
}

double requests_of_session(double agent_share) {
  const double of_burst = mean(kLeastAgents, kMostAgents) * mean(kLeastTurns, kMostTurns);
  return agent_share * of_burst + (1 - agent_share) * mean(1, kChatTurns);
}

}  // namespace

GeneratedWorkload::GeneratedWorkload(const WorkloadOptions& options)
    : options_(options), random_(options.seed), chat_prompts_(options.n_tenants), agent_prompts_(options.n_tenants) {
  REQUIRE(options.n_tenants > 0 && options.requests_per_s > 0 && options.first_id <= options.last_id);
  double sum = 0;
  for (uint32_t tenant = 0; tenant < options.n_tenants; ++tenant) tenant_shares_.push_back(sum += 1.0 / (tenant + 1));
  for (double& share : tenant_shares_) share /= sum;
  const auto& lengths = options.has_short_texts ? kShortSystemLengths : kSystemLengths;
  for (auto* prompts : {&chat_prompts_, &agent_prompts_}) {
    for (auto& prompt : *prompts) append_tokens(lengths[between({0, kLengths - 1})], prompt);
  }
}

std::optional<Conversation> GeneratedWorkload::next() {
  while (begun_.empty() || begun_.top().arrival_s >= session_s_) begin_session();
  Conversation conversation = begun_.top();
  begun_.pop();
  return conversation;
}

// The standard library's distributions give different numbers in its versions; these do not.
double GeneratedWorkload::uniform() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

uint32_t GeneratedWorkload::between(Lengths lengths) {
  return lengths.least + static_cast<uint32_t>(random_() % (lengths.most - lengths.least + 1));
}

double GeneratedWorkload::exponential(double mean) {
  return -mean * std::log1p(-uniform());
}

void GeneratedWorkload::append_tokens(uint32_t n, std::vector<TokenId>& tokens) {
  for (uint32_t i = 0; i < n; ++i) {
    tokens.push_back(TokenId{static_cast<int32_t>(between({options_.first_id, options_.last_id}))});
  }
}

uint32_t GeneratedWorkload::pick_tenant() {
  const auto share = std::ranges::lower_bound(tenant_shares_, uniform());
  return static_cast<uint32_t>(std::min(share, tenant_shares_.end() - 1) - tenant_shares_.begin());
}

void GeneratedWorkload::begin_session() {
  const uint32_t tenant = pick_tenant();
  uniform() < options_.agent_share ? add_agents(tenant) : add_chat(tenant);
  session_s_ += exponential(requests_of_session(options_.agent_share) / options_.requests_per_s);
}

void GeneratedWorkload::add_chat(uint32_t tenant) {
  const bool is_short = options_.has_short_texts;
  const Lengths output = is_short ? Lengths{8, 24} : Lengths{50, 400};
  const Lengths message = is_short ? Lengths{8, 40} : Lengths{20, 200};
  add_turns(between({1, kChatTurns}), output, message, kChatThinkS, {0, tenant, session_s_, chat_prompts_[tenant], {}});
}

void GeneratedWorkload::add_agents(uint32_t tenant) {
  const bool is_short = options_.has_short_texts;
  const Lengths output = is_short ? Lengths{4, 16} : Lengths{20, 120};
  const Lengths message = is_short ? Lengths{8, 48} : Lengths{50, 400};
  std::vector<TokenId> shared = agent_prompts_[tenant];
  append_tokens(between(is_short ? Lengths{20, 80} : Lengths{100, 800}), shared);  // the task
  const uint32_t n_agents = between({kLeastAgents, kMostAgents});
  for (uint32_t agent = 0; agent < n_agents; ++agent) {
    const double arrival_s = session_s_ + uniform() * kBurstS;
    add_turns(between({kLeastTurns, kMostTurns}), output, message, kAgentThinkS, {0, tenant, arrival_s, shared, {}});
  }
}

void GeneratedWorkload::add_turns(uint32_t n_turns, Lengths output, Lengths message, double mean_think_s,
                                  Conversation conversation) {
  conversation.id = n_conversations_++;
  for (uint32_t turn = 0; turn < n_turns; ++turn) {
    const uint32_t n_message = between(message), n_output = between(output);
    const double think_s = turn == 0 ? 0 : exponential(mean_think_s);
    if (conversation.tokens.size() + n_message + n_output > options_.n_ctx && turn > 0) break;
    append_tokens(n_message, conversation.tokens);
    conversation.turns.push_back({static_cast<uint32_t>(conversation.tokens.size()), n_output, think_s});
    append_tokens(n_output, conversation.tokens);
  }
  begun_.push(std::move(conversation));
}

std::vector<Conversation> take_requests(Workload& workload, size_t n_requests) {
  std::vector<Conversation> conversations;
  size_t n = 0;
  while (n < n_requests) {
    auto conversation = workload.next();
    if (!conversation) break;
    n += conversation->turns.size();
    conversations.push_back(std::move(*conversation));
  }
  return conversations;
}

Status write_workload(const std::string& path, std::span<const Conversation> conversations) {
  std::ofstream file(path);
  for (const Conversation& conversation : conversations) {
    for (size_t turn = 0; turn < conversation.turns.size(); ++turn) {
      const Turn& asked = conversation.turns[turn];
      nlohmann::ordered_json line;
      line["conversation"] = conversation.id;
      line["turn"] = turn;
      line["arrival_s"] = conversation.arrival_s;
      line["think_s"] = asked.think_s;
      line["tenant"] = fmt::format("tenant-{}", conversation.tenant);
      const auto prompt = conversation.prompt(asked);
      line["prompt_tokens"] = std::vector<TokenId>(prompt.begin(), prompt.end());
      line["output_tokens"] = asked.n_output;
      file << line.dump() << '\n';
    }
  }
  file.close();
  if (!file) return invalid_argument("the workload cannot be written to " + path, path);
  return {};
}

namespace {

// A file's conversations while its lines are read.
class Reader {
 public:
  Status take(const nlohmann::json& line) {
    const auto id = line.at("conversation").get<uint64_t>();
    const auto turn = line.at("turn").get<size_t>();
    const auto prompt = line.at("prompt_tokens").get<std::vector<TokenId>>();
    const Turn asked{static_cast<uint32_t>(prompt.size()), line.at("output_tokens").get<uint32_t>(),
                     line.value("think_s", 0.0)};
    if (prompt.empty() || asked.n_output == 0) return wrong("expected a prompt and tokens to generate");
    if (std::ranges::any_of(prompt,
                            [](TokenId token) { return to_index(token) < 0 || to_index(token) > kLargestId; })) {
      return wrong(fmt::format("prompt_tokens: expected ids of 0 to {}", kLargestId));
    }
    const auto [found, is_new] = places_.try_emplace(id, conversations_.size());
    if (is_new) conversations_.push_back({id, tenant(line.at("tenant")), line.at("arrival_s").get<double>(), {}, {}});
    Conversation& conversation = conversations_[found->second];
    if (turn != conversation.turns.size()) {
      return wrong(fmt::format("expected turn {} of conversation {}, actual {}", conversation.turns.size(), id, turn));
    }
    const bool goes_on = turn == 0 || (prompt.size() > end_of(conversation) &&
                                       std::ranges::equal(conversation.prompt(conversation.turns.back()),
                                                          std::span(prompt).first(conversation.turns.back().n_prompt)));
    if (!goes_on) return wrong("expected a prompt that begins with the turn before and its answer");
    conversation.tokens = prompt;
    conversation.turns.push_back(asked);
    return {};
  }

  // The answers of last turns are not in any prompt: arbitrary tokens replace them.
  std::vector<Conversation> finish() {
    for (Conversation& conversation : conversations_) conversation.tokens.resize(end_of(conversation), TokenId{0});
    return std::move(conversations_);
  }

 private:
  static constexpr int32_t kLargestId = 1'000'000;

  static Error wrong(const std::string& message) { return invalid_argument(message, "workload"); }
  static size_t end_of(const Conversation& conversation) {
    return size_t{conversation.turns.back().n_prompt} + conversation.turns.back().n_output;
  }
  uint32_t tenant(const std::string& name) {
    return tenants_.try_emplace(name, static_cast<uint32_t>(tenants_.size())).first->second;
  }

  std::vector<Conversation> conversations_;
  std::map<uint64_t, size_t> places_;
  std::map<std::string, uint32_t> tenants_;
};

}  // namespace

Result<std::vector<Conversation>> read_workload(const std::string& path) {
  std::ifstream file(path);
  if (!file) return invalid_argument("the workload cannot be read: " + path, path);
  Reader reader;
  std::string line;
  for (size_t line_no = 1; std::getline(file, line); ++line_no) {
    const Status taken = caught([&] { return reader.take(nlohmann::json::parse(line)); });
    if (!taken.ok()) return invalid_argument(fmt::format("{}:{}: {}", path, line_no, taken.error().message), path);
  }
  return reader.finish();
}

}  // namespace realizar::fleet
