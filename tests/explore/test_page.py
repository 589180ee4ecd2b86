"""The page in Chromium, if it is installed: every view, at three widths, without an error and with texts as texts."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("duckdb")

import browser
from dataprep.core.model.batch import show_id
from dataprep.explore.server import ExploreServer
from dataprep.history import review

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")
CUT_OFF = """[...document.querySelectorAll('body *')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, .unseen, .text'))
  .map((one) => one.outerHTML.slice(0, 200))"""
SCROLLED = """[...document.querySelectorAll('.scroll:has(.list), .scroll:has(.stages)')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent.slice(0, 100))"""


@pytest.fixture(scope="module")
def page(rich, tmp_path_factory):
    """A browser, and the address of the page about the rich run."""
    with ExploreServer([str(rich)]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with browser.Browser(tmp_path_factory.mktemp("profile")) as chromium:
            yield chromium, server.url
        server.shutdown()


def shown(page, state, wide=1000, dark=False):
    """The browser, when it shows a state of the page."""
    chromium, url = page
    chromium.open("about:blank")
    chromium.open(url + state, wide, dark=dark)
    chromium.until(f"document.querySelector('main')?.dataset.ready == '{state}'")
    chromium.until("!document.querySelector('[role=status]')?.textContent.includes('…')")
    return chromium


STATES = ("#0/suspicions", "#0/sources?unit=bytes", "#0/clusters?sort=least", "#0/cluster?id=2:5",
          "#0/drops?sort=chance", "#0/document?id=2:1", "#0/threshold?at=0.9", "#0/search?text=x7",
          "#0/what-if", "#0/what-if?stage=MinHash")  # fmt: skip


def test_no_view_fails_or_is_cut_off(page) -> None:
    """Each view, at 400, 1,000 and 1,600 pixels, light and dark: no error in the console, nothing beyond the edge."""
    for number, state in enumerate(STATES):
        chromium = shown(page, state, (400, 1000, 1600)[number % 3], dark=number % 2 == 1)
        assert chromium.run("document.querySelector('.error')?.textContent") is None, state
        for wide in (400, 1600):
            chromium.resize(wide, 900)
            assert chromium.run(CUT_OFF) == [], (state, wide)
            assert chromium.run(SCROLLED) == [], (state, wide)
        assert chromium.run("document.querySelectorAll('img, iframe, main script').length") == 0
    assert page[0].said == []


def test_a_suspicion_opens_its_documents(page) -> None:
    """A click leads to the list of dropped documents, filtered by source, stage and reason; then one of them."""
    chromium = shown(page, "#0/suspicions")
    chromium.run("document.querySelector('[data-kind=reason_took_source] a').click()")
    chromium.until("document.querySelector('main').dataset.ready.startsWith('#0/drops?stage=')")
    assert "150 documents" in chromium.run("document.querySelector('section p').textContent")
    assert "wiped+out" in chromium.run("location.hash")
    chromium.until("document.querySelector('td .title').textContent == 'x0'")
    assert chromium.run("document.querySelectorAll('td .title').length") == 25
    chromium.run("document.querySelector('.pager a').click()")
    chromium.until("document.querySelector('main').dataset.ready.endsWith('page=1')")
    chromium.run("document.querySelector('tbody a').click()")
    chromium.until("document.querySelector('main').dataset.ready.startsWith('#0/document')")
    assert "was dropped by" in chromium.run("document.querySelector('.trail').textContent")
    chromium.run("history.back()")
    chromium.until("document.querySelector('main').dataset.ready.endsWith('page=1')")


def test_pairs_show_differences_as_text(page) -> None:
    """Texts with tags stay text; words that only one side has are marked; a filter is part of the address."""
    chromium = shown(page, "#0/clusters?sort=least")
    chromium.run("""(() => { const one = document.querySelector('[data-for=source]');
      one.value = [...one.options].find((o) => o.value.includes('<script>')).value;
      one.dispatchEvent(new Event('change')); })()""")
    chromium.until("document.querySelector('main').dataset.ready.includes('source=%3Cscript')")
    assert chromium.run("document.querySelectorAll('tbody tr').length") == 1
    chromium.run("document.querySelector('tbody a').click()")
    chromium.until("document.querySelector('main').dataset.ready.startsWith('#0/cluster?')")
    chromium.until("document.querySelector('td .title').textContent.startsWith('<script>alert(')")
    assert "<i>them</i>" in chromium.run("document.querySelectorAll('.pair .text')[0].textContent")
    assert "<b>us</b>" in chromium.run("document.querySelectorAll('.pair .text')[1].textContent")
    for tag, word in (("del", "them"), ("ins", "us")):
        marked = chromium.run(f"[...document.querySelectorAll('.pair {tag}')].map((one) => one.textContent).join()")
        assert word in marked


def test_the_slider_shows_another_threshold(page) -> None:
    """The stops are drawn, and a moved slider changes the address and the figures."""
    chromium = shown(page, "#0/threshold")
    chromium.until("document.querySelectorAll('svg circle').length > 3")
    chromium.run("""(() => { const one = document.querySelector('[type=range]'); one.value = 0.99;
      one.dispatchEvent(new Event('change')); })()""")
    chromium.until("document.querySelector('main').dataset.ready.endsWith('at=0.99')")
    chromium.until("document.querySelector('.tiles') !== null")
    figures = chromium.run("[...document.querySelectorAll('.tiles dd')].map((one) => one.textContent)")
    assert int(figures[1]) > 0
    assert "threshold=0.99, bands=" in chromium.run("document.querySelector('code').textContent")
    assert chromium.run("document.querySelectorAll('.pair').length") > 0


def test_a_review_needs_only_the_keyboard(page, rich) -> None:
    """y, n and s judge the document that is shown and go on to the next; u takes the last answer back."""
    chromium = shown(page, "#0/review?stage=MinHash&reason=near_duplicate")

    def press(key, left):
        chromium.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        chromium.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        chromium.until(f"document.querySelector('h3.over').textContent.includes('{left} documents left')")
        chromium.until("document.querySelector('.pair h3 a') !== null")

    try:
        first = chromium.run("document.querySelector('.pair h3 a').textContent")
        for key, left in (("y", 15), ("n", 14), ("s", 13), ("u", 14), ("u", 15), ("u", 16)):
            press(key, left)
        assert chromium.run("document.querySelector('.pair h3 a').textContent") == first
        press("y", 15)
        assert [(show_id(one.id), one.verdict) for one in review.load(str(rich))] == [(first, "right")]
    finally:
        (rich.parent / f"{rich.name}.review.parquet").unlink(missing_ok=True)
