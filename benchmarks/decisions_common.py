"""What the parts of bench_decisions share: engines in turns, and made texts."""

from __future__ import annotations

import random
import re
import resource
import statistics
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa


class Engine(NamedTuple):
    """One way to do a job: its name, the call, the units of its input, and the package that it needs."""

    name: str
    call: Callable[[], Any]
    units: float
    needs: str = "numpy"


Compare = Callable[[Any, Any], str]  # the result of ours and of a library, in words


def same(ours: Any, theirs: Any) -> str:
    return "equal" if ours == theirs else "NOT EQUAL"


def mb(texts) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def beginning(texts: list[str], size: float) -> list[str]:
    """The first texts, about `size` MB of them."""
    found, left = [], size
    for text in texts:
        found.append(text)
        left -= len(text.encode()) / 1e6
        if left <= 0:
            break
    return found


def english(size: float) -> list[str]:
    """Documents of sentences drawn from the Python manual that every installation has."""
    from pydoc_data.topics import topics

    rng = random.Random(1)
    sentences = [s for text in topics.values() for s in re.findall(r"[A-Z][^.]{30,400}[.]", " ".join(text.split()))]
    made, left = [], size * 1e6
    while left > 0:
        made.append("\n".join(rng.choices(sentences, k=rng.randint(3, 30))))
        left -= len(made[-1].encode())
    return made


def chat_texts(size: float) -> list[str]:
    import bench_messages

    return [text for _, _, text in bench_messages.rows(int(size * 1e6))]


def scripts_texts(size: float) -> list[str]:
    """Texts of made words in six scripts, decomposed."""
    rng = random.Random(3)
    letters = (
        "aàâbcdeéèfghiïlmnoôprstuûü", "абвгдежзийклмнопрстуёў", "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
        "कखगघचछजझटठडतथदधनपफबभमयरलवशसह", "가나다라마바사아자차카타파하각난달", "กขคงจฉชซญดตถทนบปผฝพฟมยรลวสหอ",
    )  # fmt: skip
    made, left = [], size * 1e6
    while left > 0:
        alphabet = rng.choice(letters)
        words = ("".join(rng.choices(alphabet, k=rng.randint(2, 9))) for _ in range(rng.randint(50, 150)))
        made.append(unicodedata.normalize("NFD", " ".join(words)) + ".")
        left -= len(made[-1].encode())
    return made


def buffers(texts: list[str]):
    from dataprep.core.model import batch as B

    return B.buffers(pa.array(texts, pa.large_string()))


def user() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def measure(engines: list[Engine], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of user CPU, and the result, of each engine; in turns, after one call each."""
    results = {engine.name: engine.call() for engine in engines}
    seconds: dict[str, list[float]] = {engine.name: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            before = user()
            engine.call()
            seconds[engine.name].append(user() - before)
    return {name: max(statistics.median(spent), 1e-4) for name, spent in seconds.items()}, results
