"""Cut text into words by a state machine from `patterns.py`: one table look-up per character.

The classes of characters (letter, mark, number, space) are those of `tiktoken`'s own regex engine, so that both use the
same version of Unicode. For the versions of `tiktoken` named in `engine.txt`, the classes are read from this file,
which scripts/make_engine.py writes. Any other version is queried for every character, which takes a few tenths of a
second.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tiktoken

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, Int, code_point

from .patterns import SPECIAL, lines_of, machine_name

CLASSES = "aslveASLVExMN_wno'/$"
ALSO_MEANT = {"a": "slve", "A": "SLVE", "o": "'/"}  # a class in a line covers these too, unless the line names them
END = len(CLASSES) - 1
BEGIN = 0  # the state before the first character of a text
STATE, BACK, CUT = 32, 3, 4  # a move: the next state times 32; cuts taken back (two bits); whether a cut is set


class Machine(NamedTuple):
    """The state machine that divides text into words as a pattern does, as tables for compiled code.

    Attributes:
        classes: uint8[0x110000], the class of every code point.
        moves: uint16[states * 32], for each state * 32 + class of the next character: the new state, and whether to set
            a cut, or to remove up to three.
    """

    classes: U8  # the class of every code point, uint8[0x110000]
    moves: U16  # the move for each state times 32 plus class, uint16[states * 32]


@cache
def machine_of(pattern: str) -> Machine | None:
    """Return the state machine that cuts text as the regular expression `pattern` does; None if there is none."""
    found = machine_name(pattern)
    return None if found is None else Machine(_classes(found[0]), _moves(*found))


@cache
def _classes(name: str) -> U8:
    code = {c: np.uint8(i) for i, c in enumerate(CLASSES)}
    table = np.full(0x110000, code["o"], np.uint8)
    found = classes_of_engine()
    for kind in "aAxMN":
        table[found[kind]] = code[kind]
    if name != "o200k":
        table[np.isin(table, [code["A"], code["x"]])] = code["a"]
        table[found["M"]] = code["a" if name == "words" else "o"]
    table[found["w"]] = code["w"]
    table[[10, 13]], table[32] = code["n"], code["_"]
    for chars, kind in SPECIAL[name].items():
        table[[ord(c) for c in chars]] = code[kind]
    table.flags.writeable = False
    return table


@cache
def classes_of_engine() -> dict[str, npt.NDArray[np.int64]]:
    """Return the code points of each class of characters, as `tiktoken`'s regex engine sees them: {class: int64[m]}.

    Classes: "a" small, "A" capital and "x" other letters, "M" marks, "N" numbers, "w" white space.
    """
    versions, stored = stored_classes()
    return stored if tiktoken.__version__ in versions else asked_classes()


def stored_classes() -> tuple[list[str], dict[str, npt.NDArray[np.int64]]]:
    """Return the content of `engine.txt`: versions of `tiktoken`, and the result of `asked_classes` for each."""
    head, *sections = resources.files(__package__).joinpath("engine.txt").read_text(encoding="utf-8").split("\n[")
    found = {}
    for section in sections:
        ranges = [[int(end, 16) for end in span.split("-")] for span in section[2:].split()]
        found[section[0]] = np.concatenate([np.arange(ends[0], ends[-1] + 1) for ends in ranges])
    return head.partition(":")[2].split(), found


def asked_classes() -> dict[str, npt.NDArray[np.int64]]:
    """Return the classes of the installed `tiktoken`, by matching every character."""
    planes = [*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xF0000)]  # the others are empty or private
    text = matched(r"[\p{L}\p{M}\p{N}\s]+", "".join(map(chr, planes)))
    kinds = {"a": r"\p{Ll}", "A": r"[\p{Lu}\p{Lt}]", "x": r"[\p{Lm}\p{Lo}]", "M": r"\p{M}", "N": r"\p{N}", "w": r"\s"}
    return {kind: np.array([ord(c) for c in matched(f"{regex}+", text)]) for kind, regex in kinds.items()}


def matched(regex: str, text: str) -> str:
    """Return all matches of a regular expression in a text, joined, as the regex engine of `tiktoken` finds them."""
    single = {bytes([b]): b for b in range(256)}
    engine = tiktoken.Encoding("classes", pat_str=regex, mergeable_ranks=single, special_tokens={})
    return engine.encode_to_numpy(text).astype(np.uint8).tobytes().decode()


def _moves(name: str, numbers: str) -> U16:
    """Return a machine's table of moves."""
    lines = lines_of(name, numbers)
    number = {line[0]: i for i, line in enumerate(lines)} | {"end": 0}
    first = _targets(lines[0])
    moves = np.zeros((len(lines), STATE), np.uint16)
    for i, line in enumerate(lines):
        targets = {c: f"+{to}" for c, to in first.items()} | _targets(line) if i else first
        for c, to in targets.items():
            back, cut, state = to.count("-"), to.count("+"), number[to.lstrip("+-")]
            moves[i, CLASSES.index(c)] = state * STATE + back + CUT * cut
    flat = moves.reshape(-1)
    flat.flags.writeable = False
    return flat


def _targets(line: list[str]) -> dict[str, str]:
    found = dict(zip(line[1::2], line[2::2], strict=True))
    each = {c: to for chars, to in found.items() for c in chars}
    return {c: each[kind] for kind in ALSO_MEANT if kind in each for c in ALSO_MEANT[kind]} | each


@kernel(inline="always")
def _row(move: Int) -> Int:
    """Return the index of the first move of the state to which a move leads."""
    return np.uint64(move) & np.uint64(0xFFE0)


@kernel
def cut(data: U8, i: Int, stop: Int, move: Int, machine: Machine, ends: I64, k: Int) -> tuple[Int, Int, Int, Int]:
    """Cut a text that ends before byte `stop` into words, from byte `i` on, until it ends or `ends` is full.

    - move: the last number taken from `machine.moves` (BEGIN at the text's first byte).
    - ends, k: the ends of the words so far are ends[:k].

    Returns the new values of i, move and k, with which the next call continues, and the number of ends that are final:
    until the text has ended, the last two may be removed again.
    """
    classes, moves = machine.classes, machine.moves
    i, stop, k, most = np.uint64(i), np.uint64(stop), np.uint64(k), np.uint64(len(ends) - 1)
    move = np.uint64(move)
    while i < stop and k < most:
        b = np.uint64(data[i])
        if b < np.uint64(0x80):
            size = np.uint64(1)
            kind = classes[b]
        else:
            c, n = code_point(data, np.int64(i))
            kind, size = classes[np.uint64(c)], np.uint64(n)
        move = np.uint64(moves[_row(move) | np.uint64(kind)])
        k -= move & np.uint64(BACK)
        ends[k] = i
        k += (move >> np.uint64(2)) & np.uint64(1)
        i += size
    n = np.int64(k)
    done = n - 2
    if i == stop:  # the end of the text may take back cuts
        n -= np.int64(moves[_row(move) | np.uint64(END)] & BACK)
        ends[n] = np.int64(stop)
        done = n + 1
    return np.int64(i), np.int64(move), n, done
