"""Write the registered language tags: languages.txt in src/dataprep/unicode.

Run `python scripts/make_languages.py` with the package `langcodes`. Facts alone are taken: the subtags of the IANA
Language Subtag Registry, which langcodes contains, and the usual script of a language in Unicode's CLDR.

- language, script, region, variant: the registered subtags; those for private use are left out.
- replaced: pairs of a subtag and the language that replaces it, such as `iw he`, or whose main form it is, such as
  `arb ar`.
- a script of four letters: the languages that are usually written in it.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from importlib import resources
from pathlib import Path

from langcodes import data_dicts

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "unicode" / "languages.txt"
PRIVATE = ("AA", "ZZ")  # regions
KINDS = ("language", "script", "region", "variant")


def records() -> list[dict[str, str]]:
    """Return the records of the registry; the first one is its date."""
    text = resources.files("langcodes").joinpath("data", "language-subtag-registry.txt").read_text("utf-8")
    parts = [part.replace("\n  ", " ").strip().splitlines() for part in text.split("%%")]
    return [dict(line.split(": ", 1) for line in part if ": " in line) for part in parts]


def main() -> None:
    """Write the file."""
    some = records()
    found: dict[str, list[str]] = defaultdict(list)
    replaced = {k: v for k, v in data_dicts.NORMALIZED_MACROLANGUAGES.items() if "-" not in k + v}
    for one in some[1:]:
        kind, tag = one["Type"], one.get("Subtag", "")
        if kind not in KINDS or ".." in tag or (kind == "region" and tag in PRIVATE):
            continue
        found[kind].append(tag)
        if kind == "language" and "Preferred-Value" in one:
            replaced[tag] = one["Preferred-Value"]
    known = set(found["language"])
    found["replaced"] = [f"{a} {b}" for a, b in sorted(replaced.items()) if {a, b} <= known]
    usual = {tag: likely.split("-")[1] for tag, likely in data_dicts.LIKELY_SUBTAGS.items()}
    for tag in sorted(set(usual) & known - set(replaced)):
        found[usual[tag]].append(tag)
    date = some[0]["File-Date"]
    lines = [f"# Registered language tags (IANA, {date}) and usual scripts (CLDR), by scripts/make_languages.py"]
    for kind in (*KINDS, "replaced", *sorted(set(found) - {*KINDS, "replaced"})):
        lines += textwrap.wrap(f"{kind}: {' '.join(found[kind])}", 120, subsequent_indent=" ")
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
