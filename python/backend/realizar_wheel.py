"""Builds the wheel: the package's files, librealizar, the libraries that it needs, and the bundled model. Wants no other
package.

pip finds it by pyproject.toml (PEP 517): `pip install ./python` builds the library first. As a program:
realizar_wheel.py OUT_DIR [LIBRARY] takes a library that was built before. The same files give the same bytes.
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
# libstdc++ stays the system's, as in every wheel: a process has one, and another package may need a newer one.
SYSTEM_LIBRARIES = r"^(libstdc\+\+|libgcc_s)\.so"
# e_machine of the ELF header.
MACHINES = {62: "x86_64", 183: "aarch64"}


def project() -> dict:
    return tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]


def version() -> str:
    return re.search(r"project\(realizar VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def platform_of(library: pathlib.Path) -> str:
    with open(library, "rb") as file:
        machine = struct.unpack_from("<H", file.read(20), 18)[0]
    return f"linux_{MACHINES[machine]}"


def strip(library: pathlib.Path, stripped: pathlib.Path) -> None:
    tools = {"linux_aarch64": "aarch64-linux-gnu-strip"} if os.uname().machine == "x86_64" else {}
    tool = tools.get(platform_of(library), "strip")
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


def gather(library: pathlib.Path, work: pathlib.Path, info: str) -> dict[str, bytes]:
    """Every file of the wheel but its RECORD, by its name there."""
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
    # Where the library looks for the model that has the name realizar-tiny.
    files |= {f"realizar/share/realizar/models/realizar-tiny/{path.name}": path.read_bytes() for path in TINY.iterdir()}
    # Where the library's rpath looks, as in the downloads of scripts/package.
    files |= {f"realizar/lib/realizar/{path.name}": path.read_bytes() for path in needed.iterdir()}
    files |= {f"{info}/licenses/third-party/{path.name}": path.read_bytes() for path in licences.iterdir()}
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    tag = f"py3-none-{platform_of(library)}"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: realizar\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    return files


def record(files: dict[str, bytes], info: str) -> str:
    """The hash and size of each file, as the format of wheels has them."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{info}/RECORD,,", ""])


def write(path: pathlib.Path, files: dict[str, bytes]) -> None:
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))  # 1980, before which zip has no dates
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
        files = dict(sorted(gather(library, pathlib.Path(work), info).items()))
    files[f"{info}/RECORD"] = record(files, info).encode()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"realizar-{version()}-py3-none-{platform_of(library)}.whl"
    write(path, files)
    return path


def built_library() -> pathlib.Path:
    subprocess.run([ROOT / "scripts/build", "release", "librealizar"], check=True)
    return ROOT / "build/release/lib/librealizar.so"


# What pip calls.


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    return make_wheel(built_library(), pathlib.Path(wheel_directory)).name


def build_sdist(sdist_directory, config_settings=None) -> str:
    raise RuntimeError("the package is built from a clone of the repository alone")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: realizar_wheel.py OUT_DIR [LIBRARY]")
    chosen = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else built_library()
    print(make_wheel(chosen, pathlib.Path(sys.argv[1])))
