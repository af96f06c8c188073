// Functions and variables of a library that is opened at run time.
#pragma once

#include <dlfcn.h>

namespace realizar {

// Sets the address of the library's symbol; the caller vouches for its type. False if the library does not have it.
template <class Address>
bool find_symbol(void* library, const char* name, Address& address) {
  address = reinterpret_cast<Address>(::dlsym(library, name));
  return address != nullptr;
}

}  // namespace realizar
