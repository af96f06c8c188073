// The chat page as the assembler puts it into the program: no tool but the compiler is needed to build it.
#include "server/routes/page.h"

#ifdef RZ_PAGE_FILE

asm(".pushsection .rodata\n"
    "rz_page_begin: .incbin \"" RZ_PAGE_FILE
    "\"\n"
    "rz_page_end: .byte 0\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] const char rz_page_begin[];
extern "C" [[gnu::visibility("hidden")]] const char rz_page_end[];

std::string_view realizar::server::page_html() {
  return {rz_page_begin, rz_page_end};
}

#else

std::string_view realizar::server::page_html() {
  return {};
}

#endif
