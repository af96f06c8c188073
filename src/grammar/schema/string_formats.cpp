#include "grammar/schema/string_formats.h"

#include <algorithm>
#include <iterator>

namespace realizar::grammar {
namespace {

// RFC 3339, section 5.6, with the days of each month; most programs do not accept the year 0.
#define RZ_YEAR R"(("000" [1-9] | "00" [1-9] [0-9] | "0" [1-9] [0-9]{2} | [1-9] [0-9]{3}))"
#define RZ_FOURTH R"(("0" [48] | [2468] [048] | [13579] [26]))"
#define RZ_LEAP_YEAR "([0-9]{2} (\"04\" | \"08\" | [2468] [048] | [13579] [26]) | " RZ_FOURTH " \"00\")"
#define RZ_DATE                                                                                                 \
  "(" RZ_YEAR R"( "-" (("0" [13578] | "1" [02]) "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ("0" [469] | "11") )" \
  R"("-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | )" RZ_LEAP_YEAR         \
  R"( "-02-29"))"
// A leap second is the last one of a day in UTC, and is only written in UTC here.
#define RZ_FRACTION R"(("." [0-9]{1,32})?)"
#define RZ_TIME                                                                                         \
  R"((([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] )" RZ_FRACTION                           \
  R"( ([Zz] | [+-] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]) | "23:59:60" )" RZ_FRACTION R"( ([Zz] | )" \
  R"([+-] "00:00")))"
// RFC 1123, section 2.1: labels of up to 63 letters, digits and inner hyphens, 253 characters in all. Shorter hosts
// have three long labels, or one before several medium ones, or many short ones.
#define RZ_LABEL(n_inner) "([a-zA-Z0-9] ([a-zA-Z0-9-]{0," #n_inner "} [a-zA-Z0-9])?)"
#define RZ_HOST                                                                                                   \
  "(" RZ_LABEL(61) " (\".\" " RZ_LABEL(61) "){0,2} | " RZ_LABEL(61) " (\".\" " RZ_LABEL(28) "){0,6} | " RZ_LABEL( \
      13) " (\".\" " RZ_LABEL(13) "){0,14})"
#define RZ_OCTET R"(("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9]))"
#define RZ_IPV4 "(" RZ_OCTET " (\".\" " RZ_OCTET "){3})"
// RFC 3986, section 3.2.2 (like RFC 4291, section 2.2): eight groups, with one run of zeros written "::"; the last two
// may be an IPv4 address.
#define RZ_HEX4 "([0-9a-fA-F]{1,4})"
#define RZ_GROUP "(" RZ_HEX4 " \":\")"
#define RZ_LAST "(" RZ_HEX4 " \":\" " RZ_HEX4 " | " RZ_IPV4 ")"
#define RZ_UP_TO(n) "(" RZ_GROUP "{0," #n "} " RZ_HEX4 ")? \"::\""
#define RZ_IPV6                                                                                               \
  "(" RZ_GROUP "{6} " RZ_LAST " | \"::\" " RZ_GROUP "{5} " RZ_LAST                                            \
  " | " RZ_UP_TO(0) " " RZ_GROUP "{4} " RZ_LAST " | " RZ_UP_TO(1) " " RZ_GROUP "{3} " RZ_LAST " | " RZ_UP_TO( \
      2) " " RZ_GROUP "{2} " RZ_LAST                                                                          \
         " | " RZ_UP_TO(3) " " RZ_GROUP " " RZ_LAST                                                           \
                           " | " RZ_UP_TO(4) " " RZ_LAST " | " RZ_UP_TO(5) " " RZ_HEX4 " | " RZ_UP_TO(6) ")"
// RFC 5321, section 4.1.2, without quoted strings: a local part of up to 64 characters.
#define RZ_ATEXT R"([a-zA-Z0-9!#$%&'*+/=?\^_`{|}~-])"
#define RZ_LOCAL                                                                                        \
  "(" RZ_ATEXT "{1,64} | " RZ_ATEXT " (\".\"? " RZ_ATEXT "){0,31} | " RZ_ATEXT "{1,31} \".\" " RZ_ATEXT \
  "{1,32} | " RZ_ATEXT "{1,20} \".\" " RZ_ATEXT "{1,20} \".\" " RZ_ATEXT "{1,20})"
// RFC 3986: percent-encoded, unreserved, sub-delims, ":" and "@".
#define RZ_ENCODED R"("%" [0-9a-fA-F]{2})"
#define RZ_REG_CHAR R"(([a-zA-Z0-9._~!$&'()*+,;=-] | )" RZ_ENCODED ")"
#define RZ_USER_CHAR R"(([a-zA-Z0-9._~!$&'()*+,;=:-] | )" RZ_ENCODED ")"
#define RZ_PCHAR R"(([a-zA-Z0-9._~!$&'()*+,;=:@-] | )" RZ_ENCODED ")"
#define RZ_PATH_CHAR R"(([a-zA-Z0-9._~!$&'()*+,;=:@/-] | )" RZ_ENCODED ")"
#define RZ_QUERY_CHAR R"(([a-zA-Z0-9._~!$&'()*+,;=:@/?-] | )" RZ_ENCODED ")"
#define RZ_AUTHORITY "((" RZ_USER_CHAR "* \"@\")? (\"[\" " RZ_IPV6 " \"]\" | " RZ_REG_CHAR "*) (\":\" [0-9]{0,5})?)"

// For a maxLength that the whole format may exceed.
#define RZ_LONG_EMAIL \
  "(" RZ_ATEXT "{1,64} | " RZ_ATEXT " (\".\"? " RZ_ATEXT "){0,31}) \"@\" " RZ_LABEL(28) " (\".\" " RZ_LABEL(28) "){0," \
                                                                                                                "5}"
#define RZ_SHORT_EMAIL RZ_ATEXT " (\".\"? " RZ_ATEXT "){0,15} \"@\" " RZ_LABEL(13) " (\".\" " RZ_LABEL(13) "){0,3}"
#define RZ_SHORT_URI(n_host, n_path, n_query, n_fragment)                                                            \
  "[a-zA-Z] [a-zA-Z0-9+.-]{0,14} \":\" (\"//\" [a-zA-Z0-9._~-]{0," #n_host                                           \
  "} (\":\" [0-9]{0,5})? (\"/\" " RZ_PATH_CHAR "{0," #n_path "})? | \"/\"? " RZ_PCHAR " " RZ_PATH_CHAR "{0," #n_path \
  "}) (\"?\" " RZ_QUERY_CHAR "{0," #n_query "})? (\"#\" " RZ_QUERY_CHAR "{0," #n_fragment "})?"

const StringFormat kFormats[] = {
    {"date", RZ_DATE, {10, 10}},
    {"time", RZ_TIME, {9, 47}},
    {"date-time", RZ_DATE " [Tt] (" RZ_TIME ")", {20, 58}},
    {"email",
     RZ_LOCAL " \"@\" (" RZ_HOST " | \"[\" (" RZ_IPV4 " | \"IPv6:\" " RZ_IPV6 ") \"]\")",
     {3, 314},
     {{{RZ_LONG_EMAIL, 250}, {RZ_SHORT_EMAIL, 95}}}},
    {"uuid",
     R"([0-9a-fA-F]{8} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{12})",
     {36, 36}},
    {"ipv4", RZ_IPV4, {7, 15}},
    {"ipv6", RZ_IPV6, {2, 45}},
    {"hostname", RZ_HOST, {1, 249}},
    // RFC 3986, section 3.
    {"uri",
     "[a-zA-Z] [a-zA-Z0-9+.-]* \":\" (\"//\" " RZ_AUTHORITY " (\"/\" " RZ_PATH_CHAR "*)? | \"/\" (" RZ_PCHAR
     " " RZ_PATH_CHAR "*)? | " RZ_PCHAR " " RZ_PATH_CHAR "* | \"\") (\"?\" " RZ_QUERY_CHAR "*)? (\"#\" " RZ_QUERY_CHAR
     "*)?",
     {2, kNoMaximum},
     {{{RZ_SHORT_URI(250, 300, 200, 80), 2020}, {RZ_SHORT_URI(63, 40, 10, 3), 255}}}},
};

}  // namespace

const StringFormat* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &StringFormat::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace realizar::grammar
