// Simulates fleets: README.md in this folder describes the simulation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "fleet.h"

namespace realizar::fleet {
namespace {

struct Args {
  std::vector<uint32_t> n_servers = {3};
  std::vector<std::string> policies = {"round-robin", "conversation", "kv-events"};
  double load = 0, load_each = 0.2;  // requests per second of all servers, or of each
  double seconds = 600, warm_up_s = 120;
  std::optional<double> first_token_s;  // the p99 to reach, for counting servers
  uint32_t max_servers = 4096;          // tried for it
  std::string workload, new_workload;   // files
  size_t n_requests = 300;              // of a new file
  uint32_t n_clients = 0;
  bool has_no_keys = false, has_other_answers = false, has_own_prefill = false, is_json = false;
  std::string machine = "cpu";
  std::vector<std::string> decode_ms;
  std::optional<double> prompt_fixed_ms, prompt_token_ms;
  uint32_t n_tenants = 0;  // 0: two for each load_each of the load
  WorkloadOptions made;
  engine::EngineOptions engine{.n_ctx = 8192, .max_seqs = 64, .choose_on_host = true};
  RouterOptions router;
  double event_delay_ms = 10;
  double noise = 0;
  uint32_t n_repeats = 1;  // with different seeds of the noise
};

// One row of the table.
struct Row {
  uint32_t n_servers;
  Policy policy;
  double load;  // requests per second; 0: by clients
  FleetResult result;
  std::vector<double> hit_rates = {};  // of repeats, ascending; `result` is the last one's
};

// "8:74" means that a step of 8 decode rows takes 74 ms.
Result<StepTimes::Point> read_point(const std::string& text) {
  StepTimes::Point point{};
  char end = 0;
  if (std::sscanf(text.c_str(), "%u:%lf%c", &point.n_rows, &point.ms, &end) == 2 && point.ms > 0) return point;
  return invalid_argument("--decode-ms: expected ROWS:MILLISECONDS, actual " + text, "--decode-ms");
}

Result<StepTimes> step_times(const Args& args) {
  auto times = measured_times(args.machine);
  if (!times) return invalid_argument("--machine: expected cpu or gpu, actual " + args.machine, "--machine");
  if (!args.decode_ms.empty()) times->decode.clear();
  for (const std::string& text : args.decode_ms) {
    RZ_TRY(const StepTimes::Point point, read_point(text));
    times->decode.push_back(point);
  }
  if (!std::ranges::is_sorted(times->decode, {}, &StepTimes::Point::n_rows)) {
    return invalid_argument("--decode-ms: expected ascending numbers of rows", "--decode-ms");
  }
  times->prompt_fixed_ms = args.prompt_fixed_ms.value_or(times->prompt_fixed_ms);
  times->prompt_token_ms = args.prompt_token_ms.value_or(times->prompt_token_ms);
  return *times;
}

Result<std::vector<Policy>> policies(const Args& args) {
  std::vector<Policy> policies;
  for (const std::string& name : args.policies) {
    const auto policy = policy_named(name);
    if (!policy) return invalid_argument("--policy: there is no " + name, "--policy");
    policies.push_back(*policy);
  }
  return policies;
}

// The settings shared by all runs.
struct Plan {
  Args args;
  StepTimes times;
  std::vector<Conversation> listed;  // from a file; empty: generated ones

  WorkloadOptions made(uint32_t n_servers) const {
    WorkloadOptions options = args.made;
    options.n_ctx = args.engine.n_ctx;
    options.requests_per_s = args.load > 0 ? args.load : args.load_each * n_servers;
    const auto n_usual = static_cast<uint32_t>(std::lround(2 * options.requests_per_s / args.load_each));
    options.n_tenants = args.n_tenants > 0 ? args.n_tenants : std::max(4u, n_usual);
    return options;
  }

  uint32_t n_vocab() const {
    int32_t most = static_cast<int32_t>(args.made.last_id);
    for (const Conversation& conversation : listed) {
      for (const TokenId id : conversation.tokens) most = std::max(most, to_index(id));
    }
    return static_cast<uint32_t>(most) + 1;
  }

  // `may_end`: stops as soon as the fleet is overloaded.
  Result<Row> run(uint32_t n_servers, Policy policy, bool may_end = false, uint32_t repeat = 0) const {
    FleetOptions options;
    if (may_end) options.max_open = uint64_t{2} * args.engine.max_seqs * n_servers;
    options.server = {args.engine, times, !args.has_own_prefill, n_vocab(), args.noise};
    options.seed = uint64_t{repeat} << 32;
    options.router = args.router;
    options.router.policy = policy;
    options.router.n_servers = n_servers;
    options.event_delay_s = args.event_delay_ms / 1e3;
    options.n_clients = args.n_clients;
    options.begin_s = args.warm_up_s;
    options.end_s = args.seconds;
    options.has_keys = !args.has_no_keys;
    options.has_other_answers = args.has_other_answers;
    const WorkloadOptions made_options = made(n_servers);
    ListedWorkload listed_workload(listed);
    std::optional<GeneratedWorkload> made_workload;
    if (listed.empty()) made_workload.emplace(made_options);
    Workload& workload = made_workload ? static_cast<Workload&>(*made_workload) : listed_workload;
    RZ_TRY(const FleetResult result, simulate(options, workload));
    return Row{n_servers, policy, listed.empty() ? made_options.requests_per_s : 0, result};
  }

