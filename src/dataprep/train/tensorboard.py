"""Also write the metrics of a run as TensorBoard files; needs the extra `tensorboard`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dataprep.errors import need


class TensorBoard:
    """Writes each number of metrics.jsonl as a scalar of the same name to event files in `folder`.

    Raises PlanError if the package tensorboard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        need("tensorboard", extra="tensorboard")
        self._writer_of = need("torch.utils.tensorboard", extra="tensorboard").SummaryWriter
        self.folder = folder
        self._writer: Any = None

    def restart(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Begin another file, which makes TensorBoard ignore earlier values of steps after the last step of `rows`."""
        self.close()
        last = max((row["step"] for row in rows), default=-1)
        self._writer = self._writer_of(str(self.folder), purge_step=last + 1)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the numbers of some rows of metrics, and flush them."""
        for row in rows:
            for name, value in row.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "step":
                    self._writer.add_scalar(name, value, row["step"])
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
