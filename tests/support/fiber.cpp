#include "support/fiber.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define RZ_FIBERS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RZ_FIBERS_ASAN 1
#endif
#endif

#if defined(RZ_FIBERS_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace realizar::test {
namespace {

constexpr size_t kStackBytes = 64u << 10;

}  // namespace

#if defined(__x86_64__)

// ucontext asks the kernel for the signal mask at every switch, which is too slow for tens of millions of them. The
// registers that a call must preserve (System V ABI, section 3.2.1) go to the stack, whose top is swapped.
extern "C" void rz_switch_stacks(void** save_top, void* to_top);
asm(R"(
.text
.type rz_switch_stacks, @function
rz_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rz_switch_stacks, .-rz_switch_stacks
.type rz_enter_fiber, @function
rz_enter_fiber:
  movq %r12, %rdi
  callq *%r13
  ud2
.size rz_enter_fiber, .-rz_enter_fiber
)");
extern "C" void rz_enter_fiber();

struct Fiber::Contexts {
  void *own = nullptr, *caller = nullptr;
  void* caller_fake_stack = nullptr;
  void* own_fake_stack = nullptr;
  const void* caller_stack = nullptr;
  size_t caller_stack_bytes = 0;

  void prepare(std::byte* stack, void (*entry)(Fiber*), Fiber* fiber) {
    const auto top = (reinterpret_cast<uintptr_t>(stack) + kStackBytes) & ~uintptr_t{15};
    auto* words = reinterpret_cast<uintptr_t*>(top) - 9;
    words[0] = words[1] = 0;                        // r15, r14
    words[2] = reinterpret_cast<uintptr_t>(entry);  // r13
    words[3] = reinterpret_cast<uintptr_t>(fiber);  // r12
    words[4] = words[5] = 0;                        // rbx, rbp
    words[6] = reinterpret_cast<uintptr_t>(&rz_enter_fiber);
    own = words;
  }
  void to_fiber() { rz_switch_stacks(&caller, own); }
  void to_caller() { rz_switch_stacks(&own, caller); }
};

#else

struct Fiber::Contexts {
  ucontext_t own, caller;
  void* caller_fake_stack = nullptr;
  void* own_fake_stack = nullptr;
  const void* caller_stack = nullptr;
  size_t caller_stack_bytes = 0;

  // makecontext only passes ints.
  static void enter(unsigned int high, unsigned int low) {
    const uintptr_t bits = (uintptr_t{high} << 32) | low;
    Fiber::enter(reinterpret_cast<Fiber*>(bits));
  }
  void prepare(std::byte* stack, void (*)(Fiber*), Fiber* fiber) {
    const auto bits = reinterpret_cast<uintptr_t>(fiber);
    getcontext(&own);
    own.uc_stack.ss_sp = stack;
    own.uc_stack.ss_size = kStackBytes;
    own.uc_link = nullptr;
    makecontext(&own, reinterpret_cast<void (*)()>(&Contexts::enter), 2, static_cast<unsigned int>(bits >> 32),
                static_cast<unsigned int>(bits));
  }
  void to_fiber() { swapcontext(&caller, &own); }
  void to_caller() { swapcontext(&own, &caller); }
};

#endif

Fiber::Fiber() : stack_(new std::byte[kStackBytes]), contexts_(std::make_unique<Contexts>()) {}
Fiber::~Fiber() = default;

void Fiber::start(const std::function<void()>& body) {
  body_ = &body;
  is_done_ = false;
  contexts_->prepare(stack_.get(), &Fiber::enter, this);
}

bool Fiber::resume() {
#if defined(RZ_FIBERS_ASAN)
  __sanitizer_start_switch_fiber(&contexts_->caller_fake_stack, stack_.get(), kStackBytes);
#endif
  contexts_->to_fiber();
#if defined(RZ_FIBERS_ASAN)
  __sanitizer_finish_switch_fiber(contexts_->caller_fake_stack, nullptr, nullptr);
#endif
  return is_done_;
}

void Fiber::suspend() {
#if defined(RZ_FIBERS_ASAN)
  // A finished fiber does not need its fake stack any more.
  __sanitizer_start_switch_fiber(is_done_ ? nullptr : &contexts_->own_fake_stack, contexts_->caller_stack,
                                 contexts_->caller_stack_bytes);
#endif
  contexts_->to_caller();
#if defined(RZ_FIBERS_ASAN)
  __sanitizer_finish_switch_fiber(contexts_->own_fake_stack, &contexts_->caller_stack, &contexts_->caller_stack_bytes);
#endif
}

void Fiber::enter(Fiber* fiber) {
#if defined(RZ_FIBERS_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &fiber->contexts_->caller_stack, &fiber->contexts_->caller_stack_bytes);
#endif
  (*fiber->body_)();
  fiber->is_done_ = true;
  fiber->suspend();
}

}  // namespace realizar::test
