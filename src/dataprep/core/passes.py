"""Pass: a task that `run.map` calls for every item, and that leaves one file with a receipt per item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from dataprep.store import files, receipts
from dataprep.store.key import key as key_of

from .part import Part

T = TypeVar("T")


@dataclass(frozen=True)
class Pass(Generic[T]):
    """Base class of tasks that write one file per item; it owns the file's path, its receipt and its key.

    Subclasses set `folder`, the name inside `out`, and define `write`. Items are numbers, or have a `number` as Parts
    do; `noun` names the files, as in part-00003. With an empty noun there is one item, and the file is OUT/FOLDER.

    out: folder of the estimator's work. key: of all that the result depends on in addition to the item.

    >>> @dataclass(frozen=True)                                              # doctest: +SKIP
    ... class Hash(Pass[Part]):
    ...     folder = "hash"
    ...     def write(self, url, item):
    ...         ...                                         # write the file at `url`
    ...         return {"documents": n}                     # content of the receipt
    >>> receipts = list(run.map(Hash(out, key), docs.tasks))                 # doctest: +SKIP
    >>> Hash.url(out, 3)                                                     # doctest: +SKIP
    'OUT/hash/part-00003'
    """

    folder: ClassVar[str]
    noun: ClassVar[str] = "part"

    out: str
    key: str

    @classmethod
    def url(cls, out: str, number: int = 0) -> str:
        """Return the URL of the file of an item."""
        return files.join(out, cls.folder, f"{cls.noun}-{number:05d}") if cls.noun else files.join(out, cls.folder)

    def __call__(self, item: T) -> dict[str, Any]:
        """Return the receipt of an item: found if it is valid, else made by `write`."""
        url = self.url_of(item)
        return receipts.once(url + ".json", self.item_key(item), lambda: {"files": [url], **self.write(url, item)})

    def url_of(self, item: T) -> str:
        """Return the URL of the file of an item, without its suffix if there are several."""
        number: Any = item if isinstance(item, int) else getattr(item, "number", None)
        return self.url(self.out, number)

    def item_key(self, item: T) -> str:
        """Return the key of the work on an item; for a Part it covers the part's content."""
        return key_of((self.key, item.key)) if isinstance(item, Part) else self.key

    def write(self, url: str, item: T) -> dict[str, Any]:
        """Write the file of an item, and return the content of its receipt, with "files" if they are not [url]."""
        raise NotImplementedError


def table_once(
    url: str, key: str, make: Callable[[], dict[str, Any]], passes: Iterable[type[Pass[Any]]] = ()
) -> dict[str, Any]:
    """Return what `make` counted while it wrote the table `url` (.parquet); once it exists, delete the passes' files.

    `make` is called unless the receipt, URL with .json for .parquet, is valid for `key`.
    """
    made = receipts.once(url.removesuffix("parquet") + "json", key, lambda: {"files": [url], **make()})
    for one in passes:
        for suffix in ("", ".json"):
            files.remove(files.join(url.rpartition("/")[0], one.folder) + suffix)
    return {name: value for name, value in made.items() if name not in ("files", "key")}
