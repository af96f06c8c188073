// Functions and variables of a library that is opened while the program runs.
#pragma once

#include <dlfcn.h>

namespace realizar {

// Where the library has that name; its type is the caller's word. False: it is not there.
template <class Address>
bool find_symbol(void* library, const char* name, Address& address) {
  address = reinterpret_cast<Address>(::dlsym(library, name));
  return address != nullptr;
}

}  // namespace realizar
