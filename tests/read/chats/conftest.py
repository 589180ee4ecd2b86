"""What tests of chat readers share."""

from __future__ import annotations

import pytest

from dataprep.meter import Meter
from dataprep.part import Slice


@pytest.fixture
def rows_of(tmp_path):
    """The rows of a file with this content by a reader, and the drop table."""

    def rows_of(reader, data, name="in.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        meter = Meter("read", source="s")
        rows = [row for batch in reader(Slice(str(path), 0), meter) for row in batch.to_pylist()]
        return rows, meter.drop_table().to_pylist()

    return rows_of
