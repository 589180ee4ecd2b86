"""The differences between the result in a folder and the wanted result: stages, settings or input files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.errors import counted, first_few
from dataprep.store import files

from .layout import Folder, home_of
from .state import TOKENS, Origin, OriginFile, Recipe

ZSTD = "zstd"  # the codec if none is stated
UNKNOWN = "its input or its code has changed"
UNLISTED = f"{UNKNOWN}; it is not known which, since no input files are listed, for example because a stage hides them"
LONGEST = 60  # characters of a value in a message
SHOWN = 5  # names of files in a sentence
SEALED = "Sealed"  # the reader of shards of Datasets


@dataclass(frozen=True)
class Changes:
    """The differences between the input of an earlier run and that of this run, as URLs; a Dataset counts as one file.

    Attributes:
        changed: the files whose content changed.
        new: the files that only the later run reads.
        gone: the files that only the earlier run read.
        unreadable: the files that the earlier run could open, but that are now empty or cannot be opened.
        same: whether all other files are the same, with the same numbers and sources, and are read in the same way.
        of: the number of input files now.
        numbers: the file numbers of the changed files that are not Datasets.
    """

    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    unreadable: tuple[str, ...]
    same: bool
    of: int
    numbers: frozenset[int]

    def sentence(self, then: str) -> str:
        """Return the sentence that names the files, such as "1 of 3 input files changed since the last run: a.txt"."""
        what = [f"{len(self.changed):,} of {counted(self.of, 'input file')} changed"] if self.changed else []
        others = ((self.new, "new"), (self.gone, "gone"), (self.unreadable, "unreadable"))
        what += [f"{counted(len(urls), 'input file')} {'is' if len(urls) == 1 else 'are'} {word}"
                 for urls, word in others if urls]  # fmt: skip
        urls = [*self.changed, *(url for found, _ in others for url in found)]
        names = [files.name_of(url) for url in urls]
        shown = names if len(set(names)) == len(names) else urls
        return f"{' and '.join(what)} since the last run: {first_few(shown, SHOWN)}; {then}"


Place = tuple[str, int | None, str]  # URL, or folder of a Dataset; number; source


def _files_by_place(origin: Origin) -> dict[Place, dict[str, str]]:
    """Return the fingerprints of the input files, as {place: {URL: fingerprint}}; a Dataset's shards form one place."""
    sealed = [(one or {}).get("name") == SEALED for one in origin.readers]
    found: dict[Place, dict[str, str]] = {}
    for row in origin.files:
        found.setdefault(_place(row, sealed=sealed[row.reader]), {})[row.url] = row.fingerprint
    for source in origin.sources:  # of a mixture, each is a folder
        found[source.url, None, source.name] = {source.url: source.root}
    return found


def _place(row: OriginFile, *, sealed: bool) -> Place:
    home = home_of(row.url) if sealed else None
    return (row.url if home is None else home.url), row.file, row.source


def compared(before: Origin | None, now: Origin | None) -> Changes | None:
    """Return how the input of an earlier run differs from that of this run; None if one of the inputs is not known."""
    if before is None or now is None:
        return None
    try:
        old, new = _files_by_place(before), _files_by_place(now)
    except IndexError:
        return None
    sealed = [(one or {}).get("name") == SEALED for one in now.readers]
    left_out = {_place(row, sealed=sealed[row.reader]) for row in now.files if row.left_out}
    of, is_file = len(new), {at for at in new if at[0] in new[at]}
    for origin, found in ((before, old), (now, new)):
        found.update({(one.url, None, ""): {one.url: one.fingerprint} for one in origin.beside})
    differ = [at for at in new if at in old and old[at] != new[at]]
    changed = [at for at in differ if at not in left_out]
    urls = [{at[0] for at in one} for one in (old, new)]
    return Changes(
        changed=_urls(changed),
        new=_urls([at for at in new if at[0] not in urls[0]]),
        gone=_urls([at for at in old if at[0] not in urls[1]]),
        unreadable=_urls([at for at in differ if at in left_out]),
        same=old.keys() == new.keys() and len(changed) == len(differ) and before.work == now.work,
        of=of,
        numbers=frozenset(at[1] for at in changed if at in is_file and at[1] is not None),
    )


def _urls(found: Sequence[Place]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(at[0] for at in found))


def first_difference(folder: Folder, found: Recipe, recipe: Recipe, origin: Origin | None) -> str:
    """Return the first difference between the recipe of a folder and `recipe`, as the end of a sentence.

    - found: the recipe of the folder.
    - recipe: the recipe of this run.
    - origin: the input files of this run.
    """
    return (
        _stages(found.stages, recipe.stages)
        or _codec(found.codec, recipe.codec)
        or _files(folder.origin_as_given, origin)
        or (UNKNOWN if folder.origin_as_given is not None else UNLISTED)
    )


def _stages(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> str:
    if [one["label"] for one in old] == [TOKENS]:  # the record does not state who made them, nor all settings
        (known,) = (one["fields"] for one in old)
        old = [{**one, "fields": {n: known.get(n, v) for n, v in one["fields"].items()}} for one in new]
    names = [[one["label"] for one in stages] for stages in (old, new)]
    if names[0] != names[1]:
        return f"its stages were {_listed(names[0])} and are now {_listed(names[1])}"
    for was, now in zip(old, new, strict=True):
        for name in [*dict.fromkeys([*was["fields"], *now["fields"]])]:
            values = [_value(stage["fields"].get(name)) for stage in (was, now)]
            if was["fields"].get(name) != now["fields"].get(name):
                return f"{now['label']} has {name}={values[0]} there, and {name}={values[1]} now"
        if was != now:
            return f"the class or version of {now['label']} has changed"
    return ""


def _codec(old: str | None, new: str | None) -> str:
    return "" if old == new else f"its codec was {old or ZSTD!r} and is now {new or ZSTD!r}"


def _listed(labels: Sequence[str]) -> str:
    return " -> ".join(labels) or "none (a copy)"


def _value(value: Any) -> str:
    text = spelled(value) if isinstance(value, dict) and "class" in value else repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\u2026"


def spelled(description: Mapping[str, Any]) -> str:
    """Return a stage as the text of a Python call, such as "C4(min_words=5)".

    Args:
        description: a result of `describe`.
    """

    def value(v: Any) -> str:
        return spelled(v) if isinstance(v, Mapping) and "class" in v else repr(v)

    if "shown" in description:
        return str(description["shown"])
    arguments = ", ".join(f"{name}={value(v)}" for name, v in description["fields"].items())
    return f"{description['class']}({arguments})"


def _files(before: Origin | None, now: Origin | None) -> str:
    """Return the first input file that is new, missing or changed; empty if there is none, or if none is known."""
    changes = compared(before, now)
    if changes is None:
        return ""
    found = [
        ("is new", changes.new), ("is no longer in the input", changes.gone),
        ("is empty now, or cannot be opened", changes.unreadable), ("has different content", changes.changed),
    ]  # fmt: skip
    what, urls = next(((what, urls) for what, urls in found if urls), ("", ()))
    more = f" (and {len(urls) - 1:,} more)" if len(urls) > 1 else ""
    return f"the input file {urls[0]}{more} {what}" if urls else ""
