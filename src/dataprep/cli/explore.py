"""The command `explore`: serves a page about runs on this machine."""

from __future__ import annotations

import contextlib
import webbrowser
from typing import Annotated

import typer


def explore(
    folders: Annotated[list[str], typer.Argument(metavar="DIR...", help="The folders of one or several runs.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any free port.")] = 0,
    reviewer: Annotated[str, typer.Option(help="The name saved with judgements; by default, that of the user.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Number of processes for long work.")] = 2,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a page to this machine on which the removals of runs are explored, and judged in a sample."""
    from dataprep.explore.server import ExploreServer

    with ExploreServer(folders, port, reviewer, workers) as server:
        print(f"{server.url} - Ctrl-C ends", flush=True)
        if open_:
            webbrowser.open(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
