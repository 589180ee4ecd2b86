"""Draw the pictures of the pages into docs/pictures, and crops of a report if Chromium is installed.

    python scripts/make_pictures.py              the diagrams: SVG without fonts, scripts or links of other sites
    python scripts/make_pictures.py out/demo     also docs/report.png and docs/clusters.png, of the report of this run
    python scripts/make_pictures.py --explore    also docs/explore.png and docs/explore-threshold.png, of the samples

`make test-docs ARGS=--write-results` draws the pictures of docs/gallery.md, with `funnel`.

`apt-get install chromium` installs the browser, which is called without a window.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from threading import Thread

import dataprep as dp
from dataprep import open_dataset
from dataprep.core.output.run_folder import datasets

DOCS = Path(__file__).parent.parent / "docs"
BOX, GAP, LINE = 132, 34, 16  # pixels: width of a box, between two boxes, between two lines of text
STYLE = (
    "text{font:13px sans-serif;fill:#1f2933}.s{font-size:11px;fill:#52606d}"
    "rect{fill:#eef4fb;stroke:#3b6ea5;rx:6}.b{fill:#fff;stroke:#c3ccd5}path{stroke:#3b6ea5;fill:none;stroke-width:1.5}"
)

PIPELINE = (
    ("read", "JSONL, Parquet,", "crawls, chats"),
    ("filter", "rules, language,", "personal data"),
    ("deduplicate", "exact, near,", "substrings"),
    ("tokenize", "train a", "vocabulary"),
    ("encode", "uint16", "token shards"),
    ("train", "a GPT, LoRA,", "evaluation"),
)
MINHASH = (
    ("1. hash", "one 64-bit key", "per band"),
    ("2. match", "equal keys", "form a bucket"),
    ("3. cluster", "connected", "components"),
    ("4. gather", "shingle sets of", "a component"),
    ("5. verify", "exact similarity", "to kept documents"),
)
FOLDER = (
    ("manifest.json", "names all files of the result; replaced last"),
    ("recipe.json", "the stages, and the key of the result"),
    ("data/part-*.parquet", "the documents that were kept"),
    ("drops/part-*.parquet", "dropped documents: reason, and the kept copy"),
    ("cuts/part-*.parquet", "spans that were cut out of kept texts"),
    ("receipts/part-*.json", "key, sizes and hashes of the files of each part"),
    ("steps/NN-NAME-KEY8/", "tables of decisions (verdicts) of Estimators"),
)


def svg(width: int, height: int, body: Sequence[str], title: str) -> str:
    """Return a picture of this size."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{STYLE}</style>'
        '<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M1,1 L7,4 L1,7"/></marker></defs>' + "".join(body) + "</svg>\n"
    )


def row(boxes: Sequence[Sequence[str]], title: str) -> str:
    """Draw boxes from left to right, each a name and lines below it, with arrows between them."""
    body = []
    for k, (name, *lines) in enumerate(boxes):
        x = 4 + k * (BOX + GAP)
        body.append(f'<rect x="{x}" y="4" width="{BOX}" height="72"/>')
        body.append(f'<text x="{x + BOX // 2}" y="26" text-anchor="middle" font-weight="bold">{escape(name)}</text>')
        for n, line in enumerate(lines):
            y = 46 + n * LINE
            body.append(f'<text class="s" x="{x + BOX // 2}" y="{y}" text-anchor="middle">{escape(line)}</text>')
        if k:
            body.append(f'<path d="M{x - GAP + 4},40 H{x - 4}" marker-end="url(#a)"/>')
    return svg(8 + len(boxes) * (BOX + GAP) - GAP, 80, body, title)


def tree(root: str, files: Sequence[tuple[str, str]], title: str) -> str:
    """Draw a folder with its files, each with what it is."""
    body = [f'<rect x="4" y="4" width="60" height="26"/><text x="34" y="22" text-anchor="middle">{escape(root)}</text>']
    for k, (name, about) in enumerate(files):
        y = 40 + k * 30
        body.append(f'<path d="M20,{30 if k == 0 else y - 17} V{y + 13} H44"/>')
        body.append(f'<rect class="b" x="46" y="{y}" width="176" height="26"/>')
        body.append(f'<text x="54" y="{y + 18}">{escape(name)}</text>')
        body.append(f'<text class="s" x="234" y="{y + 18}">{escape(about)}</text>')
    return svg(560, 44 + len(files) * 30, body, title)


def diagrams() -> dict[str, str]:
    """Return the diagrams by the names of their files."""
    return {
        "pipeline.svg": row(PIPELINE, "The pipeline: read, filter, deduplicate, tokenize, encode, train"),
        "minhash.svg": row(MINHASH, "The five passes of MinHash: hash, match, cluster, gather, verify"),
        "folder.svg": tree("OUT/", FOLDER, "The folder of a run: manifest, recipe, data, drops, cuts, receipts, steps"),
    }


