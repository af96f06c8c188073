#!/usr/bin/env python3
"""Prints docs/conformance.md's table of chat templates: their features, as reported by `template --explain`. Usage:
template_table.py REALIZAR"""
import pathlib
import re
import subprocess
import sys

TEMPLATES = pathlib.Path(__file__).parent / "data" / "chat_templates" / "templates"
LINE = re.compile(r"^  (\w+) +(.*)$", re.MULTILINE)


def roles(traits: dict[str, str]) -> str:
    known = [role for role in ("system", "developer") if traits[role] == "yes"]
    return ", ".join(known) or "neither: the first user's turn"


def later_system(traits: dict[str, str]) -> str:
    return "in place" if traits["later_system"] == "yes" else "a user's turn"


def neighbours(traits: dict[str, str]) -> str:
    return "as they are" if traits["user_neighbours"] == "yes" else "joined"


def calls(traits: dict[str, str]) -> str:
    if traits["calls"] == "no":
        return "as text"
    return "together" if traits["parallel_calls"] == "yes" else "a message each"


def results(traits: dict[str, str]) -> str:
    return "a role" if traits["results"] == "yes" else "a user's turn"


COLUMNS = {
    "system, developer": roles,
    "later system text": later_system,
    "neighbours of one role": neighbours,
    "two calls": calls,
    "results": results,
    "text with calls": lambda traits: traits["text_with_calls"],
    "ids": lambda traits: traits["call_ids"],
    "arguments": lambda traits: traits["arguments"],
    "thoughts": lambda traits: traits["thoughts"],
    "tools": lambda traits: traits["tools"],
    "fields given to tools": lambda traits: traits["tool_fields"] or "none",
}


def traits_of(realizar: str, path: pathlib.Path) -> dict[str, str]:
    printed = subprocess.run([realizar, "template", "--template", path, "--explain"], capture_output=True, text=True,
                             check=True).stdout
    return dict(LINE.findall(printed))


def main() -> None:
    print("| template |", " | ".join(COLUMNS), "|")
    print("|---|" + "---|" * len(COLUMNS))
    for path in sorted(TEMPLATES.iterdir()):
        traits = traits_of(sys.argv[1], path)
        print(f"| {path.stem} |", " | ".join(tell(traits) for tell in COLUMNS.values()), "|")


if __name__ == "__main__":
    main()