  Result<Row> repeat(uint32_t n_servers, Policy policy) const {
    std::vector<double> hit_rates;
    while (true) {
      RZ_TRY(Row row, run(n_servers, policy, false, static_cast<uint32_t>(hit_rates.size())));
      hit_rates.push_back(row.result.hit_rate());
      if (hit_rates.size() < args.n_repeats) continue;
      std::ranges::sort(hit_rates);
      row.hit_rates = std::move(hit_rates);
      return row;
    }
  }

  // The fewest servers whose p99 is within the limit, or max_servers if those are too few; begins with n_servers.
  Result<Row> fewest(Policy policy, uint32_t n_servers) const {
    uint32_t too_few = 0, enough = 0;
    std::optional<Row> best;
    while (true) {
      RZ_TRY(const Row row, run(n_servers, policy, true));
      if (!row.result.is_overloaded && row.result.first_token_p99_s <= *args.first_token_s) {
        enough = n_servers;
        best = row;
      } else if (n_servers == args.max_servers) {
        return row;
      } else {
        too_few = n_servers;
      }
      if (enough == 0) {
        n_servers = std::min(2 * too_few, args.max_servers);
      } else if (enough - too_few <= 1) {
        return *best;
      } else {
        n_servers = too_few == 0 ? enough / 2 : too_few + (enough - too_few) / 2;
      }
    }
  }
};

nlohmann::ordered_json to_json(const Row& row) {
  const FleetResult& result = row.result;
  return {{"servers", row.n_servers},
          {"policy", to_string(row.policy)},
          {"requests_per_s", row.load},
          {"hit_rate", result.hit_rate()},
          {"hit_rates", row.hit_rates},
          {"first_token_p50_s", result.first_token_p50_s},
          {"first_token_p99_s", result.first_token_p99_s},
          {"first_token_mean_s", result.first_token_mean_s},
          {"busy_mean", result.busy_mean},
          {"busy_most", result.busy_most},
          {"requests", result.n_sent},
          {"requests_measured", result.n_measured},
          {"prompt_tokens", result.n_prompt_tokens},
          {"cached_tokens", result.n_cached_tokens},
          {"output_tokens", result.n_output_tokens},
          {"preemptions", result.n_preemptions},
          {"seconds", result.seconds}};
}

void print_head() {
  fmt::print(
      "| servers | policy | requests/s | hit rate | first token p50, s | p99, s | busy, mean / most | measured |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
}

// The median and the range, if there are several.
std::string hit_rate_of(const Row& row) {
  const std::vector<double>& rates = row.hit_rates;
  if (rates.size() < 2) return fmt::format("{:.1f} %", 100 * row.result.hit_rate());
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100 * rates[rates.size() / 2], 100 * rates.front(),
                     100 * rates.back());
}

void print_row(const Row& row) {
  const FleetResult& result = row.result;
  fmt::print("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.0f} / {:.0f} % | {} |\n", row.n_servers, to_string(row.policy),
             row.load > 0 ? fmt::format("{:g}", row.load) : "clients", hit_rate_of(row), result.first_token_p50_s,
             result.first_token_p99_s, 100 * result.busy_mean, 100 * result.busy_most, result.n_measured);
  std::fflush(stdout);
}

Status run(const Args& args) {
  Plan plan{args, {}, {}};
  RZ_TRY(plan.times, step_times(args));
  RZ_TRY(const auto wanted, policies(args));
  if (!args.new_workload.empty()) {
    GeneratedWorkload workload(plan.made(args.n_servers.front()));
    return write_workload(args.new_workload, take_requests(workload, args.n_requests));
  }
  if (!args.workload.empty()) {
    RZ_TRY(plan.listed, read_workload(args.workload));
    if (args.n_clients == 0) plan.args.warm_up_s = 0;
  }
  auto rows = nlohmann::ordered_json::array();
  if (!args.is_json) print_head();
  const auto show = [&](const Row& row) { args.is_json ? rows.push_back(to_json(row)) : print_row(row); };
  for (const uint32_t n_servers : args.n_servers) {
    for (const Policy policy : wanted) {
      RZ_TRY(const Row row, args.first_token_s ? plan.fewest(policy, n_servers) : plan.repeat(n_servers, policy));
      show(row);
    }
  }
  if (args.is_json) fmt::print("{}\n", rows.dump(2));
  return {};
}

void add_options(CLI::App& app, Args& args) {
  app.add_option("--servers", args.n_servers, "Servers, one run for each number")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000));
  app.add_option("--policy", args.policies,
                 "round-robin, least-open, conversation, prompt (consistent hashing with bounded load), kv-events")
      ->delimiter(',');
  app.add_option("--load-each", args.load_each, "Requests a second for each server")->check(CLI::PositiveNumber);
  app.add_option("--load", args.load, "Requests a second for all servers")->check(CLI::PositiveNumber);
  app.add_option("--first-token-s", args.first_token_s,
                 "Find the fewest servers whose p99 is within this for --load; --servers: where to begin")
      ->check(CLI::PositiveNumber)
      ->needs("--load");
  app.add_option("--max-servers", args.max_servers, "Most servers to try")->check(CLI::Range(1, 100000));
  app.add_option("--seconds", args.seconds, "Seconds until the last turn begins")->check(CLI::PositiveNumber);
  app.add_option("--warm-up-s", args.warm_up_s, "Seconds at the beginning that are not measured")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--workload", args.workload, "File of conversations")->check(CLI::ExistingFile);
  app.add_option("--write-workload", args.new_workload, "Write such a file, without a simulation");
  app.add_option("--requests", args.n_requests, "Minimum number of requests in the file");
  app.add_option("--clients", args.n_clients, "Clients that play conversations one after another, without pauses");
  app.add_option("--seed", args.made.seed, "Seed of the conversations");
  app.add_option("--tenants", args.n_tenants, "Tenants; 0: two for each --load-each of the load, four at least");
  app.add_option("--agents", args.made.agent_share, "Share of sessions that are bursts of agents")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--short", args.made.has_short_texts, "Prompts of a few hundred tokens");
  app.add_option("--first-id", args.made.first_id, "Least id of tokens")->check(CLI::Range(1, 1000000));
  app.add_option("--last-id", args.made.last_id, "Largest id of tokens")->check(CLI::Range(1, 1000000));
  app.add_flag("--no-keys", args.has_no_keys, "All tenants are one to the servers");
  app.add_flag("--other-answers", args.has_other_answers, "Answers are not those that the next turns' prompts have");
  app.add_option("--machine", args.machine, "Measured step times: cpu, gpu");
  app.add_option("--decode-ms", args.decode_ms, "Steps that only decode: ROWS:MS,ROWS:MS,...")->delimiter(',');
  app.add_option("--prompt-fixed-ms", args.prompt_fixed_ms, "That any prompt tokens add to a step")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--prompt-token-ms", args.prompt_token_ms, "That each of them adds")->check(CLI::PositiveNumber);
  app.add_flag("--own-prefill", args.has_own_prefill, "Prompts have an arithmetic of their own (CPUs with BF16)");
  app.add_option("--ctx", args.engine.n_ctx, "Positions of a sequence")->check(CLI::Range(64, 1 << 20));
  app.add_option("--kv-tokens", args.engine.kv_tokens, "Tokens that a server's cache holds; 0: four contexts");
  app.add_option("--max-seqs", args.engine.max_seqs, "Requests that a server runs together")
      ->check(CLI::Range(1, 4096));
  app.add_option("--batch", args.engine.max_batch_tokens, "Rows of a step")->check(CLI::Range(1, 1 << 16));
  app.add_option("--ring-points", args.router.n_ring_points,
                 "Points of a server on the ring; HAProxy: 16 times its weight")
      ->check(CLI::Range(1, 100000));
  app.add_option("--balance-factor", args.router.balance_factor, "Most open requests, in % of the mean")
      ->check(CLI::Range(100, 100000));
  app.add_option("--hashed-tokens", args.router.n_hashed_tokens, "Tokens of the prompt that the policy prompt hashes");
  app.add_option("--overlap-weight", args.router.overlap_weight, "Weight of blocks to compute, for kv-events")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--event-delay-ms", args.event_delay_ms, "Until the router knows of a block")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--noise", args.noise, "Standard deviation of the logarithm of steps' times")
      ->check(CLI::Range(0.0, 2.0));
  app.add_option("--repeats", args.n_repeats, "Runs with other noise: median and range of the hit rate")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", args.is_json, "Print JSON");
}

}  // namespace

int main_of(int argc, char** argv) {
  Args args;
  CLI::App app("Simulates fleets of servers", "fleet_bench");
  add_options(app, args);
  CLI11_PARSE(app, argc, argv);
  if (args.made.first_id > args.made.last_id || args.engine.max_batch_tokens < args.engine.max_seqs) {
    fmt::print(stderr, "fleet_bench: --last-id must be --first-id at least, and --batch --max-seqs\n");
    return 2;
  }
  if (args.engine.kv_tokens == 0) args.engine.kv_tokens = 4 * args.engine.n_ctx;
  const Status status = run(args);
  if (status.ok()) return 0;
  fmt::print(stderr, "fleet_bench: {}\n", status.error().message);
  return 1;
}

}  // namespace realizar::fleet

int main(int argc, char** argv) {
  return realizar::fleet::main_of(argc, argv);
}
