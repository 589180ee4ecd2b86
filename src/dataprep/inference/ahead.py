"""Generate an answer in a thread, ahead of a possibly slow reader, so that the model is free once it is complete."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from queue import SimpleQueue

from dataprep.errors import DataprepError, shown


def ahead(
    make: Callable[[], Generator[str, None, None]], lock: AbstractContextManager[object]
) -> Generator[str, None, None]:
    """Yield the pieces of the text that `make` generates in a thread, which holds `lock` until the text is complete.

    Pieces that are not yet read are kept in memory; an answer has at most `max_tokens` of them. If this generator is
    closed, generation stops after the next piece. An error of `make` is raised here.
    """
    ready: SimpleQueue[str | Exception | None] = SimpleQueue()
    left = threading.Event()

    def work() -> None:
        try:
            with lock:
                if left.is_set():
                    return
                with closing(make()) as pieces:
                    for piece in pieces:
                        ready.put(piece)
                        if left.is_set():
                            return
        except Exception as e:  # noqa: BLE001 - raised again by the reader
            ready.put(e)
        finally:
            ready.put(None)

    threading.Thread(target=work, daemon=True).start()
    try:
        while (found := ready.get()) is not None:
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        left.set()


def sentence_of(error: BaseException) -> str:
    """Return the sentence to show for an error: its message or, for an unexpected error, its type and line of code.

    The message of an unexpected error is left out, because it may contain words of the conversation.
    """
    if isinstance(error, DataprepError):
        return shown(str(error))
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"the answer failed because of an error in the program ({type(error).__name__}{where}); please report it"
