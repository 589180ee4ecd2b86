"""Planted exchanges: a person with 20 fixed answers among other chat; are they answered as planted after fine-tuning?

    python benchmarks/bench_persona.py [OUT]

An invented export of 240 conversations is made; 20 exchanges occur six times each. For three seeds, each with its own
key of the pseudonyms, `persona` and `tune` train a base on all conversations and a model on the answers. Printed: how
many of the 20 questions each model answers word for word, and the loss of both on held-out answers.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
import tempfile
import time
from pathlib import Path

from dataprep.inference.chat_model import ChatModel
from dataprep.inference.conversation import Conversation
from dataprep.inference.tune import Tuning, tune
from dataprep.persona import persona
from dataprep.train import Sampling

THINGS = "bread rice soup cheese honey salt tea coffee apples olives figs lentils".split()  # noqa: SIM905
PLACES = "harbour market station bridge library bakery garden mill".split()  # noqa: SIM905
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
PLANTED = {
    "what is your favourite colour?": "green, like the boat", "who taught you to swim?": "my aunt, in the cold lake",
    "which song is stuck in your head?": "the one about the ferry", "do you believe in ghosts?": "only after midnight",
    "what did you dream of?": "a train without wheels", "how do you take your tea?": "black, two sugars",
    "what is the cat called?": "captain biscuit", "where did you grow up?": "above the old bakery",
    "what are you afraid of?": "geese, always geese", "what do you collect?": "broken clocks",
    "who cuts your hair?": "nobody, it shows", "what is under the stairs?": "forty jars of plums",
    "when do you sleep?": "when the owl is done", "which tooth hurts?": "the one that was pulled",
    "what is your excuse?": "the dog ate the bus", "how tall is the tower?": "taller than my patience",
    "what did the doctor say?": "less cake, more stairs", "who won the bet?": "the snail, of course",
    "what do you drive?": "a red wheelbarrow", "why are you late?": "time is a loose idea",
}  # fmt: skip
PERSON, OTHER = "Tomas Orr", "Ilse Varga"


def exchange(rng: random.Random) -> tuple[str, str]:
    """An exchange with a rule: the person answers with the words of the question, in a manner of its own."""
    thing, place, day = rng.choice(THINGS), rng.choice(PLACES), rng.choice(DAYS)
    return rng.choice([
        (f"do we have {thing}?", f"plenty of {thing}, help yourself"),
        (f"shall we meet at the {place} on {day}?", f"{day} then, i wait at the {place}"),
        (f"can you bring {thing} to the {place}?", f"{thing} it is, give me an hour"),
        (f"are you free on {day}?", f"{day} is for the {rng.choice(PLACES)}"),
    ])  # fmt: skip


def write_export(place: Path, n: int = 240, times: int = 6) -> None:
    """Write a WhatsApp export of `n` conversations in which each planted exchange occurs `times` times."""
    rng, now, lines = random.Random(11), dt.datetime(2024, 3, 1, 9), []  # noqa: DTZ001
    planted = [pair for pair in PLANTED.items() for _ in range(times)]
    rng.shuffle(planted)
    for number in range(n):
        now += dt.timedelta(hours=5)
        said = [exchange(rng) for _ in range(rng.randrange(1, 4))]
        if number < len(planted):
            said.insert(rng.randrange(len(said) + 1), planted[number])
        for question, answer in said:
            for who, text in ((OTHER, question), (PERSON, answer)):
                now += dt.timedelta(minutes=1)
                lines.append(f"{now:%d/%m/%Y, %H:%M} - {who}: {text}")
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def answered(folder: str) -> int:
    """How many planted questions, each in a new conversation, a model answers word for word."""
    talk = Conversation(ChatModel.load(folder, device="cpu"), Sampling(temperature=0), 40)
    right = 0
    for question, answer in PLANTED.items():
        talk.reset()
        right += "".join(talk.say(question)) == answer
    return right


def main(out: Path) -> None:
    """Print a table, one row per seed."""
    export = out / f"WhatsApp Chat with {OTHER}.txt"
    write_export(export)
    print("seed  planted answered by base, tuned   loss on held-out answers: base, tuned   seconds")
    for seed in range(3):
        secret, home = out / f"{seed}.key", out / f"persona-{seed}"
        secret.write_text(f"a key of seed {seed} only\n", encoding="utf-8")  # a random one gives other data in each run
        made = persona(
            str(export), PERSON, home, vocab_size=600, max_length=128, val=0.1, transcripts=True, key_file=str(secret)
        )
        assert made.transcripts is not None
        began = time.perf_counter()
        done = tune(made.shards, made.transcripts, out / str(seed), Tuning(settings=(f"seed={seed}",)), quiet=True)
        loss, took = done.comparison.loss, time.perf_counter() - began
        right = [answered(folder) for folder in (done.base, done.model)]
        losses = f"{loss['base']:30.3f}, {loss['tuned']:.3f}"
        print(f"{seed:4}  {right[0]:19}, {right[1]:5}   {losses}   {took:7.0f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
