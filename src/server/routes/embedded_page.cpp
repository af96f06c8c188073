// The chat page's files as the assembler puts them into the program. cmake/page.cmake writes the list.
#include "server/routes/page.h"

#ifdef RZ_PAGE_FILES

#define RZ_PAGE_FILE(index, name, path)                                          \
  asm(".pushsection .rodata\n"                                                   \
      "rz_page_" #index "_begin: .incbin \"" path                                \
      "\"\n"                                                                     \
      "rz_page_" #index                                                          \
      "_end: .byte 0\n"                                                          \
      ".popsection\n");                                                          \
  extern "C" [[gnu::visibility("hidden")]] const char rz_page_##index##_begin[]; \
  extern "C" [[gnu::visibility("hidden")]] const char rz_page_##index##_end[];
#include RZ_PAGE_FILES
#undef RZ_PAGE_FILE

#define RZ_PAGE_FILE(index, name, path) {name, {rz_page_##index##_begin, rz_page_##index##_end}},

std::span<const realizar::server::PageFile> realizar::server::page_files() {
  static const PageFile kFiles[] = {
#include RZ_PAGE_FILES
  };
  return kFiles;
}

#else

std::span<const realizar::server::PageFile> realizar::server::page_files() {
  return {};
}

#endif
