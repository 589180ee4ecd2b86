"""Cut text into words as a pattern does: 64 bytes at a time (`word_masks.py`), or else by a state machine.

The machine, from `patterns.py`, does one table look-up per character.

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

from dataprep.unicode.byte_masks import WIDTH, lowest_bit, n_bits
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U16, Int, code_point

from .patterns import CLASSES, SPECIAL, lines_of, machine_name
from .word_masks import MaskRule, mask_rule, word_starts

ALSO_MEANT = {"a": "slve", "A": "SLVE", "o": "'/"}  # a class in a line covers these too, unless the line names them
END = len(CLASSES) - 1
BEGIN = 0  # the state before the first character of a text
STATE, BACK, CUT = 32, 3, 4  # a move: the next state times 32; cuts taken back (two bits); whether a cut is set


SHORT, LONG = 64, 1 << 12  # bytes that the machine reads at a time, if masks find most words, and otherwise
FLAT = 8  # ends that are written without a branch


class Machine(NamedTuple):
    """The state machine that divides text into words as a pattern does, as tables for compiled code.

    Attributes:
        classes: uint8[0x110000], the class of every code point.
        moves: uint16[states * 32], for each state * 32 + class of the next character: the new state, and whether to set
            a cut, or to remove up to three.
        rule: how most words are found by masks, see `word_masks.py`.
    """

    classes: U8  # the class of every code point, uint8[0x110000]
    moves: U16  # the move for each state times 32 plus class, uint16[states * 32]
    rule: MaskRule


@cache
def machine_of(pattern: str) -> Machine | None:
    """Return the state machine that cuts text as the regular expression `pattern` does; None if there is none."""
    found = machine_name(pattern)
    return None if found is None else Machine(_classes(found[0]), _moves(*found), mask_rule(*found))


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


@kernel(_nrt=False)
def cut_words(data: U8, i: Int, stop: Int, machine: Machine, ends: I64) -> tuple[Int, Int]:
    """Write the ends of the words of a text to `ends`, as many as fit; return where to go on, and their number.

    - i: where the text begins, or where an earlier call stopped.
    - stop: where the text ends.
    - ends: at least 4 * WIDTH places.
    """
    k, most, rule, width = np.uint64(0), np.uint64(len(ends) - 2 * WIDTH), machine.rule, np.uint64(WIDTH)
    i, stop = np.uint64(i), np.uint64(stop)
    while i < stop and k < most:
        if rule.white and i + width <= np.uint64(len(data)):
            starts = word_starts(data, i, min(stop - i, width), machine.classes, rule)
            if starts:
                k = _write(ends, k, i, starts)
                i = np.uint64(ends[k - np.uint64(1)])
                continue
        i, k = _cut_by_machine(data, i, stop, machine, ends, k)
    return np.int64(i), np.int64(k)


@kernel(inline="always")
def _write(ends: I64, k: Int, i: Int, bits: Int) -> Int:
    """Write the offset of each bit of a mask, from ends[k] on; return the index after them."""
    after = k + n_bits(bits)
    while bits:
        for u in range(FLAT):
            ends[k + np.uint64(u)] = np.int64(i + lowest_bit(bits))
            bits &= bits - np.uint64(1)
        k += np.uint64(FLAT)
    return after


@kernel(_nrt=False)
def _cut_by_machine(data: U8, i: Int, stop: Int, machine: Machine, ends: I64, k: Int) -> tuple[Int, Int]:
    """Write ends of words from the beginning of a word on, as `cut_words`, but reading character by character.

    The last two cuts may be removed again until the text has ended.
    """
    classes, moves, most, first = machine.classes, machine.moves, np.uint64(len(ends) - 1), k
    piece = np.uint64(SHORT if machine.rule.white else LONG)
    move, until = np.uint64(BEGIN), min(stop, i + piece)
    while True:
        while i < until and k < most:
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
        if i >= stop:  # the end of the text may take back cuts
            k -= np.uint64(moves[_row(move) | np.uint64(END)] & BACK)
            ends[k] = np.int64(stop)
            return stop, k + np.uint64(1)
        if k > first + np.uint64(2):
            k -= np.uint64(2)
            return np.uint64(ends[k - np.uint64(1)]), k
        until = min(stop, until + piece)
