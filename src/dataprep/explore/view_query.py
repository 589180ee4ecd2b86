"""The parameters of a request: texts from the query of its URL, checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dataprep.core.model.batch import parse_id
from dataprep.core.run.runner import Runner, Serial
from dataprep.errors import PlanError, require

PAGE = 25  # rows of a list
MOST_ROWS = 200


@dataclass(frozen=True)
class ViewQuery:
    """The parameters of a request by name; those that are missing are "".

    Each method raises PlanError if the parameter is not what the method returns.

    Attributes:
        given: the parameters.
        runner: the Runner for long work of the view.
        part: called with each part of a long answer as soon as it is known.
    """

    given: Mapping[str, str]
    runner: Runner = field(default_factory=Serial)
    part: Callable[[dict[str, Any]], None] = field(default=lambda _: None)

    def text(self, name: str) -> str:
        """Return a parameter as it was given."""
        return self.given.get(name, "")

    def integer(self, name: str, default: int, most: int) -> int:
        """Return an integer from 0 to `most`."""
        text = self.text(name) or str(default)
        require(text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most,
                f"{name}={text!r} must be an integer from 0 to {most:,}")  # fmt: skip
        return int(text)

    def number(self, name: str) -> float:
        """Return a number."""
        try:
            return float(self.text(name))
        except ValueError as e:
            msg = f"{name}={self.text(name)!r} must be a number"
            raise PlanError(msg) from e

    def choice(self, name: str, allowed: Collection[str]) -> str:
        """Return one of the allowed texts; the first, if the parameter is missing."""
        text = self.text(name) or next(iter(allowed))
        require(text in allowed, f"{name}={text!r} must be one of {', '.join(allowed)}")
        return text

    def ids(self, name: str) -> list[int]:
        """Return document ids, which are separated by commas."""
        given = [one for one in self.text(name).split(",") if one]
        require(given and len(given) <= MOST_ROWS, f"{name} must be 1 to {MOST_ROWS} ids of documents")
        return [parse_id(one) for one in given]

    @property
    def page(self) -> tuple[int, int]:
        """The number of rows of a page, and the number of rows before it."""
        size = self.integer("rows", PAGE, MOST_ROWS)
        return size, size * self.integer("page", 0, 1 << 40)
