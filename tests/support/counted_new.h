// A counting operator new, for programs that link counted_new.cpp.
#pragma once

namespace realizar::test {

// Calls so far, by all threads, except for those that the emulator of a device makes on behalf of a GPU.
long n_allocations();
// Surrounds the work that a GPU would do by itself.
class DeviceWork {
 public:
  DeviceWork() { ++depth(); }
  ~DeviceWork() { --depth(); }
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
  static bool is_under_way() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

}  // namespace realizar::test
