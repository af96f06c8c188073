// Communication between processes that share a model: MPI (ranks/mpi.h), or in tests the threads of one process. A
// process is a rank, 0 to n_ranks - 1. One thread at a time may call; is_lost, error, use and the names may be called
// from any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "realizar/result.h"

namespace realizar {

// Messages that a rank has sent, and its time waiting for others, for benchmarks.
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
  // Ranks on this host, including this one, and this rank's index among them.
  virtual uint32_t n_host_ranks() const = 0;
  virtual uint32_t host_rank() const = 0;
  // "rank 2 (node-b)"
  virtual std::string name_of(uint32_t rank) const = 0;

  // Sends and receives messages, each exactly as long as its bytes, and returns when all are done. May block until a
  // message is received. Messages between two ranks arrive in order. Errors: Internal, as error().
  virtual Status transfer(std::span<const Outgoing> out, std::span<const Incoming> in) = 0;
  // Starts to receive a message, so that its sender need not wait; finish waits for all expected messages and must come
  // before any other message of such a rank is received. Errors: as transfer.
  virtual void expect(const Incoming& message) = 0;
  virtual Status finish() = 0;
  // Waits, possibly for hours, for a message of at most this size and returns its length; after a moment it sleeps
  // between polls. Errors: as transfer.
  virtual Result<size_t> receive(const Incoming& message) = 0;

  // A rank has gone or is silent for too long: all calls, including pending ones, return error() from then on.
  virtual bool is_lost() const = 0;
  // Internal, with the name of the rank and the known cause. Precondition: is_lost().
  virtual Error error() const = 0;
  virtual const ExchangeUse& use() const = 0;
};

}  // namespace realizar
