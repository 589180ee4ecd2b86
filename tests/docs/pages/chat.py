"""What the code of docs/chat.md needs."""

import shutil

from fixtures.small_model import train_small

LEFT = {2: "a server runs until it is stopped; tests/voice/test_web.py asks one"}


def prepare(here):
    """A model that was trained for two steps, under both names of the page."""
    train_small("out/tomas/model")
    shutil.copytree("out/tomas/model", "out/model")


def check(here, names):
    """The conversation has both turns."""
    assert [turn["role"] for turn in names["talk"].history] == ["user", "assistant"]
