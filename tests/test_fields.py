"""Every parameter of every Stage and Estimator changes its key, and so does its VERSION."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import dataprep
import dataprep as dp
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.stage import Stage
from dataprep.experiment.sides import NotShort
from dataprep.filters.badwords import BadWords
from dataprep.filters.decontaminate.stage import Decontaminate
from dataprep.filters.fineweb import FineWeb
from dataprep.filters.gopher.stage import Gopher
from dataprep.filters.hosts import Hosts
from dataprep.filters.repair import RepairText
from dataprep.messages.names.stage import Consent, Pseudonyms
from dataprep.messages.people.identities import Identities
from dataprep.store.key import key

SECRET, OTHER_SECRET = b"a key of enough bytes", b"another key of enough"
PEOPLE = Identities((("Ilse Varga", "Orsi"),))


def one(text):
    return {"size": 1}


def two(text):
    return {"size": 2}


class Case(NamedTuple):
    """How a stage is made: a class, what it is given, and another value of each parameter that is not a number.

    free: parameters that decide no output, or only together with others, which a further case has.
    """

    make: Callable[..., Any]
    given: dict[str, Any]
    others: dict[str, Any]
    free: tuple[str, ...] = ()


WORDS, MARKS, COPIES = (
    {"word_split": "unicode"},
    {"terminal_punctuation": (".",)},
    {"annotate": True, "keep": "longest"},
)
OF, UNITS = {"columns": ("url",), "ignore_pattern": "x+"}, {"annotate": "near_", "word_split": "regex"}
NOT_BANDS = tuple(f.name for f in dataclasses.fields(dp.MinHash) if f.name not in ("bands", "rows"))
PLAIN = (  # fields of Pseudonyms that consent does not change
    "names", "common_words", "prefixes", "redact_kinds", "keep_meta", "pseudonym_format", "people", "mapping",
    "exports",
)  # fmt: skip
CASES = [
    Case(
        dp.C4,
        {},
        {
            **WORDS,
            **MARKS,
            "preset": "paper",
            "not_terminal_punctuation": (),
            "policy": ("us",),
            "sentence_terminals": (".",),
        },
    ),
    Case(Gopher, {}, {**WORDS, "preset": "datatrove", "languages": ("fr",), "stop_words": ("a",), "bullets": ("-",)}),
    Case(FineWeb, {}, {**WORDS, **MARKS, "preset": "code", "max_newline_ratio": 0.3}),
    Case(
        BadWords,
        {"words": ("goats",), "max_matches": 3},
        {"words": ("goat",), "language": "ar", "whole_words": False, "keep_fraction": 0.5},
    ),
    Case(
        Hosts,
        {"block": ("1.org",)},
        {"block": ("2.org",), "allow": ("2.org",), "banned_words": ("a",), "column": "source"},
    ),
    Case(
        Decontaminate,
        {"sets": {"one": ["a b c d e f g h i j k l m n o"]}},
        {"sets": {"one": ["b c d e f g h i j k l m n o p"]}, "action": "report", "word_split": "regex"},
        ("fields",),
    ),
    Case(NotShort, {"texts": frozenset({"one"})}, {"texts": frozenset({"one", "two"})}),
    Case(dp.Filter, {"fn": one}, {"fn": two, "version": "1"}),
    Case(dp.Map, {"fn": one, "adds": {"size": pa.int64()}}, {"fn": two, "version": "1", "adds": {"size": pa.int32()}}),
    Case(dp.Score, {"filter": Gopher()}, {"filter": Gopher(languages=("fr",))}),
    Case(
        dp.Exact,
        {},
        {**COPIES, **OF, "unit": "line", "normalize": "lower", "_key_bits": 8},
        ("against", "min_remaining_chars"),
    ),
    Case(dp.Exact, {"unit": "line"}, {"unit": "paragraph", "normalize": None}, ("keep", *OF, "against", "_key_bits")),
    Case(
        dp.MinHash,
        {},
        {
            **COPIES,
            **OF,
            "threshold": 0.7,
            "shingle": "char",
            "ngram": 4,
            "word_split": "regex",
            "normalize": ("diacritics", "case", "punctuation", "space"),
            "preset": "dialect",
            "measure": "containment",
        },
        ("against", "bands", "rows"),
    ),
    Case(dp.MinHash, {"bands": 5, "rows": 3}, {"bands": 6, "rows": 4}, NOT_BANDS),
    Case(dp.Bloom, {}, {**UNITS, "unit": "ngram", "capacity": 100, "normalize": "lower"}, ("against",)),
    Case(dp.Bloom, {"unit": "ngram"}, {**UNITS, "unit": "paragraph", "capacity": 100}, ("against", "normalize")),
    Case(dp.URLDedup, {}, {**COPIES, "column": "meta", "ignore": (), "tracking": ("a",)}, ("against",)),
    Case(dp.SuffixArray, {"min_words": 5}, {**UNITS, "cut": "word"}, ("against", "engine", "min_bytes")),
    Case(dp.SuffixArray, {"min_bytes": 50}, {**UNITS, "cut": "word"}, ("against", "engine", "min_words")),
    Case(dp.SemDeDup, {}, {**COPIES, "clusters": 3, "embed": one, "diversify": 0.5, "version": "1"}, ("against",)),
    Case(
        dp.SemDeDup,
        {"embed": one},
        {**COPIES, "clusters": 3, "embed": two, "diversify": 0.5, "version": "1"},
        ("against",),
    ),
    Case(Consent, {"refused": ("Ilse Varga",)}, {"refused": ("Ilse Varha",), "people": PEOPLE}, ("allowed", "strict")),
    Case(Consent, {"allowed": ("0611223344",)}, {"allowed": ("0611223345",)}, ("refused", "strict", "people")),
    Case(
        Pseudonyms,
        {"key": SECRET, "names": ("Ilse",)},
        {
            "key": OTHER_SECRET,
            "consent": Consent(refused=("Ilse",)),
            "names": ("Orsi",),
            "common_words": ("will",),
            "prefixes": "",
            "redact_kinds": (),
            "keep_meta": (),
            "pseudonym_format": "Name-{}",
            "people": PEOPLE,
        },
        ("mapping", "exports"),
    ),
    Case(
        Pseudonyms,
        {"key": SECRET, "consent": Consent(refused=("Ilse",))},
        {"consent": Consent(refused=("Orsi",)), "key": None},
        PLAIN,
    ),
    *([Case(RepairText, {}, {"normalization": "NFKC"})] if find_spec("ftfy") else []),
]


def parameters(stage):
    """The names of the values that may be given to a stage."""
    return [f.name for f in dataclasses.fields(stage) if f.init]


def other(case, stage, name):
    """Another value of a parameter: the one in the table; a flag is turned, a number is made smaller."""
    value = getattr(stage, name)
    if name in case.others or not isinstance(value, (bool, int, float)):
        return case.others[name]
    return not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else value * 0.9 or 0.1


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.make.__name__}-{'-'.join(map(str, case.given))}")
def test_every_parameter_changes_the_key(case):
    """Any parameter by itself is another key, and no two of them are the same."""
    stage = case.make(**case.given)
    keys = {"": key(stage)}
    for name in parameters(stage):
        if name not in case.free:
            keys[name] = key(case.make(**case.given | {name: other(case, stage, name)}))
    assert len(set(keys.values())) == len(keys), {name: k for name, k in keys.items() if k == keys[""]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.make.__name__}-{'-'.join(map(str, case.given))}")
def test_the_version_changes_the_key(case, monkeypatch):
    """Results of older code are not used after VERSION was raised, also by stages that state their recipe."""
    stage = case.make(**case.given)
    if type(stage) in (dp.Filter, dp.Map, dp.Score):
        return  # the function's source, or the VERSION of the measured filter, is in the key
    before = key(stage)
    monkeypatch.setattr(type(stage), "VERSION", type(stage).VERSION + 1)
    assert key(case.make(**case.given)) != before


OLDER = {
    dp.Exact: {},
    dp.MinHash: {},
    dp.Bloom: {},
    dp.URLDedup: {"column": "source"},
    dp.SuffixArray: {"min_words": 5},
}
OLDER |= {dp.SemDeDup: {"embed": one}}


@pytest.mark.parametrize("kind", OLDER, ids=lambda kind: kind.__name__)
def test_the_content_of_older_datasets_changes_the_key(kind, sealed, tmp_path):
    """Another text is another key; another folder, or the order of one, is none; two folders have an order."""
    first, second = sealed
    moved = shutil.copytree(first, tmp_path / "moved")
    keys = [key(kind(**OLDER[kind], against=given)) for given in (first, (first,), str(moved))]
    others = [key(kind(**OLDER[kind], against=given)) for given in (second, (first, second), (second, first), None)]
    assert len(set(keys)) == 1
    assert len({*keys, *others}) == 5


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """The folders of two Datasets, which differ in one letter."""
    home, made = tmp_path_factory.mktemp("older"), []
    for name in ("a", "b"):
        (home / f"{name}.txt").write_text(f"a text that ends with {name}\n")
        docs = dp.read(str(home / f"{name}.txt"))
        made.append(dp.Pipeline(dp.MinHash()).run(docs, out=str(home / name)).url)
    return made


# Stages that need a model or a file, whose own tests have this; verdicts are keyed by the Estimator that made them.
ELSEWHERE = {"FineWeb2", "Quality", "Perplexity", "Percentiles", "Robots", "Language", "RepairText", "_Function"}
VERDICTS = {"Verdict", "DropIds", "CutSpans", "Capped", "_Annotate", "AnnotateClusters", "AnnotateSpans"}
VERDICTS |= {"Pseudonymised"}


def test_no_stage_is_forgotten():
    """A stage with a recipe of its own is above; in any other, every parameter is a part of the key."""
    for module in pkgutil.walk_packages(dataprep.__path__, "dataprep."):
        if module.name.split(".")[1] in ("core", "dedup", "filters", "messages", "pii", "tokens"):
            importlib.import_module(module.name)
    known = {type(case.make(**case.given)) for case in CASES}
    for kind in {kind for base in (Stage, Estimator) for kind in below(base)} - known:
        if not kind.__module__.startswith("dataprep.") or not dataclasses.is_dataclass(kind):
            continue
        own = kind.__name__ in ELSEWHERE | VERDICTS
        assert own or not hasattr(kind, "recipe"), f"{kind.__name__} has a recipe, but no line in CASES"
        assert own or all(f.compare for f in dataclasses.fields(kind) if f.init), kind


def below(kind):
    """Yield the classes that are derived from a class."""
    for derived in kind.__subclasses__():
        yield derived
        yield from below(derived)
