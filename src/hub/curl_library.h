// libcurl, opened when the first call is made. Linked at build time it would have the program load some thirty
// libraries at every start (Kerberos, LDAP, SSH and others), which none but downloads need.
#pragma once

#include <curl/curl.h>

#include "realizar/result.h"

namespace realizar::hub {

struct CurlLibrary {
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_info_read) multi_info_read;
};

// Any thread; the library stays open. Errors: Unsupported where this machine has none.
Result<const CurlLibrary*> curl_library();

}  // namespace realizar::hub
