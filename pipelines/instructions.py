"""A mix of instruction sets for fine-tuning, without the questions of an evaluation, to token shards.

    dataprep run pipelines/instructions.py --out out/instructions                           the sample sets
    INSTRUCTIONS='sets/*.jsonl' INSTRUCTIONS_EVALUATION=test.jsonl dataprep run pipelines/instructions.py --out out/mix

In: JSON Lines with the fields of Alpaca, Dolly, GSM8K or `messages`. Out: shards in ChatML, with a loss mask over the
answers, in which each set has a given share of the tokens.

INSTRUCTIONS: the files, one per set. INSTRUCTIONS_EVALUATION: the evaluation, as JSON Lines with the field `question`.
INSTRUCTIONS_VOCABULARY: the size of the vocabulary. To fine-tune a model, pass its tokenizer to `encode`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import dataprep as dp

SAMPLES = Path(__file__).parent.parent / "sample_data" / "gallery" / "instructions"
SETS = os.environ.get("INSTRUCTIONS") or [str(SAMPLES / f"{name}.jsonl") for name in ("alpaca", "dolly", "gsm8k")]
EVALUATION = os.environ.get("INSTRUCTIONS_EVALUATION", str(SAMPLES / "evaluation.jsonl"))
QUESTION, CONTEXT = ("instruction", "question", "prompt"), ("input", "context")  # names of fields
ANSWER = ("output", "response", "answer", "completion")
SHARES = {"alpaca": 0.4, "dolly": 0.3, "gsm8k": 0.3}  # of the tokens, by the name of the file
VOCABULARY = int(os.environ.get("INSTRUCTIONS_VOCABULARY", "600"))  # 32,000 and more for some hundred megabytes
VAL = 0.1  # of the conversations


def ingest(out, runner):
    """Read each line of JSON as a conversation, and drop those without an answer."""
    lines = dp.read(SETS, format="lines")
    stages = dp.Map(conversation, adds={"messages": "string"}), dp.Filter(no_answer)
    return dp.Pipeline(*stages).run(lines, out=out, runner=runner, replace=True)


def dedup(ingest, out, runner):
    """Drop near-duplicates, within a set and between sets."""
    return dp.Pipeline(dp.MinHash(threshold=0.8)).run(ingest, out=out, runner=runner, replace=True)


def decontaminate(dedup, out, runner):
    """Drop conversations with 13 words in a row of a question of the evaluation."""
    rule = dp.Decontaminate(sets={"evaluation": EVALUATION})
    return dp.Pipeline(rule).run(dedup, out=out, runner=runner, replace=True)


def tokenizer(decontaminate, out, runner):
    """Train a byte-level BPE with the marks of ChatML."""
    return dp.train_bpe(decontaminate, vocab_size=VOCABULARY, special="chatml", val=VAL, runner=runner, out=out)


def encode(decontaminate, tokenizer, out, runner):
    """Write the messages as shards, with a mask of the tokens to learn."""
    return dp.encode(decontaminate, tokenizer, out=out, template="chatml", val=VAL, runner=runner, replace=True)


def mix(encode, out):
    """Write a mixture in which each set has its share of the tokens; print what each of them has."""
    plan = dp.Mix(SHARES).plan(encode)
    dp.Mix(SHARES).write(encode, out=out, replace=True)
    return plan


def conversation(text):
    """Return the messages of a line of JSON, and its question and answer as text."""
    row = json.loads(text)
    if "messages" not in row:
        question, context, answer = (
            next((row[name] for name in names if row.get(name)), "") for names in (QUESTION, CONTEXT, ANSWER)
        )
        asked = f"{question}\n\n{context}" if context else question
        row["messages"] = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
    return {"text": "\n".join(one["content"] for one in row["messages"]), "messages": json.dumps(row["messages"])}


def no_answer(messages):
    """Return a reason to drop a conversation in which the assistant says nothing."""
    said = [one["content"] for one in json.loads(messages) if one["role"] == "assistant"]
    return None if any(said) else "no_answer"
