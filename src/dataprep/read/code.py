"""Readers of source code and notebooks: one document per file; `meta` has the path and programming language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.store import files

from .sections import Section, Sections
from .whole_file import Text

LANGUAGES = {
    "Ada": "adb ads", "Assembly": "asm s", "C": "c h", "C#": "cs", "C++": "cc cpp cxx hh hpp hxx", "CMake": "cmake",
    "CSS": "css", "Clojure": "clj cljs", "Common Lisp": "lisp", "Crystal": "cr", "Cuda": "cu cuh", "D": "d",
    "Dart": "dart", "Elixir": "ex exs", "Elm": "elm", "Erlang": "erl hrl", "F#": "fs fsx", "Fortran": "f f90 f95 f03",
    "Go": "go", "Groovy": "groovy", "Haskell": "hs", "Java": "java", "JavaScript": "js jsx mjs cjs", "Julia": "jl",
    "Kotlin": "kt kts", "Lean": "lean", "Lua": "lua", "Makefile": "mk", "Nim": "nim", "Nix": "nix", "OCaml": "ml mli",
    "Objective-C": "m mm", "PHP": "php", "Pascal": "pas", "Perl": "pl pm", "PowerShell": "ps1", "Prolog": "pro",
    "Protocol Buffer": "proto", "Python": "py pyi pyx", "R": "r", "Racket": "rkt", "Ruby": "rb", "Rust": "rs",
    "SQL": "sql", "Scala": "scala", "Scheme": "scm", "Shell": "sh bash zsh", "Solidity": "sol", "Swift": "swift",
    "TOML": "toml", "Tcl": "tcl", "TeX": "tex sty", "TypeScript": "ts tsx", "VHDL": "vhd vhdl", "Verilog": "v sv",
    "Vue": "vue", "YAML": "yaml yml", "Zig": "zig",
}  # fmt: skip
NAMES = {"makefile": "Makefile", "dockerfile": "Dockerfile", "cmakelists.txt": "CMake", "rakefile": "Ruby"}
OF_SUFFIX = {f".{end}": name for name, ends in LANGUAGES.items() for end in ends.split()}


def language_of(url: str) -> str:
    """Return the programming language of a file, by its name; "" if it is not one of source code."""
    return NAMES.get(files.name_of(url).lower()) or OF_SUFFIX.get(files.suffix(url), "")


def is_code(url: str) -> bool:
    """Return whether the name of a file is one of source code."""
    return language_of(url) != ""


@dataclass(frozen=True, kw_only=True)
class Code(Text):
    """Reads source code: one document per file; `meta` has the path, and the programming language of the suffix."""

    def about(self, url: str) -> Mapping[str, Any]:
        """Return the programming language of a file, by its name."""
        language = language_of(url)
        return {"language": language} if language else {}


@dataclass(frozen=True, kw_only=True)
class Notebook(Sections):
    """Reads Jupyter notebooks: one document per file, with its Markdown and code cells, without outputs.

    Code cells are fenced by lines of three backticks, with the language of the notebook.
    """

    def sections(self, data: bytes, piece: Slice, stats: Ledger) -> Iterator[Section]:  # noqa: ARG002
        """Yield the cells as one section. Raises ReadError if the file is not a notebook."""
        try:
            notebook = orjson.loads(data)
        except orjson.JSONDecodeError as e:
            msg = f"the notebook is not valid JSON ({e}); save it again"
            raise ReadError(msg, piece.url) from e
        try:
            sheets = notebook.get("worksheets") or [notebook]  # of version 3
            cells = [cell for sheet in sheets for cell in sheet["cells"]]
            about = notebook.get("metadata") or {}
            info, kernel = about.get("language_info") or {}, about.get("kernelspec") or {}
            language = info.get("name") or kernel.get("language") or "python"
            text = "\n\n".join(filter(None, (_cell(cell, language) for cell in cells)))
        except (AttributeError, KeyError, TypeError) as e:
            msg = "it is not a Jupyter notebook: it has no list of cells with texts; save it again"
            raise ReadError(msg, piece.url) from e
        yield Section(text.encode("utf-8", "replace"), {"language": language, "cells": len(cells)})


def _cell(cell: Mapping[str, Any], language: str) -> str:
    """Return a cell as Markdown; "" if it is empty."""
    source = cell.get("source", cell.get("input", ""))
    text = (source if isinstance(source, str) else "".join(source)).strip("\n")
    is_code = cell.get("cell_type") == "code"
    return f"```{language}\n{text}\n```" if text and is_code else text
