"""Find removals of a run that may be wrong: alarms with the affected amounts of text, largest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dataprep.core.model.stats import LARGE, Amount, StageStats, removed
from dataprep.errors import counted

from .boilerplate import alike_in_boilerplate, boilerplate_left, kept_texts, templates_left
from .clusters import NoSurvivor, Overtaken
from .review import Precision

HALF = 0.5  # of a source: what removes more, is listed
NO_SURVIVOR, OVERTAKEN, TEXT_LOST = "no_survivor", "source_for_source", "text_lost"
TOOK_SOURCE, BOILERPLATE, NEARLY_ALL = "reason_took_source", "boilerplate", "nearly_all"
LINES_LEFT, MOST_SOURCES = "lines_left", 10
TEMPLATES, TEMPLATE_LEFT = "template_families", "template_left"
FAMILY, FAMILY_SHARE = 50, 0.05  # near-duplicates of one document; share of a source in such families
JUDGED_WRONG, GOOD = "judged_wrong", 0.9  # the share of right drops, below which a reason is listed


@dataclass(frozen=True)
class Suspicion:
    """Removals that may be wrong.

    Attributes:
        kind: one of the constants of this module.
        sentence: a description of the removals.
        docs: the number of documents concerned.
        bytes: the UTF-8 bytes of text concerned.
        source: the source concerned; "" for several.
        other: for OVERTAKEN, the source of the documents that were kept.
        stage: the stage that removed them; "" for several.
        reason: the reason of the drops; "" for several.
        text: for LINES_LEFT and TEMPLATE_LEFT, the line or passage.
    """

    kind: str
    sentence: str
    docs: int
    bytes: int
    source: str = ""
    other: str = ""
    stage: str = ""
    reason: str = ""
    text: str = ""


def source_suspicions(stages: Sequence[StageStats], sources: Mapping[str, tuple[Amount, Amount]]) -> list[Suspicion]:
    """Return the suspicions about single sources of at least 100 documents.

    There are three: one reason dropped more than half of the documents; several reasons together dropped nearly
    everything, as the alarms of the report define it; more than half of the text was removed, although at least half of
    the documents were kept.

    - sources: (amount read, amount kept) by source.
    """
    found = list[Suspicion]()
    for name, (read, kept) in sources.items():
        if read.docs < LARGE:
            continue
        moved, lost_bytes = Amount(), read.bytes - kept.bytes
        for stage in stages:
            moved += Amount(stage.moved_from(name).docs)  # their text is in `kept`
        n_left = kept.docs + moved.docs
        took = [_took(stage, reason, name, whole) for stage in stages for reason in stage.dropped
                for whole in [max(read.docs, stage.into.get(name, read).docs)]  # more, if copies came in several ways
                if reason not in stage.moved and _amount(stage, reason, name).docs > HALF * whole]  # fmt: skip
        found += took
        if took:
            continue
        if what := removed(read, kept, moved, name):
            found.append(Suspicion(NEARLY_ALL, f"all stages together {what}", read.docs - n_left, lost_bytes, name))
        elif n_left >= HALF * read.docs and lost_bytes > HALF * read.bytes:
            share = f"{lost_bytes / read.bytes:.0%} of the text of '{name}' was removed, though "
            share += f"{n_left / read.docs:.0%} of its documents are kept"
            found.append(Suspicion(TEXT_LOST, share, n_left, lost_bytes, name))
    return found


def _amount(stage: StageStats, reason: str, source: str) -> Amount:
    return stage.dropped[reason].get(source, Amount())


def _took(stage: StageStats, reason: str, source: str, whole: int) -> Suspicion:
    took = _amount(stage, reason, source)
    what = f"{stage.name} dropped {took.docs:,} of {whole:,} documents of '{source}' as {reason}"
    return Suspicion(TOOK_SOURCE, what, took.docs, took.bytes, source, stage=stage.name, reason=reason)


def lost_clusters(lost: NoSurvivor, n_bytes: int) -> list[Suspicion]:
    """Return the suspicion about duplicates of which no copy remains; none if each has a survivor.

    - n_bytes: the bytes of these duplicates.
    """
    return [Suspicion(NO_SURVIVOR, str(lost), lost.n, n_bytes)] if lost.n else []


def overtaken_sources(found: Sequence[Overtaken], n_bytes: Mapping[tuple[str, str], int]) -> list[Suspicion]:
    """Return the suspicions about sources that were dropped as duplicates of another.

    - n_bytes: the bytes of the duplicates by (source, source of the kept document).
    """
    return [Suspicion(OVERTAKEN, str(one), one.n, n_bytes.get((one.source, one.by), 0), one.source, one.by)
            for one in found]  # fmt: skip


def boilerplate_suspicions(url: str, near: Mapping[str, tuple[int, int]]) -> list[Suspicion]:
    """Return the suspicions about near-duplicates alike only in boilerplate; texts are read for it.

    - url: the run's folder.
    - near: (documents, bytes) of the near-duplicates by source. The amounts of a suspicion are estimated from the share
      in the sample.
    """
    found = list[Suspicion]()
    for one in alike_in_boilerplate(url):
        docs, size = (round(amount * one.bad / one.n) for amount in near.get(one.source, (0, 0)))
        about = f"{one}; about {counted(docs, 'document')} in all"
        found.append(Suspicion(BOILERPLATE, about, docs, size, one.source))
    return found


def template_families(
    families: Iterable[tuple[str, int, int, int]], sources: Mapping[str, tuple[Amount, Amount]]
) -> list[Suspicion]:
    """Return the suspicions about sources of which many documents were dropped as near-duplicates in large clusters.

    Such documents may be instances of a template that differ in what matters, such as names and numbers.

    Args:
        families: (source, clusters with at least 50 of its near-duplicates, documents, bytes of these near-duplicates).
        sources: (amount read, amount kept) by source.
    """
    found = list[Suspicion]()
    for source, n, docs, n_bytes in families:
        read, kept = sources.get(source, (Amount(), Amount()))
        whole = max(read.docs, kept.docs + docs)  # more than was read, if copies came in several ways
        if read.docs >= LARGE and docs >= FAMILY_SHARE * whole:
            what = f"{docs:,} of {whole:,} documents of '{source}' were dropped as near-duplicates in "
            what += f"{counted(n, 'cluster')} of more than {FAMILY}, as texts made from one template may be"
            found.append(Suspicion(TEMPLATES, what, docs, n_bytes, source))
    return found


def left_in_texts(url: str, sources: Mapping[str, tuple[Amount, Amount]]) -> list[Suspicion]:
    """Return the suspicions about lines and templates that many kept documents of a source have; this reads texts.

    - url: the run's folder.
    - sources: (amount read, amount kept) by source; the largest sources are examined. The amounts of a suspicion are
      estimated from the share in the sample.
    """
    largest = sorted(sources, key=lambda name: -sources[name][1].bytes)[:MOST_SOURCES]
    kept, found = kept_texts(url, largest), list[Suspicion]()
    for made in templates_left(kept):
        amount, share = sources[made.source][1], made.n / made.of
        docs, size = round(amount.docs * share), round(amount.bytes * share * made.share)
        found.append(Suspicion(TEMPLATE_LEFT, str(made), docs, size, made.source, text=made.phrase))
    for one in boilerplate_left(kept):
        docs = round(sources[one.source][1].docs * one.n / one.of)
        size = docs * len(one.line.encode())
        found.append(Suspicion(LINES_LEFT, str(one), docs, size, one.source, text=one.line))
    return found


def judged_wrong(stage: str, reason: str, found: Precision, docs: int, n_bytes: int) -> list[Suspicion]:
    """Return the suspicion about a reason that a review found wrong too often; none if this is not significant.

    Args:
        stage: the stage of the drops.
        reason: their reason.
        found: the precision by the judgements.
        docs: the number of all drops for this reason.
        n_bytes: their bytes.
    """
    if found.high >= GOOD:
        return []
    wrong, share = 1 - found.share, f"{found.share:.0%} ({found.low:.0%} to {found.high:.0%})"
    what = f"by {counted(found.n, 'judgement')}, {share} of the drops by {stage} as {reason} are right"
    return [Suspicion(JUDGED_WRONG, what, round(wrong * docs), round(wrong * n_bytes), stage=stage, reason=reason)]


def ranked(found: Sequence[Suspicion]) -> list[Suspicion]:
    """Return the suspicions, those that affect most text first."""
    return sorted(found, key=lambda one: (-one.bytes, -one.docs, one.kind, one.source))
