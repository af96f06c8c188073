#!/usr/bin/env python3
"""Prints docs/conformance.md's table: the largest difference of each conformance model's logits from the reference, by
kind of backend, from the output of conformance_test. Usage: conformance_table.py CONFORMANCE_TEST."""
import collections
import re
import subprocess
import sys

LINE = re.compile(r"^(\S+) +(\S+) +(\d\.\d\de[+-]\d\d) of (\d\.\de[+-]\d\d)$", re.MULTILINE)
COLUMNS = [("scalar reference", ["reference"]),
           ("CPU levels", ["portable", "avx2", "avx_vnni", "avx512", "neon", "dotprod", "i8mm"]),
           ("AMX", ["amx", "emulated_amx"]),
           ("CUDA", ["cuda_emulated", "cuda_gpu"])]


def main():
    printed = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    found = collections.defaultdict(dict)
    tolerances = {}
    for name, device, difference, tolerance in LINE.findall(printed):
        found[name][device] = float(difference)
        tolerances[name] = tolerance
    print("| model | tolerance |", " | ".join(title for title, _ in COLUMNS), "|")
    print("|---|---|" + "---|" * len(COLUMNS))
    for name, differences in sorted(found.items()):
        cells = []
        for _, devices in COLUMNS:
            there = [differences[device] for device in devices if device in differences]
            cells.append(f"{max(there):.1e}" if there else "-")
        print(f"| {name} | {tolerances[name]} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
