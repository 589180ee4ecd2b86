"""Special tokens: named sets that trainers and chat formats use, and unused tokens reserved for later."""

from __future__ import annotations

from collections.abc import Iterable

from dataprep.errors import PlanError

EOT = "<|endoftext|>"
UNKNOWN = "<|unk|>"
MOST_RESERVED = 1_000_000
SETS = {
    "course": ("<|startoftext|>", "<|separator|>", EOT, UNKNOWN, "<|padding|>"),
    "chatml": ("<|im_start|>", "<|im_end|>"),
    # fill in the middle (Bavarian et al. 2022), and where a file or a repository begins
    "code": ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"),
}


def special_names(wanted: str | Iterable[str] = (), reserve: int = 0) -> tuple[str, ...]:
    """Return a vocabulary's special tokens: `<|endoftext|>`, the tokens of `wanted`, and `reserve` unused ones.

    - wanted: special tokens, or names of sets of them ("course", "chatml", "code"); each token is returned once.

    >>> special_names(["chatml", "<|tool|>"], reserve=1)
    ('<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|tool|>', '<|reserved_0|>')
    """
    if not 0 <= reserve <= MOST_RESERVED:
        msg = f"reserve={reserve} must be a number of special tokens: 0 to {MOST_RESERVED:,}"
        raise PlanError(msg)
    each = [wanted] if isinstance(wanted, str) else list(wanted)
    names = [EOT, *(name for one in each for name in SETS.get(one, (one,)))]
    bare = next((name for name in names if not name or name.isalnum()), None)
    if bare is not None:
        msg = (
            f"special token {bare!r} is neither a name like <|name|> nor a set of special tokens ({', '.join(SETS)}); "
            "give it a name like <|name|>"
        )
        raise PlanError(msg)
    return tuple(dict.fromkeys([*names, *(f"<|reserved_{i}|>" for i in range(reserve))]))
