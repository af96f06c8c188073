#include "grammar/set_memo.h"

#include <algorithm>

namespace realizar::grammar {

SetId SetMemo::find(uint64_t key) const {
  const std::vector<Entry>& slots = parts_[key % kParts].slots;
  if (slots.empty()) return 0;
  const size_t mask = slots.size() - 1;
  size_t at = key / kParts & mask;
  while (slots[at].key != 0 && slots[at].key != key) at = (at + 1) & mask;
  return slots[at].set;
}

void SetMemo::insert(uint64_t key, SetId set) {
  Part& part = parts_[key % kParts];
  if (2 * ++part.n_entries > part.slots.size()) grow(part);
  put(part.slots, {key, set});
}

void SetMemo::put(std::vector<Entry>& slots, Entry entry) {
  const size_t mask = slots.size() - 1;
  size_t at = entry.key / kParts & mask;
  while (slots[at].key != 0) at = (at + 1) & mask;
  slots[at] = entry;
}

void SetMemo::grow(Part& part) {
  std::vector<Entry> larger(std::max<size_t>(8, 2 * part.slots.size()));
  for (const Entry& entry : part.slots) {
    if (entry.key != 0) put(larger, entry);
  }
  n_slots_ += larger.size() - part.slots.size();
  part.slots = std::move(larger);
}

}  // namespace realizar::grammar
