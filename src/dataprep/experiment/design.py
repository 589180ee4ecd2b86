"""The documents of an experiment: a held-out set that is fixed first, and versions without documents from it.

    OUT/pool/NAME       the held-out documents of each version; of the corpus, if versions are lists of stages
    OUT/held-out        the held-out set: one document of each cluster of near-duplicates among these
    OUT/corpus          the corpus without these and those that share words with them, if versions are lists of stages
    OUT/made/NAME       what the stages of a version made from it
    OUT/versions/NAME   the version, without documents that share words with the held-out set
    OUT/tokenizer       the tokenizer, unless one is given
    OUT/shards/NAME     token shards of the version; those of the held-out set are in OUT/shards/_held-out
    OUT/design.json     the settings

Versions that are added later use the same held-out set and tokenizer.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.stage import Stage
from dataprep.core.output import forget_list, kinds
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import TOKENS
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.plan import check_apart, shards_of_datasets
from dataprep.core.run.runner import Runner
from dataprep.dedup.exact import Exact
from dataprep.dedup.minhash import MinHash
from dataprep.errors import PlanError, StaleOutput, counted
from dataprep.filters.decontaminate.stage import Decontaminate
from dataprep.history.repair import remove_damaged
from dataprep.history.verify import verify
from dataprep.read import read
from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.tokens.shards.encode import encode
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.split import Split, check_share, split_of
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.tokens.vocabulary.train import train_bpe

from .sides import SET, NotShort, Side

log = logging.getLogger("dataprep")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
HELD = "_held-out"  # no name of a version begins so
MOST_HELD = 4 << 20  # bytes of held-out text, so that a loss takes seconds, and not hours, to measure
FEWEST = 6  # groups of held-out documents: of 5, all may differ in one direction by chance


@dataclass(frozen=True)
class Version:
    """One version of the corpus.

    Attributes:
        name: its name.
        docs: its documents, without any that share words with the held-out set.
        shards: their tokens.
        given: the number of its documents before decontamination.
        contaminated: the number of documents that were removed because they share words with the held-out set.
    """

    name: str
    docs: Dataset
    shards: Shards
    given: int
    contaminated: int

    @property
    def data(self) -> Shards | dict[str, Shards]:
        """What a run reads, for `train`."""
        return self.shards

    @property
    def weights(self) -> dict[str, float] | None:
        """The weights of several sets of shards; None for one."""
        return None

    @property
    def root(self) -> str:
        """A hash of all that a run reads."""
        return self.shards.root

    @property
    def reads(self) -> dict[str, tuple[int, float]]:
        """{name: (tokens, share of a run's tokens)} of each set of shards."""
        return {self.name: (self.shards.n_tokens, 1.0)}

    def facts(self) -> dict[str, Any]:
        """Return the numbers of documents and tokens as plain values, for JSON."""
        return {
            "documents": self.docs.count, "tokens": self.shards.n_tokens, "given_documents": self.given,
            "contaminated": self.contaminated,
        }  # fmt: skip


@dataclass(frozen=True)
class Design:
    """The data of an experiment.

    Attributes:
        held: the held-out documents.
        held_shards: their tokens, as the split "train".
        units: int64[documents], the number of the group of each held-out document.
        tokenizer: the tokenizer of all versions.
        tokenizer_is_given: whether the tokenizer was given, rather than trained here.
        held_is_given: whether the held-out set was given.
        contaminated: the documents of the corpus that share words with the held-out set, and were removed before the
            versions were made; None if the versions were given.
        versions: the versions by name.
        made_from: the names of the versions from which the held-out set and the tokenizer were made.
    """

    held: Dataset
    held_shards: Shards
    units: npt.NDArray[np.int64]
    tokenizer: Tokenizer
    tokenizer_is_given: bool
    held_is_given: bool
    contaminated: int | None
    versions: dict[str, Version]
    made_from: list[str]


@dataclass(frozen=True, kw_only=True)
class DesignSettings:
    """Settings that determine the held-out set and the tokenizer: `experiment`'s parameters of the same names."""

    held_out: Dataset | float
    group: str | None
    ngram: int
    tokenizer: Tokenizer | None
    vocab_size: int

    def recipe(self) -> dict[str, Any]:
        """Return the values by name, as JSON has them."""
        held = self.held_out.key if isinstance(self.held_out, Dataset) else self.held_out
        tokenizer = None if self.tokenizer is None else self.tokenizer.hash
        return {
            "held_out": held, "group": self.group, "ngram": self.ngram, "tokenizer": tokenizer,
            "vocab_size": self.vocab_size if tokenizer is None else None,
        }  # fmt: skip


Given = Dataset | str | os.PathLike[str] | Sequence[Stage | Estimator]


def opened(versions: Mapping[str, Given], docs: Dataset | str | None) -> dict[str, Dataset | Sequence[Any]]:
    """Return the versions by name: Datasets, or lists of stages to apply to `docs`.

    Raises PlanError if a name or a version is not valid, or if there are fewer than two.
    """
    if not isinstance(versions, Mapping) or len(versions) < 2:
        n = len(versions) if isinstance(versions, Mapping) else 0
        msg = f"versions has {n}, and must have two or more to compare, such as {{'raw': A, 'clean': B}}"
        raise PlanError(msg)
    found: dict[str, Dataset | Sequence[Any]] = {}
    for name, given in versions.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            msg = f"the version's name {name!r} must have letters, digits and . _ + - only, since it names a folder"
            raise PlanError(msg)
        if isinstance(given, (str, os.PathLike)):
            url = os.fspath(given)
            if TOKENS in kinds.held(url):
                msg = (
                    f"the version {name!r}, {url}, has token shards; name the folder of the Dataset that was encoded, "
                    "since all versions are encoded with one tokenizer"
                )
                raise PlanError(msg)
            found[name] = open_dataset(url)
        elif isinstance(given, Dataset) or (isinstance(given, Sequence) and docs is not None):
            found[name] = given
        else:
            msg = f"the version {name!r} must be a Dataset or its folder, or a list of stages, which needs docs="
            raise PlanError(msg)
    if docs is not None and any(isinstance(one, Dataset) for one in found.values()):
        msg = "with docs=, each version must be a list of stages; leave docs= out to compare finished Datasets"
        raise PlanError(msg)
    return found


def design(
    versions: Mapping[str, Dataset | Sequence[Any]], docs: Dataset | None, out: str, settings: DesignSettings,
    runner: Runner | None,
) -> Design:  # fmt: skip
    """Make the data of an experiment in the folder `out`, or open what an earlier call made there.

    Raises PlanError if the held-out set is too small, or inside a version; StaleOutput if `out` has an experiment with
    another held-out set or tokenizer.
    """
    for one in (*versions.values(), docs, settings.held_out):
        if isinstance(one, Dataset):
            check_apart(one, out)
    record, recipe = files.join(out, "design.json"), settings.recipe()
    known = receipts.found(record)
    if known is not None and known["settings"] != recipe:
        changed = next(name for name in recipe if known["settings"].get(name) != recipe[name])
        msg = (
            f"{out} has an experiment with {changed}={known['settings'].get(changed)!r}, now {recipe[changed]!r}; "
            "choose another folder as out"
        )
        raise StaleOutput(msg)
    split, held = _held_out(versions, docs, out, settings, known, runner)
    source, shared = None, None
    if docs is not None:  # before the stages, which may change words
        source, shared = _clean(docs, held, out, "corpus", split, settings.ngram, runner)
    clean = {
        name: _version(name, given, source, held, out, split if docs is None else None, settings.ngram, runner)
        for name, given in versions.items()
    }
    tok = _tokenizer({name: one for name, (one, *_) in clean.items()}, out, settings, known, runner)
    units = _units(held, settings.group)
    made_from = list(versions) if known is None else known["made_from"]
    if known is None:
        pools = {"corpus": docs} if docs is not None else versions
        keys = {name: one.key for name, one in pools.items() if isinstance(one, Dataset)}
        of_split = None if split is None else asdict(split)
        record_of = {"settings": recipe, "split": of_split, "made_from": made_from, "pools": keys}
        receipts.once(record, key([recipe, made_from, held.key, tok.hash]), lambda: {"files": [], **record_of})
    dtype = "uint16" if tok.vocab_size <= 1 << 16 else "uint32"

    def shards(name: str, of: Dataset) -> Shards:
        place = files.join(out, "shards", name)
        return encode(of, tok, place, split=Split(val=0), runner=runner, dtype=dtype, replace=True)

    made = {name: Version(name, one, shards(name, one), *counts) for name, (one, *counts) in clean.items()}
    return Design(
        held=held, held_shards=shards(HELD, held), units=units, tokenizer=tok, versions=made, made_from=made_from,
        tokenizer_is_given=settings.tokenizer is not None, held_is_given=split is None, contaminated=shared,
    )  # fmt: skip


def _run(stages: Sequence[Any], docs: Dataset, out: str, name: str, runner: Runner | None) -> Dataset:
    return Pipeline(*stages).run(docs, out=files.join(out, name), runner=runner, replace=True)


def _held_out(
    versions: Mapping[str, Dataset | Sequence[Any]], docs: Dataset | None, out: str, settings: DesignSettings,
    known: dict[str, Any] | None, runner: Runner | None,
) -> tuple[Split | None, Dataset]:  # fmt: skip
    """Return the split that chose the held-out documents, None if they were given, and the held-out set."""
    if isinstance(settings.held_out, Dataset):
        if Folder(files.join(out, "held-out")).is_dataset:
            remove_damaged(files.join(out, "held-out"), runner)
        held = _run([], settings.held_out, out, "held-out", runner)
        _check_outside(held, versions, docs)
        return None, held
    given = {name: one for name, one in versions.items() if isinstance(one, Dataset)}
    pools = given if docs is None else {"corpus": docs}
    if known is not None:
        _check_not_forgotten(pools, out)
        return Split(**known["split"]), _known_set(pools, out, known, runner)
    first = next(iter(pools.values()))
    share = Split(val=settings.held_out, group=settings.group)
    for pool in pools.values():
        share.check_columns(pool.columns)
    n_bytes = sum(int(B.lengths(batch).sum()) for batch in first.batches(["id", "text"]))
    share = Split(val=min(settings.held_out, MOST_HELD / max(1, n_bytes)), group=settings.group)
    split, _ = split_of(first, share, B.lengths)
    held = _drawn(pools, split, out, runner)
    if len(held) < FEWEST:
        msg = (
            f"held_out={settings.held_out} has {counted(len(held), 'document')}, too few to compare models on; raise "
            "it, name another group=, or give a Dataset"
        )
        raise PlanError(msg)
    return split, held


def _drawn(pools: Mapping[str, Dataset], split: Split, out: str, runner: Runner | None) -> Dataset:
    """Return the held-out documents of all pools, one of each cluster of near-duplicates."""
    some = [_run([Side(split=split, held=True)], pool, out, f"pool/{name}", runner) for name, pool in pools.items()]
    return _run([Exact(), MinHash(threshold=0.8)], read(some), out, "held-out", runner)


def _known_set(pools: Mapping[str, Dataset], out: str, known: dict[str, Any], runner: Runner | None) -> Dataset:
    """Return the held-out set of an earlier call; if it is damaged, it is drawn again from the same documents.

    Raises StaleOutput if it is damaged, and the documents that it was drawn from were not given or have changed.
    """
    home = files.join(out, "held-out")
    if Folder(home).is_dataset and not any(verify(home, runner).values()):
        return open_dataset(home)
    log.warning("%s is damaged; its documents are drawn again", home)
    names = list(pools) if "corpus" in pools else known["made_from"]
    given = {name: pools[name] for name in names if name in pools}
    if {name: pool.key for name, pool in given.items()} != known["pools"]:
        msg = (
            f"{home} is damaged, and {', '.join(known['pools'])}, from which it was drawn, must be given unchanged to "
            "draw it again; restore the files, or choose another folder as out"
        )
        raise StaleOutput(msg)
    for at in (*(files.join(out, "pool", name) for name in given), home):
        if Folder(at).is_dataset:
            remove_damaged(at, runner)
    return _drawn(given, Split(**known["split"]), out, runner)


def _check_not_forgotten(pools: Mapping[str, Dataset], out: str) -> None:
    """Raise StaleOutput if a held-out document was forgotten where it was taken from, since it was held out."""
    for name, pool in pools.items():
        held = files.join(out, "pool", name)
        if Folder(held).is_dataset:
            forgotten = forget_list.wanted(shards_of_datasets(pool))
            ids = open_dataset(held).table(["id"]).column("id").to_numpy()
            if np.isin(ids, forgotten).any():
                msg = f"documents of the held-out set were forgotten in {name!r}; run `dataprep forget {out}`, "
                msg += "which removes them there, too"
                raise StaleOutput(msg)


def _check_outside(held: Dataset, versions: Mapping[str, Dataset | Sequence[Any]], docs: Dataset | None) -> None:
    """Raise PlanError if a held-out set that was given is empty, or if half of its texts are in a version."""
    texts = {text for batch in held.batches(["id", "text"]) for text in batch.column("text").to_pylist()}
    if len(texts) < FEWEST:
        msg = f"the held-out set has {counted(len(texts), 'text')}, too few to compare models on; give a larger Dataset"
        raise PlanError(msg)
    pools = {"docs": docs} if docs is not None else versions
    for name, pool in pools.items():
        if isinstance(pool, Dataset):
            batches = (batch.column("text").to_pylist() for batch in pool.batches(["id", "text"]))
            inside = len(texts.intersection(text for batch in batches for text in batch))
            if 2 * inside >= len(texts):
                msg = (
                    f"{inside:,} of the {len(texts):,} texts of the held-out set are in {name!r}; remove them there "
                    "before it is made, or give held_out= as a share"
                )
                raise PlanError(msg)


def _version(
    name: str, given: Dataset | Sequence[Any], source: Dataset | None, held: Dataset, out: str, split: Split | None,
    ngram: int, runner: Runner | None,
) -> tuple[Dataset, int, int]:  # fmt: skip
    """Return a version without held-out documents, the number before, and the number that share words with the set."""
    if not isinstance(given, Dataset):
        assert source is not None
        given = _run(given, source, out, f"made/{name}", runner)
    clean, contaminated = _clean(given, held, out, f"versions/{name}", split, ngram, runner)
    return clean, given.count, contaminated


def _clean(
    docs: Dataset, held: Dataset, out: str, name: str, split: Split | None, ngram: int, runner: Runner | None
) -> tuple[Dataset, int]:
    """Return documents without those that are held out or share words with the held-out set, and how many shared."""
    words = Decontaminate(sets={SET: held}, ngram=ngram)
    copies = NotShort.of(held, min(words.min_words, ngram))
    stages: list[Any] = [copies, words] if split is None else [Side(split=split, held=False), copies, words]
    clean = _run(stages, docs, out, name, runner)
    by_name = {stage.name: stage.dropped for stage in clean.stats.stages}
    dropped = [of for stage in (copies, words) for of in by_name[stage.name].values()]
    return clean, sum(one.docs for of in dropped for one in of.values())


def _tokenizer(
    clean: Mapping[str, Dataset], out: str, settings: DesignSettings, known: dict[str, Any] | None,
    runner: Runner | None,
) -> Tokenizer:  # fmt: skip
    """Return the tokenizer that is given, that of an earlier call, or a new one of the union of all versions."""
    if settings.tokenizer is not None:
        return settings.tokenizer
    home = files.join(out, "tokenizer")
    if known is not None:
        return Tokenizer.load(home)
    return train_bpe(read(list(clean.values())), settings.vocab_size, split=Split(val=0), runner=runner, out=home)


def _units(held: Dataset, group: str | None) -> npt.NDArray[np.int64]:
    """Return the group of each held-out document, int64[documents]; one without a group is its own group."""
    split = Split(group=group)
    names = np.concatenate([split.names(batch) for batch in held.batches(list(split.columns))])
    return np.unique(names, return_inverse=True)[1].reshape(-1).astype(np.int64)


def check_settings(held_out: object, group: object) -> None:
    """Raise PlanError if `held_out` is neither a Dataset nor a share above 0, or if `group` is not a column."""
    if isinstance(held_out, Dataset):
        return
    check_share("held_out", held_out)  # type: ignore[arg-type]
    if not held_out:
        msg = "held_out=0 leaves no documents to compare models on; give a share such as 0.1, or a Dataset"
        raise PlanError(msg)
    if not (group is None or isinstance(group, str)):
        msg = f"group={group!r} must be the name of a column, such as 'source'"
        raise PlanError(msg)
