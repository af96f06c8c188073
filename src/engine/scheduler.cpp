#include "engine/scheduler.h"

#include <algorithm>
#include <tuple>

namespace realizar::engine {
namespace {

constexpr uint32_t kShortReplay = 32;

// The remaining room in a step while it is planned.
struct Room {
  uint32_t n_rows, n_logit_rows, n_prefill;
};

uint32_t n_pending(const Sequence& seq) {
  return seq.n_known() - seq.n_computed();
}

// The number of the next n_tokens that fit, along with their rows that need logits.
uint32_t n_fitting(const Sequence& seq, uint32_t n_tokens, const Room& room) {
  const uint32_t n_unwanted = seq.first_wanted - std::min(seq.first_wanted, seq.n_computed());
  return std::min({n_tokens, room.n_prefill, n_unwanted + room.n_logit_rows});
}

void plan_prefill(uint32_t i, const Sequence& seq, ChunkKind kind, uint32_t n_tokens, Room& room,
                  std::vector<PlannedChunk>& plan) {
  const uint32_t end = seq.n_computed() + n_tokens;
  const uint32_t n_wanted = std::min(n_tokens, end - std::min(end, seq.first_wanted));
  const uint32_t n_logit_rows = seq.wants_first ? 1 : n_wanted;
  plan.push_back({i, n_tokens, kind, n_logit_rows, false});
  room.n_prefill -= n_tokens;
  room.n_logit_rows -= n_logit_rows;
}

// The order in which a tenant's own requests are admitted.
auto own_rank(const Sequence& seq) {
  return std::tuple(seq.request->priority, seq.ending.stats.n_preemptions == 0, seq.id);
}

bool wants_prompt_rows(const Sequence& seq) {
  return !seq.is_decoding() && seq.leader == SeqId{0} && !seq.lacks_mask();
}

void plan_decodes(std::span<const SequencePtr> running, Room& room, std::vector<PlannedChunk>& plan) {
  for (uint32_t i = 0; i < running.size(); ++i) {
    const Sequence& seq = *running[i];
    if (!seq.is_decoding() || n_pending(seq) != 1 || seq.lacks_mask()) continue;
    const uint32_t n_tokens = 1 + static_cast<uint32_t>(seq.drafts.size());
    if (n_tokens > room.n_rows || n_tokens > room.n_logit_rows) continue;
    plan.push_back({i, n_tokens, ChunkKind::kDecode, n_tokens});
    room.n_rows -= n_tokens;
    room.n_logit_rows -= n_tokens;
  }
}

// With recurrent layers, wrong speculative tokens leave a few tokens to recompute: that counts as decoding, not as
// prefill.
void plan_after_drafts(std::span<const SequencePtr> running, Room& room, std::vector<PlannedChunk>& plan) {
  for (uint32_t i = 0; i < running.size(); ++i) {
    const Sequence& seq = *running[i];
    const bool is_short = seq.is_decoding() && n_pending(seq) > 1 && n_pending(seq) <= kShortReplay;
    if (!is_short || !seq.cache.has_states() || n_pending(seq) > room.n_rows || seq.lacks_mask()) continue;
    Room own{room.n_rows, room.n_logit_rows, room.n_rows};
    if (n_fitting(seq, n_pending(seq), own) < n_pending(seq)) continue;
    plan_prefill(i, seq, ChunkKind::kReplay, n_pending(seq), own, plan);
    room.n_rows = own.n_prefill;
    room.n_logit_rows = own.n_logit_rows;
  }
}

bool is_planned(uint32_t i, const std::vector<PlannedChunk>& plan) {
  return std::any_of(plan.begin(), plan.end(), [i](const PlannedChunk& chunk) { return chunk.seq_idx == i; });
}

// If there are prompts too, at most half of the room for prefill.
void plan_replays(std::span<const SequencePtr> running, Room& room, std::vector<PlannedChunk>& plan) {
  const bool has_prompts = std::ranges::any_of(running, [](const SequencePtr& seq) { return wants_prompt_rows(*seq); });
  const uint32_t n_kept = has_prompts ? room.n_prefill / 2 : 0;
  room.n_prefill -= n_kept;
  for (uint32_t i = 0; i < running.size(); ++i) {
    const Sequence& seq = *running[i];
    if (!seq.is_decoding() || n_pending(seq) == 1 || is_planned(i, plan) || seq.lacks_mask()) continue;
    const uint32_t n_tokens = n_fitting(seq, n_pending(seq), room);
    if (n_tokens > 0) plan_prefill(i, seq, ChunkKind::kReplay, n_tokens, room, plan);
  }
  room.n_prefill += n_kept;
}

// False if none of it fits.
bool plan_prompt(uint32_t i, std::span<const SequencePtr> running, uint32_t max_tokens, Room& room,
                 std::vector<PlannedChunk>& plan) {
  const Sequence& seq = *running[i];
  const uint32_t n_left = next_chunk_boundary(seq, running) - seq.n_computed();
  const uint32_t n_tokens = n_fitting(seq, std::min(n_left, max_tokens), room);
  if (n_tokens == 0) return false;
  plan_prefill(i, seq, ChunkKind::kPrompt, n_tokens, room, plan);
  plan.back().keeps_state = n_tokens == n_left && seq.n_computed() + n_left < seq.n_prompt;
  return true;
}

// The prompts other than the oldest, those with the fewest tokens left first.
void plan_short_prompts(std::span<const SequencePtr> running, uint32_t oldest, Room& room,
                        std::vector<PlannedChunk>& plan) {
  const auto n_left = [&](uint32_t i) { return running[i]->n_prompt - running[i]->n_computed(); };
  const size_t first_prompt = plan.size();
  const auto is_planned = [&](uint32_t i) {
    return std::any_of(plan.begin() + static_cast<std::ptrdiff_t>(first_prompt), plan.end(),
                       [i](const PlannedChunk& chunk) { return chunk.seq_idx == i; });
  };
  while (true) {
    uint32_t shortest = oldest;
    for (uint32_t i = oldest + 1; i < running.size(); ++i) {
      if (!wants_prompt_rows(*running[i]) || is_planned(i)) continue;
      if (shortest == oldest || n_left(i) < n_left(shortest)) shortest = i;
    }
    if (shortest == oldest || !plan_prompt(shortest, running, room.n_prefill, room, plan)) return;
  }
}

void plan_prompts(std::span<const SequencePtr> running, Room& room, std::vector<PlannedChunk>& plan) {
  uint32_t oldest = 0, n_prompts = 0;
  for (uint32_t i = static_cast<uint32_t>(running.size()); i-- > 0;) {
    if (!wants_prompt_rows(*running[i])) continue;
    oldest = i;
    ++n_prompts;
  }
  if (n_prompts == 0 || room.n_prefill == 0) return;
  const uint32_t half = n_prompts == 1 ? room.n_prefill : (room.n_prefill + 1) / 2;
  // Held back until the others are planned: the oldest also gets what they leave.
  Room others = room;
  others.n_prefill -= std::min(half, running[oldest]->n_prompt - running[oldest]->n_computed());
  const uint32_t n_kept_rows = std::min(room.n_logit_rows, 1u);
  others.n_logit_rows -= n_kept_rows;
  const uint32_t n_before = others.n_prefill;
  plan_short_prompts(running, oldest, others, plan);
  room.n_prefill -= n_before - others.n_prefill;
  room.n_logit_rows = others.n_logit_rows + n_kept_rows;
  plan_prompt(oldest, running, room.n_prefill, room, plan);
}

// The first of those that do not fit come first in the next step.
void plan_whole_prompts(std::span<const SequencePtr> running, Room& room, std::vector<PlannedChunk>& plan) {
  for (uint32_t i = 0; i < running.size(); ++i) {
    const Sequence& seq = *running[i];
    const uint32_t n_rows = seq.wants_first ? 1 : seq.n_prompt - seq.first_wanted;
    const bool fits = seq.n_prompt <= room.n_prefill && n_rows <= room.n_logit_rows && !seq.lacks_mask();
    if (fits) plan_prefill(i, seq, ChunkKind::kPrompt, seq.n_prompt, room, plan);
  }
}

}  // namespace

void plan_step(std::span<const SequencePtr> running, const StepLimits& limits, std::vector<PlannedChunk>& plan) {
  plan.clear();
  Room room{limits.max_rows, limits.max_logit_rows, 0};
  plan_decodes(running, room, plan);
  plan_after_drafts(running, room, plan);
  room.n_prefill = plan.empty() ? room.n_rows : std::min(room.n_rows, limits.max_prefill_tokens);
  plan_replays(running, room, plan);
  limits.whole_prompts ? plan_whole_prompts(running, room, plan) : plan_prompts(running, room, plan);
}

uint32_t next_chunk_boundary(const Sequence& seq, std::span<const SequencePtr> running) {
  if (!seq.cache.has_states()) return seq.n_prompt;
  uint32_t stop = seq.cache.next_stop(seq.n_prompt);
  for (const SequencePtr& other : running) {
    const bool waits = other->leader == seq.id && other->n_shared > seq.n_computed();
    if (waits) stop = std::min(stop, other->n_shared);
  }
  return stop;
}

StepDemand demand_of(std::span<const SequencePtr> running, size_t n_waiting) {
  StepDemand demand;
  demand.n_prompts = static_cast<uint32_t>(n_waiting);
  for (const SequencePtr& seq : running) {
    if (!seq->is_decoding()) {
      ++demand.n_prompts;
      if (wants_prompt_rows(*seq)) demand.n_prompt_tokens += seq->n_prompt - seq->n_computed();
    } else if (n_pending(*seq) == 1 && !seq->lacks_mask()) {
      ++demand.n_decoding;
      demand.n_decode_rows += 1 + static_cast<uint32_t>(seq->drafts.size());
    }
  }
  return demand;
}

StepWork work_of(std::span<const PlannedChunk> plan) {
  const auto n_tokens_of = [&](ChunkKind kind) {
    uint32_t n_tokens = 0;
    for (const PlannedChunk& chunk : plan) n_tokens += chunk.kind == kind ? chunk.n_tokens : 0;
    return n_tokens;
  };
  return {n_tokens_of(ChunkKind::kDecode), n_tokens_of(ChunkKind::kPrompt), n_tokens_of(ChunkKind::kReplay)};
}

size_t pick_next(std::span<const SequencePtr> waiting, const FairShare& shares, PriorityScope scope) {
  const auto tenant_of = [](const SequencePtr& seq) { return seq->request->tenant; };
  const auto turn = [&](const SequencePtr& seq) { return std::pair(shares.n_tokens(tenant_of(seq)), seq->id); };
  const auto rank = [&](const SequencePtr& seq) {
    return std::tuple(seq->request->priority, seq->ending.stats.n_preemptions == 0, turn(seq));
  };
  const auto comes_before = [](const auto& order) {
    return [&order](const SequencePtr& a, const SequencePtr& b) { return order(a) < order(b); };
  };
  const auto first = std::min_element(waiting.begin(), waiting.end(), comes_before(turn));
  auto next = first;
  for (auto it = waiting.begin(); it != waiting.end(); ++it) {
    const bool competes = scope == PriorityScope::kAll || tenant_of(*it) == tenant_of(*first);
    if (competes && rank(*it) < rank(*next)) next = it;
  }
  return static_cast<size_t>(next - waiting.begin());
}

size_t pick_victim(std::span<const SequencePtr> running, const FairShare& shares, PriorityScope scope) {
  // The most important request of the tenant that came first is never the victim while anything else runs, so some
  // request always finishes.
  const auto rank = [&](const SequencePtr& seq) {
    const uint64_t tenant = seq->request->tenant;
    const bool is_fair = scope == PriorityScope::kTenant;
    return std::tuple(is_fair ? shares.n_running(tenant) : 0, is_fair ? shares.active_since(tenant) : 0,
                      seq->request->priority, seq->id);
  };
  const auto victim =
      std::max_element(running.begin(), running.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return static_cast<size_t>(victim - running.begin());
}

std::optional<size_t> pick_claimant(std::span<const SequencePtr> waiting, const FairShare& shares,
                                    const std::function<bool(const Sequence&)>& can_have_room) {
  const auto turn = [&](const Sequence& seq) { return std::pair(shares.n_tokens(seq.request->tenant), seq.id); };
  const auto is_next_of_tenant = [&](const Sequence& seq) {
    return std::ranges::none_of(waiting, [&](const SequencePtr& other) {
      return other->request->tenant == seq.request->tenant && own_rank(*other) < own_rank(seq);
    });
  };
  std::optional<size_t> claimant;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Sequence& seq = *waiting[i];
    if (!shares.lacks_slot(seq.request->tenant) || (claimant && turn(*waiting[*claimant]) < turn(seq))) continue;
    if (is_next_of_tenant(seq) && can_have_room(seq)) claimant = i;
  }
  return claimant;
}

uint64_t n_beyond_share(std::span<const SequencePtr> running, uint64_t share) {
  uint64_t n = 0;
  for (size_t i = 0; i < running.size(); ++i) {
    const uint64_t tenant = running[i]->request->tenant;
    const bool is_counted = std::ranges::any_of(
        running.first(i), [tenant](const SequencePtr& seq) { return seq->request->tenant == tenant; });
    if (is_counted) continue;
    const uint64_t n_held = n_blocks_of(running, tenant);
    n += n_held - std::min(n_held, share);
  }
  return n;
}

uint64_t n_blocks_of(std::span<const SequencePtr> running, uint64_t tenant) {
  uint64_t n = 0;
  for (const SequencePtr& seq : running) n += seq->request->tenant == tenant ? seq->cache.n_own() : 0;
  return n;
}

size_t pick_block_victim(std::span<const SequencePtr> running) {
  const auto rank = [&](const SequencePtr& seq) {
    return std::tuple(n_blocks_of(running, seq->request->tenant), seq->request->priority, seq->id);
  };
  const auto victim =
      std::max_element(running.begin(), running.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return static_cast<size_t>(victim - running.begin());
}

std::optional<size_t> pick_shed(std::span<const SequencePtr> waiting, const FairShare& shares, uint64_t n_total) {
  const auto n_requests = [&](const SequencePtr& seq) { return shares.n_requests(seq->request->tenant); };
  const auto rank = [&](const SequencePtr& seq) {
    return std::tuple(seq->ending.stats.n_preemptions == 0, n_requests(seq), shares.active_since(seq->request->tenant),
                      seq->request->priority, seq->id);
  };
  const auto last =
      std::max_element(waiting.begin(), waiting.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  const bool is_found = last != waiting.end() && (*last)->ending.stats.n_preemptions == 0 &&
                        n_requests(*last) > share_of(n_total, shares.n_active());
  return is_found ? std::optional(static_cast<size_t>(last - waiting.begin())) : std::nullopt;
}

}  // namespace realizar::engine
