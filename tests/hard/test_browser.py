"""The report in a real browser: nothing overflows, nothing is fetched, nothing complains; light and dark differ."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zlib

import pytest

from dataprep.report import write

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")

# Put into a copy of the page: what sticks out of the window (boxes that scroll inside themselves aside), and what was
# fetched. The copies are shown in frames, since a browser's window is not made as narrow as 400 pixels. The page's
# policy, which allows only its own script, is left out of them.
PROBE = """<script>
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(d => d.open = true);
  const root = document.documentElement, out = [];
  const inside = e => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX);
  const scrolls = e => e && (inside(e) || scrolls(e.parentElement));
  document.body.querySelectorAll("*").forEach(e => {
    const sticks = e.getBoundingClientRect().right > root.clientWidth + 1;
    if (sticks && !scrolls(e.parentElement)) out.push(e.tagName + "." + e.getAttribute("class"));
  });
  const fetched = performance.getEntriesByType("resource").map(r => r.name).filter(n => !n.startsWith("data:"));
  const wide = [innerWidth, root.scrollWidth];
  parent.postMessage([name, ...wide, out.slice(0, 5).join(" "), fetched.join(" ")].join(","), "*");
});
</script></body>"""
POLICY = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
FRAMES = """<!doctype html><title>frames</title><script>
addEventListener("message", e => document.body.setAttribute("data-" + e.data.split(",")[0], e.data));
</script><body>"""


def browse(*words):
    """Run the browser without a window; returns what it prints and what it complains about."""
    return subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
         *words],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip


def pixels(png):
    """Width, height and the first pixels of a PNG as the browser writes it: 8 bits a channel."""
    width, height, _, channels = struct.unpack(">IIBB", png[16:26])
    data, at = b"", 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return width, height, zlib.decompress(data)[1 : 1 + (4 if channels == 6 else 3)]


@pytest.fixture(scope="module")
def pages(rich, poor, chatty, tmp_path_factory):
    """All reports, written; and copies with the probe in them."""
    place = tmp_path_factory.mktemp("pages")
    for name, folder in (("rich", rich), ("poor", poor), ("chatty", chatty)):
        write(str(folder), str(place / f"{name}.html"))
        page = (place / f"{name}.html").read_text(encoding="utf-8")
        (place / f"{name}-probed.html").write_text(POLICY.sub("", page).replace("</body>", PROBE), encoding="utf-8")
    return place


def test_nothing_overflows_and_nothing_is_fetched(pages):
    """At 400 and 1,600 pixels the pages, unfolded, are as wide as the window, load nothing and log no error."""
    shown = [(name, width) for name in ("rich", "poor", "chatty") for width in (400, 1600)]
    frames = "".join(
        f'<iframe name="{name}-{width}" src="{name}-probed.html" width="{width}" height="900" frameborder="0"></iframe>'
        for name, width in shown
    )
    (pages / "frames.html").write_text(FRAMES + frames, encoding="utf-8")
    done = browse("--virtual-time-budget=3000", "--dump-dom", (pages / "frames.html").as_uri())
    for name, width in shown:
        assert f'="{name}-{width},{width},{width},,"' in done.stdout, done.stdout[-3_000:]
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_light_and_dark(pages, tmp_path):
    """The page follows the reader's colour scheme; a screenshot is light in one and dark in the other."""
    seen = []
    for scheme in (1, 0):  # Chromium's numbers of light and dark
        shot = tmp_path / f"{scheme}.png"
        browse(f"--blink-settings=preferredColorScheme={scheme}", "--window-size=400,700", f"--screenshot={shot}",
               (pages / "rich.html").as_uri())  # fmt: skip
        width, height, first = pixels(shot.read_bytes())
        assert (width, height) == (400, 700)
        seen.append(first[0])
    assert seen[0] > 200
    assert seen[1] < 60
