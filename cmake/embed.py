#!/usr/bin/env python3
"""Writes the chat page as a C++ source: embed.py PAGE.html OUT.cpp; '-' for PAGE: an empty page."""
import pathlib
import sys

page, out = sys.argv[1:]
data = b"" if page == "-" else pathlib.Path(page).read_bytes()
lines = [",".join(str(byte) for byte in data[i : i + 32]) for i in range(0, len(data), 32)]
pathlib.Path(out).write_text(
    '#include "server/page.h"\n\nnamespace realizar::server {\nnamespace {\n\n'
    f"constexpr unsigned char kPage[] = {{{','.join(lines) or '0'}}};\n\n}}  // namespace\n\n"
    "std::string_view page_html() {\n"
    f"  return {{reinterpret_cast<const char*>(kPage), {len(data)}}};\n}}\n\n}}  // namespace realizar::server\n"
)
