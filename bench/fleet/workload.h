// Conversations that arrive in bursts, generated from a seed or read from a file: the fleet's input. Turns of a
// conversation contain the previous turns, so all of its prompts are beginnings of one text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "realizar/types.h"

namespace realizar::fleet {

struct Turn {
  uint32_t n_prompt = 0;  // the conversation's tokens up to here are its prompt
  uint32_t n_output = 0;  // the tokens after those are its answer
  double think_s = 0;     // between the end of the previous turn and this one
};

struct Conversation {
  uint64_t id = 0;
  uint32_t tenant = 0;
  double arrival_s = 0;
  std::vector<TokenId> tokens;  // of all turns, including the last answer
  std::vector<Turn> turns;      // at least one

  std::span<const TokenId> prompt(const Turn& turn) const { return std::span(tokens).first(turn.n_prompt); }
  std::span<const TokenId> answer(const Turn& turn) const {
    return std::span(tokens).subspan(turn.n_prompt, turn.n_output);
  }
};

// Returns conversations in the order in which they arrive.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::optional<Conversation> next() = 0;  // nullopt: no more
};

struct WorkloadOptions {
  uint64_t seed = 1;
  double requests_per_s = 1;                // on average
  uint32_t n_tenants = 8;                   // the k-th of them has 1/k of the first one's sessions
  double agent_share = 0.25;                // share of sessions that are bursts of agents; the others are chats
  bool has_short_texts = false;             // prompts of a few hundred tokens
  uint32_t n_ctx = 8192;                    // a conversation ends before it becomes longer
  uint32_t first_id = 256, last_id = 2255;  // of tokens
};

// Endless. A session is a chat of 1 to 8 turns, or a burst of 2 to 8 agents that share a task and run for 2 to 6 turns
// each. Every tenant has a system prompt for its chats and one for its agents.
class GeneratedWorkload final : public Workload {
 public:
  explicit GeneratedWorkload(const WorkloadOptions& options);
  std::optional<Conversation> next() override;

 private:
  struct LaterArrival {
    bool operator()(const Conversation& a, const Conversation& b) const {
      return std::pair(a.arrival_s, a.id) > std::pair(b.arrival_s, b.id);
    }
  };
  struct Lengths {
    uint32_t least, most;
  };

  double uniform();
  uint32_t between(Lengths lengths);
  double exponential(double mean);
  void append_tokens(uint32_t n, std::vector<TokenId>& tokens);
  uint32_t pick_tenant();
  void begin_session();
  void add_chat(uint32_t tenant);
  void add_agents(uint32_t tenant);
  void add_turns(uint32_t n_turns, Lengths output, Lengths message, double mean_think_s, Conversation conversation);

  WorkloadOptions options_;
  std::mt19937_64 random_;
  std::vector<double> tenant_shares_;                               // running sums, the last one is 1
  std::vector<std::vector<TokenId>> chat_prompts_, agent_prompts_;  // [n_tenants]
  double session_s_ = 0;                                            // when the next one begins
  uint64_t n_conversations_ = 0;
  std::priority_queue<Conversation, std::vector<Conversation>, LaterArrival> begun_;
};

// Requests from a file, or from another workload.
class ListedWorkload final : public Workload {
 public:
  explicit ListedWorkload(std::span<const Conversation> conversations) : conversations_(conversations) {}
  std::optional<Conversation> next() override {
    if (next_ == conversations_.size()) return std::nullopt;
    return conversations_[next_++];
  }

 private:
  std::span<const Conversation> conversations_;
  size_t next_ = 0;
};

// Conversations from `workload` until they have n_requests turns in total.
std::vector<Conversation> take_requests(Workload& workload, size_t n_requests);

// Files in the format described in README.md. Errors: InvalidArgument (the file cannot be read or written, or an
// invalid line, with its number).
Status write_workload(const std::string& path, std::span<const Conversation> conversations);
Result<std::vector<Conversation>> read_workload(const std::string& path);

}  // namespace realizar::fleet
