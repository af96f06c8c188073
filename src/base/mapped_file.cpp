#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/files.h"
#include "base/try.h"

namespace realizar {

// Survives reads of mapped files that fail because the file was cut, or a disk or network had an I/O error. The kernel
// sends SIGBUS to the reading thread; the handler maps a page of zeros in place of the missing one and marks the map,
// so that the read completes and the map's owner learns of it. Any other SIGBUS goes to the handler that was installed
// before. All functions here are thread-safe.

// The handler's record of one map. It is never freed, only reused, since a handler may read it at any time.
struct GuardedMap {
  static constexpr uintptr_t kNowhere = UINTPTR_MAX;
  std::atomic<uintptr_t> begin{kNowhere};  // kNowhere: the record is unused
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> taken{false}, faulted{false};
  GuardedMap* next = nullptr;  // fixed once the record is in the list
};

namespace {

// Lock-free, since the handler may interrupt a thread at any instruction.
std::atomic<GuardedMap*> first_guard{nullptr};
struct sigaction action_before {};
uintptr_t page_bytes = 0;

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<GuardedMap*>::is_always_lock_free);

// If the record was released and reused in the meantime, `begin` has changed.
bool holds(const GuardedMap& guard, uintptr_t address) {
  const uintptr_t begin = guard.begin.load(std::memory_order_acquire);
  const uintptr_t end = guard.end.load(std::memory_order_acquire);
  return address >= begin && address < end && guard.begin.load(std::memory_order_acquire) == begin;
}

GuardedMap* guard_of(uintptr_t address) {
  for (GuardedMap* guard = first_guard.load(std::memory_order_acquire); guard != nullptr; guard = guard->next) {
    if (holds(*guard, address)) return guard;
  }
  return nullptr;
}

// Makes the system call directly, since ThreadSanitizer treats mmap as a write to the page, which other threads read at
// the same time.
bool put_zeros_at(uintptr_t address) {
  const uintptr_t page = address / page_bytes * page_bytes;
  return ::syscall(SYS_mmap, page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != -1;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((action_before.sa_flags & SA_SIGINFO) != 0) return action_before.sa_sigaction(signal, info, context);
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN) {
    return action_before.sa_handler(signal);
  }
  // The signal is blocked while its handler runs, so it ends the process on return.
  struct sigaction end_process {};
  end_process.sa_handler = SIG_DFL;
  ::sigaction(signal, &end_process, nullptr);
  ::raise(signal);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error_before = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const bool is_fault = info->si_code > 0;  // not sent by a process
  GuardedMap* guard = is_fault ? guard_of(address) : nullptr;
  if (guard != nullptr && put_zeros_at(address)) {
    guard->faulted.store(true, std::memory_order_release);
  } else {
    pass_on(signal, info, context);
  }
  errno = error_before;
}

void install_handler() {
  page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGBUS, nullptr, &action_before);  // set before the new handler can run
  ::sigaction(SIGBUS, &action, nullptr);
}

GuardedMap* take_free_guard() {
  for (GuardedMap* guard = first_guard.load(std::memory_order_acquire); guard != nullptr; guard = guard->next) {
    if (!guard->taken.exchange(true, std::memory_order_acq_rel)) return guard;
  }
  return nullptr;
}

GuardedMap* add_guard() {
  auto* guard = new GuardedMap;
  guard->taken.store(true, std::memory_order_relaxed);
  guard->next = first_guard.load(std::memory_order_relaxed);
  while (!first_guard.compare_exchange_weak(guard->next, guard, std::memory_order_release)) {
  }
  return guard;
}

// Lets the process survive faults in [data, data + n_bytes). The first call installs the handler.
GuardedMap* guard_map(const std::byte* data, size_t n_bytes) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  GuardedMap* guard = take_free_guard();
  if (guard == nullptr) guard = add_guard();
  const auto begin = reinterpret_cast<uintptr_t>(data);
  guard->faulted.store(false, std::memory_order_relaxed);
  guard->end.store(begin + n_bytes, std::memory_order_release);
  guard->begin.store(begin, std::memory_order_release);
  return guard;
}

// Must be called before the map is unmapped.
void release_guard(GuardedMap* guard) {
  guard->begin.store(GuardedMap::kNowhere, std::memory_order_release);
  guard->taken.store(false, std::memory_order_release);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  RZ_TRY(const OpenFile opened, open_regular_file(path));
  MappedFile file;
  file.path_ = path.string();
  if (opened.n_bytes == 0) return file;
  void* map = ::mmap(nullptr, opened.n_bytes, PROT_READ, MAP_PRIVATE, opened.fd.get(), 0);
  if (map == MAP_FAILED) {
    return invalid_argument("cannot map " + file.path_ + ": " + std::strerror(errno), file.path_);
  }
  file.data_ = static_cast<const std::byte*>(map);
  file.size_ = opened.n_bytes;
  file.version_ = opened.version;
  file.guard_ = guard_map(file.data_, file.size_);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)),
      version_(other.version_),
      guard_(std::exchange(other.guard_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(version_, other.version_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  if (guard_ != nullptr) release_guard(guard_);
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

// A file may shrink after its bytes were read, and then no read has faulted.
Status MappedFile::check() const {
  if (guard_ == nullptr) return {};
  const auto version = version_at(path_);
  const bool is_known = version && version->is_same_file(version_);
  const bool is_shorter = is_known && version->n_bytes < version_.n_bytes;
  if (is_shorter || guard_->faulted.load(std::memory_order_acquire)) {
    return format_error(path_ + ": the file became shorter while it was read, or its disk failed", path_);
  }
  if (!is_known || *version == version_) return {};
  return format_error(path_ + ": the file was written to while it was read", path_);
}

void MappedFile::release(std::span<const std::byte> range) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(range.data() + range.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace realizar
