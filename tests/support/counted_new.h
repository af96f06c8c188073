// operator new, counted; a program that links counted_new.cpp has it.
#pragma once

namespace realizar::test {

// Calls so far, by all threads, but for those that the emulator of a device makes in a GPU's place.
long n_allocations();
// Around what a GPU would do by itself.
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
