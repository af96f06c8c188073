// How processes that share a model bring each other numbers: MPI (ranks/mpi.h), or in tests the threads of one process.
// A process is a rank, 0 to n_ranks - 1. One thread at a time may call, but is_lost, error, use and the names, which
// any may.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "realizar/result.h"

namespace realizar {

// Messages that a rank has sent, and how long it waited for others, for benchmarks.
struct ExchangeUse {
  std::atomic<uint64_t> n_messages{0}, n_bytes{0};
  std::atomic<uint64_t> wait_ns{0};  // within transfer and finish
};

class Exchange {
 public:
  struct Outgoing {
    uint32_t to;
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    uint32_t from;
    std::span<std::byte> bytes;
  };

  virtual ~Exchange() = default;
  virtual uint32_t rank() const = 0;
  virtual uint32_t n_ranks() const = 0;
  // Ranks on this host, this one included; and how many of them come before this one.
  virtual uint32_t n_host_ranks() const = 0;
  virtual uint32_t host_rank() const = 0;
  // "rank 2 (node-b)"
  virtual std::string name_of(uint32_t rank) const = 0;

  // Sends the messages, receives the others, each exactly as long as its bytes, and returns when all is done. A message
  // that nobody receives yet may be waited for. Messages from one rank to another arrive in their order. Errors:
  // Internal, as error().
  virtual Status transfer(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;
  // Begins to receive a message, so that its sender need not wait; finish waits for all that was expected, before any
  // other message of such a rank is received. Errors: as transfer.
  virtual void expect(const Incoming& message) = 0;
  virtual Status finish() = 0;
  // Waits for a message of at most as many bytes, for hours too, and gives its length: after a moment it sleeps between
  // looks. Errors: as transfer.
  virtual Result<size_t> receive(const Incoming& message) = 0;

  // A rank is gone, or silent for too long: all calls give error() from then on, those under way too.
  virtual bool is_lost() const = 0;
  // Internal, with the name of the rank and what is known of it. Precondition: is_lost().
  virtual Error error() const = 0;
  virtual const ExchangeUse& use() const = 0;
};

}  // namespace realizar
