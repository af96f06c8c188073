"""Checks the ctypes structs against the header with a C compiler."""
import ctypes
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from realizar import _library
from support import ROOT

STRUCTS = [
    kind
    for kind in vars(_library).values()
    if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and kind is not ctypes.Structure
]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def compiled(code):
    """The output of a C program."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.c")
        source.write_text(code)
        program = pathlib.Path(folder, "program")
        subprocess.run(
            [COMPILER, "-Wno-pointer-arith", "-Werror", "-I", ROOT / "include", source, "-o", program], check=True
        )
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@unittest.skipUnless(COMPILER, "a C compiler is wanted")
class Declarations(unittest.TestCase):
    def test_every_field_is_where_the_header_has_it(self):
        lines, expected = [], []
        for struct in STRUCTS:
            name = struct.__name__
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            for field, _ in struct._fields_:
                place = getattr(struct, field)
                lines.append(
                    f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));'
                )
                expected.append(f"{name}.{field} {place.offset} {place.size}")
        self.assertGreater(len(STRUCTS), 7)
        self.assertEqual(self.printed(lines), expected)

    def test_numbers_are_the_headers(self):
        pairs = {
            **{f"RZ_{name}": value for name, value in vars(_library).items() if name.isupper() and isinstance(value, int)},
            **{f"RZ_FINISH_{name.upper()}": i for i, name in enumerate(_library.FINISH_REASONS)},
            **{f"RZ_{name.upper()}": i for i, name in enumerate(_library.PART_KINDS)},
        }
        header = (ROOT / "include/realizar/realizar.h").read_text()
        self.assertEqual(header.count("  RZ_FINISH_"), len(_library.FINISH_REASONS))
        lines = [f'printf("{name} %d\\n", {name});' for name in pairs]
        self.assertEqual(self.printed(lines), [f"{name} {value}" for name, value in pairs.items()])

    def test_functions_take_what_the_header_says(self):
        """A call inside sizeof is checked but not run: the compiler refuses a wrong number of arguments, and pointers
        in place of numbers."""
        names = {ctypes.c_int: "int", ctypes.c_int64: "int64_t", ctypes.c_uint32: "uint32_t", ctypes.c_size_t: "size_t"}
        lines, expected = [], []
        for function, (gives, takes) in _library._FUNCTIONS.items():
            values = ", ".join(f"{names[kind]}_value" if kind in names else "pointer" for kind in takes)
            # To GCC and Clang, void has the size 1.
            lines.append(f'printf("{function} %zu\\n", sizeof({function}({values})));')
            expected.append(f"{function} {1 if gives is None else ctypes.sizeof(gives)}")
        given = [f"{name} {name}_value = 0; (void){name}_value;" for name in names.values()]
        self.assertEqual(self.printed(["void* pointer = 0; (void)pointer;", *given, *lines]), expected)

    def printed(self, lines):
        code = '#include <stdio.h>\n#include <stddef.h>\n#include "realizar/realizar.h"\n'
        return compiled(code + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n").splitlines()
