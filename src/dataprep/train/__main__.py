"""The trainer's own command: python -m dataprep.train SHARDS --out DIR --preset tiny --set lr=3e-4."""

from __future__ import annotations

import argparse
import sys

from dataprep.errors import DataprepError

from . import PRESETS, named, starting_config, train
from .ranks import is_first, is_first_here


def main() -> int:
    """Train with the command-line arguments; return 0, or 1 with one sentence on stderr if dataprep raises an error."""
    p = argparse.ArgumentParser(prog="python -m dataprep.train", description="Train a GPT on token shards.")
    p.add_argument("shards", nargs="+", help="folder that dp.encode wrote, or several as NAME=FOLDER")
    p.add_argument("--out", required=True, help="folder for checkpoints and metrics; a stopped run is resumed")
    p.add_argument(
        "--preset", help=(f"{', '.join(PRESETS)}; tiny by default, or with --init-from that model's own settings")
    )
    p.add_argument(
        "--init-from", dest="init_from", metavar="DIR", help="start from the weights of this run or checkpoint"
    )
    p.add_argument("--lora", type=int, metavar="RANK", help="train only low-rank updates of the --init-from model")
    p.add_argument("--dpo", type=float, metavar="BETA", help="train on preferences (DPO) with this beta, such as 0.1")
    p.add_argument(
        "--set", nargs="*", action="extend", default=[], metavar="NAME=VALUE", help="change fields of the preset"
    )
    p.add_argument("--plot", action="store_true", help="draw the loss curve on the terminal")
    p.add_argument("--tensorboard", action="store_true", help="also write the metrics for TensorBoard")
    p.add_argument("--start-over", action="store_true", help="replace the run in --out by a new one")
    args = p.parse_args()
    try:
        config = starting_config(args.preset, args.init_from).override(*args.set)
        shards, resume = named(args.shards), not args.start_over
        result = train(
            shards, out=args.out, config=config, init_from=args.init_from, lora=args.lora, dpo=args.dpo, resume=resume,
            plot=args.plot, tensorboard=args.tensorboard,
        )  # fmt: skip
    except DataprepError as e:
        if is_first_here():
            sys.stderr.write(f"{e}\n")
        return 1
    if is_first():
        sys.stdout.write(f"{result}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
