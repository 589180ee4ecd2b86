"""What the code of docs/chat.md needs."""

import shutil
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from fixtures.small_model import train_small

QUIET = dict.fromkeys(
    ("dataprep chat", "from dataprep.inference.conversation"), "the words of a model differ between machines"
)
WORDS = {"8000": "0"}  # any free port


def prepare(here, monkeypatch):
    """A model that was trained for two steps, under both names of the page; the server answers once."""
    train_small("out/tomas/model")
    shutil.copytree("out/tomas/model", "out/model")
    from dataprep.inference.web import ChatServer

    served = []

    def serve_once(server):
        with ThreadPoolExecutor(1) as threads:
            reading = threads.submit(lambda: urllib.request.urlopen(server.url, timeout=10).read())  # noqa: S310
            server.handle_request()
            served.append(reading.result())

    monkeypatch.setattr(ChatServer, "serve_forever", serve_once)
    return {"served": served}


def check(here, names):
    """The server had a page, and the conversation has both turns."""
    (page,) = names["served"]
    assert b"<html" in page
    assert [turn["role"] for turn in names["talk"].history] == ["user", "assistant"]
