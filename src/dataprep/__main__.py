"""The command `dataprep`, and `python -m dataprep`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported is one sentence, too."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("dataprep: stopped; nothing was saved\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
