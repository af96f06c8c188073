#include "hub/curl_library.h"

#include <dlfcn.h>

#include "base/try.h"

namespace realizar::hub {
namespace {

template <class Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool find_symbols(void* library, CurlLibrary& curl) {
  return find_symbol(library, "curl_easy_init", curl.easy_init) &&
         find_symbol(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         find_symbol(library, "curl_easy_reset", curl.easy_reset) &&
         find_symbol(library, "curl_easy_setopt", curl.easy_setopt) &&
         find_symbol(library, "curl_easy_strerror", curl.easy_strerror) &&
         find_symbol(library, "curl_slist_append", curl.slist_append) &&
         find_symbol(library, "curl_slist_free_all", curl.slist_free_all) &&
         find_symbol(library, "curl_multi_init", curl.multi_init) &&
         find_symbol(library, "curl_multi_cleanup", curl.multi_cleanup) &&
         find_symbol(library, "curl_multi_add_handle", curl.multi_add_handle) &&
         find_symbol(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
         find_symbol(library, "curl_multi_perform", curl.multi_perform) &&
         find_symbol(library, "curl_multi_poll", curl.multi_poll) &&
         find_symbol(library, "curl_multi_info_read", curl.multi_info_read);
}

Result<CurlLibrary> open_curl() {
  // The second one is Debian's with another TLS library.
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    CurlLibrary curl{};
    decltype(&curl_global_init) global_init = nullptr;
    const bool is_whole = find_symbol(library, "curl_global_init", global_init) && find_symbols(library, curl);
    if (is_whole && global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return curl;
    ::dlclose(library);
  }
  return unsupported("downloads need libcurl.so.4, which this machine lacks (Debian's package libcurl4)", "libcurl");
}

}  // namespace

Result<const CurlLibrary*> curl_library() {
  static const Result<CurlLibrary> curl = open_curl();
  if (!curl.ok()) return curl.error();
  return &*curl;
}

}  // namespace realizar::hub
