"""datatrove's tokens writer on given documents, in an interpreter that has it: `bench_tokens.py` calls this."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    """Texts (a JSON string a line), tokenizer.json, folder to write to; prints the figures of the writing as JSON."""
    from datatrove.data import Document
    from datatrove.pipeline.tokens import DocumentTokenizer

    texts, tokenizer, out = sys.argv[1:]
    with Path(texts).open(encoding="utf-8") as f:
        docs = [Document(text=json.loads(line), id=str(i)) for i, line in enumerate(f)]
    step = DocumentTokenizer(out, tokenizer, eos_token="<|endoftext|>", shuffle_documents=False)  # noqa: S106
    _ = step.tokenizer
    start, wall = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    step.run(iter(docs))
    user, wall = resource.getrusage(resource.RUSAGE_SELF).ru_utime - start, time.perf_counter() - wall
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    high = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    n_tokens = sum(place.stat().st_size for place in Path(out).glob("*.ds")) // 2 - len(docs)
    print(json.dumps({"user": user, "wall": wall, "peak": int(high.split()[1]) * 1024, "n": n_tokens}))


if __name__ == "__main__":
    main()
