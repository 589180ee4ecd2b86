"""Records: the JSON objects of an output folder's state as frozen dataclasses, which the trainer also reads.

Reading is tolerant: an unknown field is kept in `more`, and a missing optional field gets its default. A newer format
raises an error with a one-sentence message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from dataprep.errors import CorruptShard, ReadError
from dataprep.store.newer import check_format

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R", bound="StateRecord")


def records(kind: Callable[[], type[R]], **options: Any) -> Any:
    """Return a dataclass field that holds a tuple of records; `kind` is a function that returns their class."""
    return field(metadata={"of": kind}, **options)


@dataclass(frozen=True, kw_only=True)
class StateRecord:
    """Base class of records: a JSON object as a frozen dataclass.

    Attributes:
        more: the fields that are unknown to this version.
    """

    more: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, found: Any, url: str) -> Self:
        """Parse a record from a JSON value.

        - url: the file that contained the value, for error messages.

        Raises CorruptShard if a required field is missing or has the wrong type, and NewerFormat if the format is newer
        than the format that this version reads.
        """
        if not isinstance(found, dict):
            raise _not_ours(url, "it is not a JSON object")
        check_format(found, url)
        known = {f.name: f for f in fields(cls) if f.name != "more"}
        some = {name for name, value in found.items() if value is not None or not _is_list(known.get(name))}
        lacks = [name for name, f in known.items() if _is_needed(f) and name not in some]
        if lacks:
            raise _not_ours(url, f"it lacks {', '.join(lacks)}")
        given = {name: _read(found[name], f, url) for name, f in known.items() if found.get(name) is not None}
        lacks = [name for name, f in known.items() if _is_needed(f) and name not in given]
        return cls(**given, **dict.fromkeys(lacks), more={k: v for k, v in found.items() if k not in known})

    @classmethod
    def load(cls, url: str) -> Self:
        """Return the record in the JSON file `url`; raises CorruptShard as `of` does, or if the file is damaged."""
        from dataprep.store import files

        return cls.of(files.read_json(url), url)

    @classmethod
    def found(cls, url: str) -> Self | None:
        """Return the record in the JSON file `url`, or None if the file does not exist or is damaged.

        Raises NewerFormat as `of` does.
        """
        from dataprep.store import files

        try:
            return cls.load(url) if files.exists(url) else None
        except CorruptShard:
            return None
        except ReadError:
            if files.exists(url):  # otherwise it was moved or removed meanwhile
                raise
            return None

    def save(self, url: str) -> None:
        """Write the record as the JSON file `url`, with a checksum."""
        from dataprep.store import files

        files.write_state(url, self.record())

    def record(self) -> dict[str, Any]:
        """Return the record as a JSON object; fields without a value are left out."""
        own = {f.name: _written(getattr(self, f.name)) for f in fields(self) if f.name != "more"}
        return {**self.more, **{name: value for name, value in own.items() if value is not None}}


def _not_ours(url: str, why: str) -> CorruptShard:
    return CorruptShard(f"{url} is not what dataprep wrote: {why}; run the pipeline again to restore it")


def _is_needed(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _is_list(one: Any) -> bool:
    return one is not None and str(one.type).startswith(("list", "tuple"))


_TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool, "list": list, "dict": dict, "Mapping": dict}


def _read(value: Any, one: Any, url: str) -> Any:
    """Return the value of a field; raise CorruptShard if it does not have the field's type."""
    name = str(one.type).partition("[")[0].partition(" ")[0]
    if "of" in one.metadata:
        if not isinstance(value, list):
            raise _not_ours(url, f"its {one.name} is not a list")
        return tuple(one.metadata["of"]().of(item, url) for item in value)
    if name == "Id":
        return _id(value, one.name, url)
    if "one" in one.metadata:
        return one.metadata["one"]().of(value, url)
    is_right = isinstance(value, _TYPES.get(name, object)) and not (name == "int" and isinstance(value, bool))
    if not is_right or (one.type == "list[str]" and not all(isinstance(item, str) for item in value)):
        raise _not_ours(url, f"its {one.name} is {str(value)[:40]!r}")
    return value


def _id(value: Any, name: str, url: str) -> Id:
    try:
        return Id(value)
    except (TypeError, ValueError) as e:
        raise _not_ours(url, f"its {name} is {str(value)[:40]!r}") from e


def _written(value: Any) -> Any:
    if isinstance(value, StateRecord):
        return value.record()
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return str(value) if isinstance(value, Id) else value


class Id(int):
    """A document id, which JSON stores as text, since ids exceed 2**53."""
