// Cached prefixes on disk, from one run of a server to the next: the named KV blocks, most recently used first, as the
// backend has them. The files tell prompts, and the key of the blocks' names: only their owner may read them.
//
// A file holds "RZPREFIX", version (u32), block_tokens (u32), fingerprint, block_bytes, n_blocks (u64 each), the key
// (two u64); then for each block its parent's hash, its own, whose it is, how many tokens its name stands for (u64
// each), how many of them a second name stands for and which group of layers it serves (u32 each), the tokens and zeros
// up to block_tokens (i32 each), its bytes, and XXH3 of all these (u64). Of a model with recurrent layers follow
// state_bytes and n_states (u64 each), and the states that come after blocks as blocks do. Integers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "kv/sequence_cache.h"
#include "realizar/result.h"

namespace realizar::engine {

// The beginning of such a file, of whatever version.
inline constexpr std::string_view kPrefixFileBeginning = "RZPREFIX";

// Writes at most max_bytes, to a new file that takes the old one's place when it is on the disk. `fingerprint` stands
// for everything that the bytes depend on: program, weights, config, arithmetic, element type. Gives the number of
// blocks. Errors: InvalidArgument (cannot be written, with the system's reason), with the old file as it was.
Result<uint32_t> save_prefixes(const std::string& path, const kv::BlockPool& pool, const kv::BlockPool* states,
                               const Backend& backend, uint64_t fingerprint, uint64_t max_bytes);

// Takes the key and blocks, and states, into the free lists of idle pools, whose names are forgotten, until it is full
// or the file ends; damaged blocks, and what comes after them, are left out. Gives the number of blocks; 0 where there
// is no file of this fingerprint.
uint32_t load_prefixes(const std::string& path, kv::CachePools pools, Backend& backend, uint64_t fingerprint);

}  // namespace realizar::engine
