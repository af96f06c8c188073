"""Builds the wheel: the package's files, librealizar, the libraries that it needs, and the bundled model. Needs no
other package.

pip finds it through pyproject.toml (PEP 517): `pip install ./python` builds the library first. As a program:
realizar_wheel.py OUT_DIR [LIBRARY] uses a library that was built before. The same files give the same bytes.
"""
from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile

PYTHON = pathlib.Path(__file__).resolve().parent.parent
ROOT = PYTHON.parent
TINY = ROOT / "models/realizar-tiny"
# libstdc++ remains the system's, as in every wheel: a process has only one, and another package may need a newer one.
SYSTEM_LIBRARIES = r"^(libstdc\+\+|libgcc_s)\.so"
# e_machine of the ELF header.
MACHINES = {62: "x86_64", 183: "aarch64"}
# Libraries that PEP 600 allows a wheel to need: glibc's and GCC's.
MANYLINUX_LIBRARIES = r"^(ld-linux-(x86-64|aarch64)|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libstdc\+\+|libgcc_s)\.so\."
# The newest versions of GCC's libraries on systems with a given glibc, by auditwheel's policies: glibc, GLIBCXX,
# CXXABI, GCC.
GCC_VERSIONS = [
    ((2, 28), (3, 4, 24), (1, 3, 11), (7, 0, 0)),
    ((2, 31), (3, 4, 28), (1, 3, 12), (7, 0, 0)),
    ((2, 34), (3, 4, 29), (1, 3, 13), (11, 0)),
    ((2, 35), (3, 4, 30), (1, 3, 13), (12, 0, 0)),
    ((2, 39), (3, 4, 33), (1, 3, 15), (14, 0, 0)),
]


def project() -> dict:
    return tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]


def version() -> str:
    return re.search(r"project\(realizar VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def machine_of(library: pathlib.Path) -> str:
    with open(library, "rb") as file:
        return MACHINES[struct.unpack_from("<H", file.read(20), 18)[0]]


def read_elf(*arguments: object) -> str:
    command = ["readelf", "--wide", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def glibc_for(name: str) -> tuple[int, ...]:
    """The oldest glibc with this version of symbols: 2.34 for "GLIBC_2.34"."""
    kind, _, number = name.partition("_")
    if name == "GLIBC_ABI_DT_RELR":
        return 2, 36
    if kind not in ("GLIBC", "GLIBCXX", "CXXABI", "GCC") or not re.fullmatch(r"[0-9.]+", number):
        raise RuntimeError(f"the version {name} of symbols is of no manylinux")
    version = tuple(map(int, number.split(".")))
    if kind == "GLIBC":
        return version[:2]
    column = ("GLIBCXX", "CXXABI", "GCC").index(kind) + 1
    fitting = [row[0] for row in GCC_VERSIONS if version <= row[column]]
    if not fitting:
        raise RuntimeError(f"the version {name} of symbols is newer than those of GCC 14, which the newest manylinux has")
    return fitting[0]


def platform_of(libraries: list[pathlib.Path]) -> str:
    """The manylinux tag of systems that have everything the libraries need besides each other."""
    carried = {library.name for library in libraries}
    glibc = (2, 17)
    for library in libraries:
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", read_elf("--dynamic", library))) - carried
        others = sorted(name for name in needed if not re.match(MANYLINUX_LIBRARIES, name))
        if others:
            raise RuntimeError(f"{library.name} needs {', '.join(others)}, which no manylinux has: the wheel must carry it")
        _, _, versions = read_elf("--version-info", library).partition("Version needs section")
        for file, names in re.findall(r"File: (\S+)((?:.*\n.*Name: \S+)*)", versions):
            if file not in carried:
                glibc = max([glibc, *map(glibc_for, re.findall(r"Name: (\S+)", names))])
    return f"manylinux_{glibc[0]}_{glibc[1]}_{machine_of(libraries[0])}"


def strip(library: pathlib.Path, stripped: pathlib.Path) -> None:
    tools = {"aarch64": "aarch64-linux-gnu-strip"} if os.uname().machine == "x86_64" else {}
    tool = tools.get(machine_of(library), "strip")
    subprocess.run([tool, "--strip-unneeded", "-o", stripped, library], check=True)


def metadata() -> str:
    told = project()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {told['name']}",
        f"Version: {version()}",
        f"Summary: {told['description']}",
        f"License: {told['license']['text']}",
        *(f"Classifier: {classifier}" for classifier in told["classifiers"]),
        f"Requires-Python: {told['requires-python']}",
        "Description-Content-Type: text/markdown",
        "",
        (PYTHON / told["readme"]).read_text(),
    ]
    return "\n".join(lines)


def gather(library: pathlib.Path, work: pathlib.Path, info: str) -> tuple[str, dict[str, bytes]]:
    """The wheel's tag, and all its files except RECORD, by their names in it."""
    stripped, needed, licences = work / "library.so", work / "needed", work / "licences"
    strip(library, stripped)
    carry = [ROOT / "scripts/carry-libraries", "--without", SYSTEM_LIBRARIES, needed, licences, stripped]
    subprocess.run(carry, check=True)
    files = {
        f"realizar/{path.name}": path.read_bytes()
        for path in (PYTHON / "realizar").iterdir()
        if path.suffix == ".py" or path.name == "py.typed"
    }
    files["realizar/lib/librealizar.so.0"] = stripped.read_bytes()
    # The folder where the library looks for the model named realizar-tiny.
    files |= {f"realizar/share/realizar/models/realizar-tiny/{path.name}": path.read_bytes() for path in TINY.iterdir()}
    # The folder in the library's rpath, as in the downloads of scripts/package.
    files |= {f"realizar/lib/realizar/{path.name}": path.read_bytes() for path in needed.iterdir()}
    files |= {f"{info}/licenses/third-party/{path.name}": path.read_bytes() for path in licences.iterdir()}
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    tag = f"py3-none-{platform_of([stripped, *sorted(needed.iterdir())])}"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: realizar\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    return tag, dict(sorted(files.items()))


def record(files: dict[str, bytes], info: str) -> str:
    """The hash and size of each file, in the format of wheels."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{info}/RECORD,,", ""])


def write(path: pathlib.Path, files: dict[str, bytes]) -> None:
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))  # 1980, the first year of zip's dates
    date = time.gmtime(max(epoch, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            archive.writestr(entry, content)


def make_wheel(library: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    info = f"realizar-{version()}.dist-info"
    with tempfile.TemporaryDirectory() as work:
        tag, files = gather(library, pathlib.Path(work), info)
    files[f"{info}/RECORD"] = record(files, info).encode()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"realizar-{version()}-{tag}.whl"
    write(path, files)
    return path


def built_library() -> pathlib.Path:
    subprocess.run([ROOT / "scripts/build", "release", "librealizar"], check=True)
    return ROOT / "build/release/lib/librealizar.so"


# Functions that pip calls.


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    return make_wheel(built_library(), pathlib.Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None) -> str:
    raise RuntimeError("the package is built from a clone of the repository alone")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: realizar_wheel.py OUT_DIR [LIBRARY]")
    chosen = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else built_library()
    print(make_wheel(chosen, pathlib.Path(sys.argv[1])))