def funnel(url: str, last: str, title: str, without: Sequence[str] = ()) -> str:
    """Draw what each stage of a run kept, down to the Dataset `last`, as bars, with the reasons of those dropped.

    url: the folder of the run. without: names of Datasets that did not lead to `last`.
    """
    made = {Path(found.url).name: open_dataset(found.url) for found in datasets(url, saved=False)}
    names = list(made)
    led = [name for name in names[: names.index(last) + 1] if name not in without]
    stages = [stage for name in led for stage in made[name].stats]
    read = stages[0].docs_in
    shown = [stage for stage in stages if stage is stages[0] or stage.docs_dropped]
    body = []
    for k, stage in enumerate(shown):
        y, width = 4 + k * 34, 240 * stage.docs_out / read
        reasons = sorted(stage.reasons.items(), key=lambda one: -one[1])
        lost = ", ".join(f"-{n:,} {reason}" for reason, n in reasons[:2]) + (", ..." if len(reasons) > 2 else "")
        body.append(f'<text x="4" y="{y + 18}">{escape(stage.name)}</text>')
        body.append(f'<rect class="b" x="120" y="{y}" width="240" height="26"/>')
        body.append(f'<rect x="120" y="{y}" width="{width:.1f}" height="26"/>')
        body.append(f'<text x="128" y="{y + 18}">{stage.docs_out:,}</text>')
        body.append(f'<text class="s" x="370" y="{y + 18}">{escape(lost)}</text>')
    return svg(640, 8 + len(shown) * 34, body, title)


def shot(page: str, to: Path, width: int, height: int) -> None:
    """Write a picture of the beginning of a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is not installed; `apt-get install chromium` installs it")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page, encoding="utf-8")
        subprocess.run(  # noqa: S603 - the browser of this machine, with a page that dataprep wrote
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={to}",
             f"--window-size={width},{height}", source.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
    size = struct.unpack(">II", to.read_bytes()[16:24])
    print(f"{to}: {size[0]} x {size[1]} pixels, {to.stat().st_size / 1_000:.0f} kB")


def crops(run: Path) -> None:
    """Write pictures of a report: its beginning, and what it shows about duplicates."""
    names = run / "report.html", run / "report" / "report.html"
    page = next(path for path in names if path.is_file()).read_text("utf-8")
    shot(page, DOCS / "report.png", 1000, 700)
    style = "<style>" + page.split("<style>", 1)[1].split("</style>", 1)[0] + "</style>"
    _, _, found = page.partition('id="duplicates"')
    if found:
        start = f'<html><meta charset="utf-8">{style}<body style="padding:0 12px"><section id="duplicates"'
        shot(start + found, DOCS / "clusters.png", 1000, 560)


def explored() -> None:
    """Write pictures of the page of `dataprep explore`, about a run of the samples."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from browser import Browser
    from dataprep.explore.server import ExploreServer

    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        docs = dp.Pipeline().run(dp.read(f"{DOCS.parent}/sample_data/*.jsonl*"), out=f"{run}/ingest")
        dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash(threshold=0.75)).run(docs, out=f"{run}/clean")
        with ExploreServer([run]) as server, Browser(f"{folder}/profile") as chromium:
            Thread(target=server.serve_forever, daemon=True).start()
            (near,) = server.runs[0].index().rows(
                "SELECT (id >> 40) || ':' || (id & ((1::UBIGINT << 40) - 1)) AS id FROM drops WHERE similarity < 1 "
                "ORDER BY similarity LIMIT 1"
            )
            views = ("explore", f"#0/cluster?id={near['id']}", 640), ("explore-threshold", "#0/threshold?at=0.9", 960)
            for name, state, high in views:
                chromium.open("about:blank")
                chromium.open(server.url + state, 1000, high)
                chromium.until(f"document.querySelector('main')?.dataset.ready == '{state}'")
                chromium.until("document.querySelector('main del') !== null")
                chromium.until("!document.querySelector('[role=status]')?.textContent.includes('…')")
                chromium.until("!document.querySelector('.title')?.textContent.startsWith('…')")
                chromium.shot(DOCS / f"{name}.png")
            server.shutdown()


def main() -> None:
    """Write the diagrams, and the crops of the report of a run that the command line names."""
    (DOCS / "pictures").mkdir(exist_ok=True)
    for name, picture in diagrams().items():
        (DOCS / "pictures" / name).write_text(picture, encoding="utf-8")
    if "--explore" in sys.argv:
        explored()
    for run in sys.argv[1:]:
        if run != "--explore":
            crops(Path(run))


if __name__ == "__main__":
    main()
