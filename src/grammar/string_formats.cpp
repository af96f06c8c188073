#include "grammar/string_formats.h"

#include <algorithm>
#include <iterator>

namespace realizar::grammar {
namespace {

// RFC 3339, section 5.6, with the days that each month has; years from 1000.
#define RZ_LEAP_YEAR R"(([1-9][0-9] ("0"[48] | [2468][048] | [13579][26]) | ("1"[26] | [2468][048] | [3579][26]) "00"))"
#define RZ_DATE                                                                                                 \
  R"(([1-9][0-9]{3} "-" (("0"[13578] | "1"[02]) "-" ("0"[1-9] | [12][0-9] | "3"[01]) | ("0"[469] | "11") "-" )" \
  R"(("0"[1-9] | [12][0-9] | "30") | "02-" ("0"[1-9] | "1"[0-9] | "2"[0-8])) | )" RZ_LEAP_YEAR R"( "-02-29"))"
#define RZ_TIME                                                                           \
  R"((("0"[0-9] | "1"[0-9] | "2"[0-3]) ":" [0-5][0-9] ":" [0-5][0-9] ("." [0-9]{1,9})? )" \
  R"(("Z" | [+-] ("0"[0-9] | "1"[0-9] | "2"[0-3]) ":" [0-5][0-9])))"
// RFC 1123: labels of letters, digits and inner hyphens; short enough for the limit of 253 characters in all.
#define RZ_LABEL R"(([a-zA-Z0-9] ([a-zA-Z0-9-]{0,28} [a-zA-Z0-9])?))"
#define RZ_HOST "(" RZ_LABEL " (\".\" " RZ_LABEL "){0,7})"
#define RZ_OCTET R"(("25"[0-5] | "2"[0-4][0-9] | "1"[0-9][0-9] | [1-9]?[0-9]))"
#define RZ_IPV4 "(" RZ_OCTET " (\".\" " RZ_OCTET "){3})"
#define RZ_HEX4 R"([0-9a-fA-F]{1,4})"
#define RZ_GROUP "(" RZ_HEX4 " \":\")"
// RFC 3986: percent-encoded, unreserved, sub-delims, ":" and "@".
#define RZ_PCHAR R"(([a-zA-Z0-9._~!$&'()*+,;=:@-] | "%" [0-9a-fA-F]{2}))"

const StringFormat kFormats[] = {
    {"date", RZ_DATE, {10, 10}},
    {"time", RZ_TIME, {9, 24}},
    {"date-time", RZ_DATE " \"T\" " RZ_TIME, {20, 35}},
    // RFC 5321's dot-string at a host of at least two labels.
    {"email",
     R"(([a-zA-Z0-9!#$%&'*+/=?\^_`{|}~-]{1,20} ("." [a-zA-Z0-9!#$%&'*+/=?\^_`{|}~-]{1,20}){0,2}) "@" )" RZ_LABEL
     " (\".\" " RZ_LABEL "){1,7}",
     {5, 310}},
    {"uuid",
     R"([0-9a-fA-F]{8} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{12})",
     {36, 36}},
    {"ipv4", RZ_IPV4, {7, 15}},
    // RFC 4291, section 2.2: eight groups, of which one run of zeros is written "::".
    {"ipv6",
     "(" RZ_GROUP "{7} " RZ_HEX4 " | " RZ_GROUP "{1,7} \":\" | " RZ_GROUP "{1,6} \":\" " RZ_HEX4 " | " RZ_GROUP
     "{1,5} (\":\" " RZ_HEX4 "){2} | " RZ_GROUP "{1,4} (\":\" " RZ_HEX4 "){3} | " RZ_GROUP "{1,3} (\":\" " RZ_HEX4
     "){4} | " RZ_GROUP "{1,2} (\":\" " RZ_HEX4 "){5} | " RZ_GROUP " (\":\" " RZ_HEX4 "){6} | \":\" ((\":\" " RZ_HEX4
     "){1,7} | \":\"))",
     {2, 39}},
    {"hostname", RZ_HOST, {1, 247}},
    // RFC 3986 with an authority, or a path that does not begin with "//".
    {"uri",
     R"([a-zA-Z] [a-zA-Z0-9+.-]{0,15} ":" ("//" )" RZ_HOST R"( (":" [1-9] [0-9]{0,3})? ("/" ()" RZ_PCHAR
     R"( | "/"){0,400})? | "/" ()" RZ_PCHAR " (" RZ_PCHAR " | \"/\"){0,400})? | " RZ_PCHAR " (" RZ_PCHAR
     R"( | "/"){0,400}) ("?" ()" RZ_PCHAR " | [/?]){0,200})? (\"#\" (" RZ_PCHAR " | [/?]){0,100})?",
     {3, 2400}},
};

}  // namespace

const StringFormat* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &StringFormat::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace realizar::grammar
