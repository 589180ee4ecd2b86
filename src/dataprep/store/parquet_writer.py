"""FileWriter, in a module of its own since its base class takes long to import."""

from __future__ import annotations

import pyarrow.parquet as pq


class FileWriter(pq.ParquetWriter):
    """A Parquet writer that does not complete its file when the writer is garbage-collected.

    pyarrow's own writer tries to do so even after an error and with a closed file, and then prints a traceback.
    """

    def __del__(self) -> None:
        pass
