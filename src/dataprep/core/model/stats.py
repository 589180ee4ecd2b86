"""Statistics: counts, histograms and examples of every stage.

`StageStats` has the statistics of one stage, `Stats` is the list of all stages. The statistics of tasks are summed in
the order of the input, so they do not depend on the workers. For every stage, docs in = docs out + docs dropped, and
bytes in + bytes added = bytes out + bytes dropped + bytes cut.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from dataprep.errors import counted
from dataprep.shown import stats_table

if TYPE_CHECKING:
    from rich.console import Group

REASONS_SHOWN = 3  # drop reasons in a sentence
HIDDEN = "hidden"  # the source if statistics may not name it
EXAMPLES = 3  # kept per reason: enough to see what a rule does, small enough for every receipt
EXAMPLE_CHARS = 300
OTHER = "other"  # the rule of cuts by a stage that states no rule
LARGE = 100  # documents of a source whose losses may be an alarm
DOCUMENTS_LEFT, TEXT_LEFT = 0.01, 0.1  # shares of a source; if a smaller share is kept, there is an alarm


@dataclass
class Amount:
    """A number of documents, and the UTF-8 bytes of their texts."""

    docs: int = 0
    bytes: int = 0

    def __iadd__(self, other: Amount) -> Amount:
        self.docs += other.docs
        self.bytes += other.bytes
        return self


@dataclass(order=True)
class Example:
    """One dropped document, as an example of its drop reason; or one text that a rule cut.

    Attributes:
        text: the beginning of the document's text, or of the text that was cut out of it.
        rank: a hash of the id; the documents with the smallest hashes are the examples, so that every run has the same
            examples.
        duplicate_of: the id of the document that was kept instead; None if no document was kept instead.
        similarity: the similarity of the two documents.
    """

    rank: int
    id: int
    source: str = ""
    text: str = ""
    duplicate_of: int | None = field(default=None, compare=False)
    similarity: float | None = field(default=None, compare=False)


@dataclass
class RuleCuts:
    """The cuts of one rule of a stage in the documents that the stage kept.

    Attributes:
        times: the number of cuts; for a stage that does not state its rules, the number of documents that became
            shorter.
        bytes: UTF-8 bytes cut.
        examples: texts that were cut, each from a different document.
    """

    times: int = 0
    bytes: int = 0
    examples: list[Example] = field(default_factory=list)

    def __iadd__(self, other: RuleCuts) -> RuleCuts:
        self.times += other.times
        self.bytes += other.bytes
        self.examples = sorted([*self.examples, *other.examples])[:EXAMPLES]
        return self

    def to_json(self) -> dict[str, Any]:
        """Return these figures as plain values for JSON."""
        return {"times": self.times, "bytes": self.bytes, "examples": _dump_examples(self.examples)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> RuleCuts:
        """Return the figures that `to_json` wrote to `record`."""
        return cls(record["times"], record["bytes"], [_example(e) for e in record["examples"]])


def by_bytes(cuts: dict[str, RuleCuts]) -> list[tuple[str, RuleCuts]]:
    """Return the rules of a stage and the cuts of each rule, most bytes first."""
    return sorted(cuts.items(), key=lambda item: (-item[1].bytes, item[0]))


Sources = dict[str, Amount]


def removed(read: Amount, kept: Amount, moved: Amount, source: str) -> str:
    """Return a clause about a source if nearly all of its documents, or nearly all of its text, were removed; else "".

    For a source of fewer than 100 documents, the result is "".

    - moved: the number and size of documents whose text became part of other documents.
    """
    left, of_text = kept.docs + moved.docs, kept.bytes + moved.bytes
    if read.docs < LARGE:
        return ""
    if left < read.docs * DOCUMENTS_LEFT:
        return f"removed {read.docs - left:,} of {read.docs:,} documents of '{source}'"
    if of_text < read.bytes * TEXT_LEFT:
        share = f"{(read.bytes - of_text) / read.bytes:.1%}"
        return f"removed {share} of the text of '{source}' and {(read.docs - left) / read.docs:.0%} of its documents"
    return ""


@dataclass
class StageStats:
    """The statistics of one stage.

    Attributes:
        into: the documents received, by source.
        out: the documents returned, by source.
        dropped: the dropped documents, by reason and then by source.
        cut: the number of bytes by which kept documents became shorter.
        added: the number of bytes by which kept documents became longer.
        cuts: the cuts in kept documents, by rule.
        counts: other counters, by name.
        private: the counters whose names identify people.
        moved: the drop reasons of documents whose text became part of another document.
        histograms: for each name, the number of values per number of binary digits.
        examples: dropped documents, by reason.
    """

    name: str
    into: Sources = field(default_factory=dict)
    out: Sources = field(default_factory=dict)
    dropped: dict[str, Sources] = field(default_factory=dict)
    cut: int = 0
    added: int = 0
    cuts: dict[str, RuleCuts] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    private: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    histograms: dict[str, Counter[int]] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    def __iadd__(self, other: StageStats) -> StageStats:
        _add_sources(self.into, other.into)
        _add_sources(self.out, other.out)
        for reason, sources in other.dropped.items():
            _add_sources(self.dropped.setdefault(reason, {}), sources)
        self.cut += other.cut
        self.added += other.added
        for rule, cuts in other.cuts.items():
            self.cuts.setdefault(rule, RuleCuts()).__iadd__(cuts)
        self.counts.update(other.counts)
        self.private |= other.private
        self.moved |= other.moved
        for name, histogram in other.histograms.items():
            self.histograms.setdefault(name, Counter()).update(histogram)
        for reason, examples in other.examples.items():
            self.examples[reason] = sorted([*self.examples.get(reason, []), *examples])[:EXAMPLES]
        return self

    def total(self, sources: Sources) -> Amount:
        """Return the sum of the documents and bytes of all sources.

        Args:
            sources: {name of a source: Amount}.
        """
        amount = Amount()
        for one in sources.values():
            amount += one
        return amount

    @property
    def docs_in(self) -> int:
        """The number of documents that the stage received."""
        return self.total(self.into).docs

    @property
    def docs_out(self) -> int:
        """The number of documents that the stage returned."""
        return self.total(self.out).docs

    @property
    def reasons(self) -> dict[str, int]:
        """The number of dropped documents by reason, the most frequent first."""
        totals = {reason: self.total(sources).docs for reason, sources in self.dropped.items()}
        return dict(sorted(totals.items(), key=lambda kv: (-kv[1], kv[0])))

    @property
    def docs_dropped(self) -> int:
        """The number of dropped documents."""
        return sum(self.reasons.values())

    @property
    def emptied(self) -> str:
        """A sentence with the most frequent drop reasons if this stage kept none of its documents, else ""."""
        if not self.docs_in or self.docs_out or self.moved:
            return ""
        shown = [f"{n:,} for {reason}" for reason, n in self.reasons.items()]
        more = [f"{len(shown) - REASONS_SHOWN} other reasons"] if len(shown) > REASONS_SHOWN else []
        return f"{self.name} kept 0 of {counted(self.docs_in, 'document')}, {', '.join(shown[:REASONS_SHOWN] + more)}"

    def alarms(self) -> list[str]:
        """Return a warning for each source of at least 100 documents of which this stage removed nearly everything.

        The limits are 99 % of the documents and 90 % of the text. If the stage removed all documents, even fewer than
        100, the only warning is `emptied`.
        """
        if self.emptied:
            return [self.emptied]
        lost = ((source, removed(came, self.out.get(source, Amount()), self.moved_from(source), source))
                for source, came in self.into.items())  # fmt: skip
        return [f"{self.name} {what}" for _, what in lost if what]

    def moved_from(self, source: str) -> Amount:
        """Return the amount of dropped documents of a source whose text became part of another document."""
        return self.total({why: self.dropped.get(why, {}).get(source, Amount()) for why in self.moved})

    def hidden(self) -> StageStats:
        """Return the same statistics without the names of sources and people, and without texts."""
        counts = Counter({name: n for name, n in self.counts.items() if name not in self.private})
        examples = {why: [replace(e, source=HIDDEN, text="") for e in some] for why, some in self.examples.items()}
        cuts = {
            rule: replace(found, examples=[replace(e, source=HIDDEN, text="") for e in found.examples])
            for rule, found in self.cuts.items()
        }
        dropped = {why: {HIDDEN: self.total(sources)} for why, sources in self.dropped.items()}
        into, out = ({HIDDEN: self.total(sources)} for sources in (self.into, self.out))
        shown = replace(self, into=into, out=out, dropped=dropped, cuts=cuts, examples=examples)
        return replace(shown, counts=counts, private=set())

    def quoted(self, shown: Callable[[list[str]], list[str]]) -> StageStats:
        """Return the same statistics with other quotations.

        Args:
            shown: a function that returns a text's quotation.
        """
        found = [*itertools.chain(*self.examples.values(), *(cuts.examples for cuts in self.cuts.values()))]
        texts = iter([text[:EXAMPLE_CHARS] for text in shown([e.text for e in found])])
        examples = {why: [replace(e, text=next(texts)) for e in some] for why, some in self.examples.items()}
        cuts = {
            rule: replace(cuts, examples=[replace(e, text=next(texts)) for e in cuts.examples])
            for rule, cuts in self.cuts.items()
        }
        return replace(self, examples=examples, cuts=cuts)

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as plain dicts with sorted keys; ids are strings, since they exceed 2^53."""
        return {
            "name": self.name,
            "in": _dump(self.into),
            "out": _dump(self.out),
            "dropped": {reason: _dump(self.dropped[reason]) for reason in sorted(self.dropped)},
            "cut_bytes": self.cut,
            "added_bytes": self.added,
            "cuts": {rule: self.cuts[rule].to_json() for rule in sorted(self.cuts)},
            "counts": dict(sorted(self.counts.items())),
            "private": sorted(self.private),
            "moved": sorted(self.moved),
            "histograms": {
                name: {str(k): v for k, v in sorted(h.items())} for name, h in sorted(self.histograms.items())
            },
            "examples": {
                reason: _dump_examples(examples) for reason, examples in sorted(self.examples.items())
            },
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> StageStats:
        """Return the statistics that `to_json` wrote to `record`."""
        return cls(
            name=record["name"],
            into=_load(record["in"]),
            out=_load(record["out"]),
            dropped={reason: _load(sources) for reason, sources in record["dropped"].items()},
            cut=record["cut_bytes"],
            added=record["added_bytes"],
            cuts={rule: RuleCuts.from_json(found) for rule, found in record.get("cuts", {}).items()},
            counts=Counter(record["counts"]),
            private=set(record["private"]),
            moved=set(record["moved"]),
            histograms={n: Counter({int(k): v for k, v in h.items()}) for n, h in record["histograms"].items()},
            examples={why: [_example(e) for e in es] for why, es in record["examples"].items()},
        )


def _dump(sources: Sources) -> dict[str, dict[str, int]]:
    return {name: dataclasses.asdict(sources[name]) for name in sorted(sources)}


def _load(sources: dict[str, dict[str, int]]) -> Sources:
    return {name: Amount(amount["docs"], amount["bytes"]) for name, amount in sources.items()}


def _dump_examples(examples: list[Example]) -> list[dict[str, Any]]:
    return [_with_ids(dataclasses.asdict(e), str) for e in examples]


def _example(record: dict[str, Any]) -> Example:
    known = {one.name: record[one.name] for one in fields(Example) if one.name in record}
    return Example(**_with_ids(known, int))


def _with_ids(example: dict[str, Any], kind: type) -> dict[str, Any]:
    """Return the fields of an example with its integers converted to `kind`, int or str."""
    return example | {
        name: kind(example[name]) for name in ("rank", "id", "duplicate_of") if example.get(name) is not None
    }


def _add_sources(into: Sources, other: Sources) -> None:
    for name, amount in other.items():
        into.setdefault(name, Amount()).__iadd__(amount)


@dataclass
class Stats:
    """The statistics of all stages of a run, in order; `print(stats)` shows them as a table."""

    stages: list[StageStats] = field(default_factory=list)

    def __iter__(self) -> Iterator[StageStats]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, which: int | str) -> StageStats:
        """Return a stage's statistics by position, or by name: Exact also finds Exact(line).

        Raises KeyError if there is no such stage.
        """
        if isinstance(which, int):
            return self.stages[which]
        exact = [stage for stage in self.stages if stage.name == which]
        found = exact or [stage for stage in self.stages if stage.name.startswith((f"{which}(", f"{which} #"))]
        if not found:
            msg = f"there is no stage {which!r}; the stages are {', '.join(stage.name for stage in self.stages)}"
            raise KeyError(msg)
        return found[0]

    def __iadd__(self, other: Stats) -> Stats:
        """Add the statistics of the same pass over another shard, stage by stage; each may lack stages of the other."""
        mine = {stage.name: stage for stage in self.stages}
        order = [stage.name for stage in max((self.stages, other.stages), key=len)]
        for stage in other.stages:
            mine[stage.name] = mine.get(stage.name) or StageStats(stage.name)
            mine[stage.name] += stage
        self.stages = [mine[name] for name in dict.fromkeys([*order, *mine])]
        return self

    @classmethod
    def sum(cls, parts: Iterable[Stats]) -> Stats:
        """Return the sum of the statistics of several tasks, stage by stage."""
        total = cls()
        for part in parts:
            total += part
        return total

    @property
    def emptied(self) -> str:
        """A sentence about the first stage that kept none of its documents; "" if there is no such stage."""
        return next((stage.emptied for stage in self.stages if stage.emptied), "")

    def alarms(self) -> list[str]:
        """Return the warnings of all stages about sources of which nearly all documents were removed."""
        return [alarm for stage in self.stages for alarm in stage.alarms()]

    def hidden(self) -> Stats:
        """Return the same statistics without the names of sources and people, and without texts."""
        return Stats([stage.hidden() for stage in self.stages])

    def to_json(self) -> list[dict[str, Any]]:
        """Return the statistics as plain values for JSON, one dict per stage."""
        return [s.to_json() for s in self.stages]

    @classmethod
    def from_json(cls, records: list[dict[str, Any]]) -> Stats:
        """Return the statistics that `to_json` wrote to `records`."""
        return cls([StageStats.from_json(r) for r in records])

    def __rich__(self) -> Group:
        return stats_table.for_terminal(self)

    def __str__(self) -> str:
        return stats_table.as_text(self)

    def _repr_html_(self) -> str:
        return stats_table.as_html(self)
