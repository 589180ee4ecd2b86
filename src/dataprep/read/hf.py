"""Hugging Face datasets: from the hub, in memory, or in a folder of `save_to_disk`.

The content of a dataset is identified by a key. A dataset on the hub can change. Its key is therefore a hash of
repository, configuration, split and revision (the commit, which is requested from the hub unless it is given). The key
of a dataset in memory or on disk is a hash of its content. If `key=` is given, it is used instead. For an
IterableDataset `key=` is required, since nothing else identifies the rows.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dataprep.errors import PlanError, ReadError, Transient, need
from dataprep.store import files, hashes
from dataprep.store.key import key as key_of

from .row_source import RowSource, content_key

PREFIX = "hf://datasets/"
ROWS = 1_000  # fetched at once


def hub_rows(
    data: Any,
    *,
    split: str | None = None,
    config: str | None = None,
    revision: str | None = None,
    key: str | None = None,
) -> RowSource:
    """Return the rows of a Hugging Face dataset, the source name of their documents, and a key of their content.

    Args:
        data: a `datasets` object, a repository ("OWNER/NAME" or hf://datasets/OWNER/NAME@REVISION), or a local folder.
        split: the split to read.
        config: the configuration of the repository.
        revision: the revision (branch, tag or commit) of the repository.
        key: a name for the content, required for an IterableDataset.

    Raises PlanError if split or key is missing, ReadError if there is no such dataset, Transient if the network fails.
    """
    datasets = need("datasets", extra="hf")
    if isinstance(data, (str, os.PathLike)):
        return _named(datasets, os.fspath(data), split, config, revision, key)
    rows = _one_split(data, split)
    source = key or getattr(rows.info, "dataset_name", None) or "rows"
    if key is not None:
        return _rows(rows, source, key_of(["hf", key]))
    if isinstance(rows, datasets.IterableDataset):
        msg = (
            "nothing in an IterableDataset identifies its rows; set key= to a unique name, "
            'for example key="OWNER/NAME train 2024-05-01", or pass the repository by name'
        )
        raise PlanError(msg)
    return _rows(rows, source, content_key(_tables(rows, source)))


def is_saved(path: str) -> bool:
    """Return whether the path is a folder that `save_to_disk` wrote."""
    if files.is_glob(path):  # such as a URL with a query, which some servers answer whatever the query says
        return False
    return any(files.exists(files.join(path, name)) for name in ("state.json", "dataset_dict.json"))


def _named(
    datasets: Any, name: str, split: str | None, config: str | None, revision: str | None, key: Any
) -> RowSource:
    """Return a repository on the hub, streamed, or a local folder."""
    path, _, at = (name, "", "") if "://" in name.removeprefix(PREFIX) else name.removeprefix(PREFIX).partition("@")
    revision = revision or at or None
    if files.is_dir(path) and not name.startswith(PREFIX):
        with _sentences(path):
            found = (
                datasets.load_from_disk(path) if is_saved(path) else datasets.load_dataset(path, config, streaming=True)
            )
        inside = [hashes.fingerprint(url) for url in files.expand(path)]
        recipe = [inside, config, split] if key is None else [key]
        return _rows(_one_split(found, split), files.name_of(path), key_of(["hf", *recipe]))
    with _sentences(path):
        if revision is None and key is None:
            revision = need("huggingface_hub", extra="hf").HfApi().dataset_info(path).sha
        found = datasets.load_dataset(path, config, revision=revision, streaming=True)
    rows = _one_split(found, split)
    return _rows(rows, path, key_of(["hf", path, config, str(rows.split), revision] if key is None else ["hf", key]))


def _one_split(found: Any, split: str | None) -> Any:
    """Return the named split, or the only one."""
    if not isinstance(found, dict):
        return found
    wanted = split or (next(iter(found)) if len(found) == 1 else None)
    if wanted not in found:
        state = f"there is no split {split!r}" if split else "there are several splits"
        msg = f"{state}; name one with split=: {', '.join(found)}"
        raise PlanError(msg)
    return found[wanted]


@contextlib.contextmanager
def _sentences(name: str) -> Iterator[None]:
    """Convert exceptions of the hub's library to one-sentence errors of dataprep."""
    try:
        yield
    except (FileNotFoundError, ValueError) as e:  # no such dataset, configuration or file
        msg = f"the dataset cannot be loaded ({_first_line(e)}); check its name, or pass a local folder"
        raise ReadError(msg, name) from e
    except Exception as e:
        if not isinstance(e, OSError) and "hub" not in type(e).__module__ and "http" not in type(e).__module__:
            raise
        msg = f"{name}: the hub cannot be reached ({_first_line(e)}); try again, or pass a local folder"
        raise Transient(msg) from e


def _first_line(e: Exception) -> str:
    return (str(e).strip().splitlines() or [type(e).__name__])[0][:200]


def _rows(rows: Any, source: str, key: str) -> RowSource:
    return RowSource(lambda: _tables(rows, source), source, key)


def _tables(rows: Any, source: str) -> Iterator[pa.Table]:
    with _sentences(source):
        yield from rows.with_format("arrow").iter(batch_size=ROWS)
