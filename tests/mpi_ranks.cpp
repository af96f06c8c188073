// A rank that mpi_exchange_test.py starts several times with mpirun: mpi_ranks MODE FOLDER. Each rank logs its actions
// in FOLDER/RANK, one per line: "ready PID" first.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/ranks/mpi.h"

namespace {

using realizar::Exchange;
using realizar::ranks::MpiExchange;
using Bytes = std::vector<std::byte>;

MpiExchange* exchange = nullptr;
volatile std::sig_atomic_t is_ending = 0;
std::atomic<bool> was_told{false};
int log_file = 2;

void write_line(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(log_file, line.data(), line.size()) < 0) ::_exit(4);
}

// Reports a failed call's error, and waits until on_lost is called.
[[noreturn]] void fail(const std::string& what) {
  write_line("failed: " + what);
  while (exchange->is_lost() && !was_told) std::this_thread::yield();
  ::_exit(3);
}
void must(const realizar::Status& status) {
  if (!status.ok()) fail(status.error().message);
}
void must(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

// The bytes of a message, different from all others.
Bytes filled(size_t n, uint32_t from, uint32_t to) {
  Bytes bytes(n);
  uint64_t value = 2'654'435'761u * uint64_t{from * 64 + to + 1} + n;
  for (size_t at = 0; at < n; at += sizeof value) {
    value = value * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    std::memcpy(bytes.data() + at, &value, std::min(sizeof value, n - at));
  }
  return bytes;
}

// Each rank sends to every other one, all at once.
void transfer_all(size_t n) {
  const uint32_t own = exchange->rank(), n_ranks = exchange->n_ranks();
  std::vector<Bytes> sent(n_ranks), received(n_ranks, Bytes(n));
  std::vector<Exchange::Outgoing> out;
  std::vector<Exchange::Incoming> in;
  for (uint32_t other = 0; other < n_ranks; ++other) {
    if (other == own) continue;
    sent[other] = filled(n, own, other);
    out.push_back({other, sent[other]});
    in.push_back({other, received[other]});
  }
  must(exchange->transfer(out, in));
  for (uint32_t other = 0; other < n_ranks; ++other) {
    must(other == own || received[other] == filled(n, other, own), std::to_string(n) + " bytes differ");
  }
}

void send(uint32_t to, std::span<const std::byte> bytes) {
  const Exchange::Outgoing out{to, bytes};
  must(exchange->transfer({&out, 1}, {}));
}
void receive_exactly(uint32_t from, std::span<std::byte> bytes) {
  const Exchange::Incoming in{from, bytes};
  must(exchange->transfer({}, {&in, 1}));
}

// From rank 0 to every other one: messages keep their order, whichever way they are received.
void check_order() {
  constexpr uint32_t kMessages = 200;
  for (uint32_t i = 0; i < kMessages; ++i) {
    const size_t n = i % 7 * 1000;
    if (exchange->rank() == 0) {
      for (uint32_t to = 1; to < exchange->n_ranks(); ++to) send(to, filled(n, i, to));
      continue;
    }
    Bytes bytes(i % 3 == 2 ? 10'000 : n);
    if (i % 3 == 0) receive_exactly(0, bytes);
    if (i % 3 == 1) {
      exchange->expect({0, bytes});
      must(exchange->finish());
    }
    if (i % 3 == 2) {
      const auto received = exchange->receive({0, bytes});
      must(received.ok(), "receive");
      bytes.resize(*received);
    }
    must(bytes == filled(n, i, exchange->rank()), "message " + std::to_string(i) + " differs");
  }
}

// Messages longer than the pieces passed to MPI, and exactly as long as one.
void check_long_messages() {
  for (const size_t n : {size_t{64} << 20, (size_t{128} << 20) + 1, size_t{128} << 20}) {
    if (exchange->rank() == 0) {
      for (uint32_t to = 1; to < exchange->n_ranks(); ++to) send(to, filled(n, 0, to));
    } else {
      Bytes bytes(n);
      const auto received = exchange->receive({0, bytes});
      must(received.ok() && *received == n, "a long message");
      must(bytes == filled(n, 0, exchange->rank()), "a long message differs");
    }
  }
}

void check_exchange() {
  for (const size_t n : {0, 1, 63, 4096, 4097, 100'000, 3'000'000}) transfer_all(n);
  check_order();
  const uint64_t n_messages = exchange->use().n_messages, n_bytes = exchange->use().n_bytes;
  transfer_all(1000);
  const uint64_t n_others = exchange->n_ranks() - 1;
  must(exchange->use().n_messages == n_messages + n_others && exchange->use().n_bytes == n_bytes + 1000 * n_others,
       "the counters are wrong");
  must(exchange->n_host_ranks() == exchange->n_ranks(), "ranks are missing on this host");
  must(exchange->host_rank() == exchange->rank(), "ranks of this host are counted in another order");
  check_long_messages();
  transfer_all(10);
}

// Rank 0 asks continually, the others answer, until SIGTERM.
void serve() {
  Bytes word(8);
  while (exchange->rank() == 0) {
    word[0] = static_cast<std::byte>(is_ending);
    for (uint32_t to = 1; to < exchange->n_ranks(); ++to) send(to, word);
    if (is_ending != 0) return;
    for (uint32_t from = 1; from < exchange->n_ranks(); ++from) receive_exactly(from, word);
  }
  for (;;) {
    Bytes bytes(100);
    const auto n = exchange->receive({0, bytes});
    if (!n.ok()) fail(n.error().message);
    if (bytes[0] != std::byte{0}) return;
    send(0, std::span(bytes).first(*n));
  }
}

// Until SIGTERM, or until the job is lost.
void wait_for_message() {
  Bytes bytes(100);
  const auto n = exchange->receive({exchange->rank() == 0 ? 1u : 0u, bytes});
  if (!n.ok()) fail(n.error().message);
}

void run(std::string_view mode) {
  if (mode == "exchange") check_exchange();
  if (mode == "serve") serve();
  // All others wait until mpirun has to end: idle ranks.
  if (mode == "idle" && exchange->rank() != 0) wait_for_message();
  if (mode == "idle" && exchange->rank() == 0) ::pause();
  if (mode == "leave" && exchange->rank() == 0) wait_for_message();
  if (mode == "abandon" && exchange->rank() != 0) wait_for_message();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto opened = realizar::ranks::open_mpi();
  if (!opened.ok()) {
    write_line(opened.error().message);
    return 1;
  }
  exchange = opened->get();
  const std::string path = std::string(argv[2]) + "/" + std::to_string(exchange->rank());
  log_file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
  std::signal(SIGTERM, [](int) {
    is_ending = 1;
    exchange->set_ending();
  });
  exchange->on_lost([](const realizar::Error& error) {
    write_line("lost: " + error.message);
    was_told = true;
    // The other thread may be stuck in MPI.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ::_exit(3);
  });
  write_line("ready " + std::to_string(::getpid()));
  run(argv[1]);
  opened->reset();
  write_line("ended");
}
