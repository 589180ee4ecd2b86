"""The report in a browser, if Chromium is installed: nothing is cut off at any width, and tables sort and filter."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest

from dataprep.history.run_summary import summarize
from dataprep.report import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1700,1000")
CHECK = """<script>addEventListener('load', () => {
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  const wide = document.documentElement.clientWidth, found = {wide: innerWidth, cut: [], orders: []};
  for (const one of document.querySelectorAll('body *'))
    if (one.getBoundingClientRect().right > wide + 1 && !one.closest('.scroll, .unseen, .text, thead'))
      found.cut.push(one.outerHTML.slice(0, 200));
  for (const one of document.querySelectorAll('.scroll'))
    if (one.scrollWidth > one.clientWidth + 1) found.cut.push(one.outerHTML.slice(0, 200));
  const table = document.querySelector('table.sortable'), body = table.tBodies[1];
  const names = () => [...body.rows].filter((row) => !row.hidden).map((row) => row.cells[0].textContent);
  const [select, filter] = document.querySelectorAll('.controls')[0].children;
  found.orders.push(names());
  select.value = '2'; select.dispatchEvent(new Event('change'));
  found.orders.push(names());
  table.tHead.rows[0].cells[0].querySelector('button').click();
  found.orders.push(names());
  filter.value = names()[0].slice(0, 3).toUpperCase(); filter.dispatchEvent(new Event('input'));
  found.orders.push(names());
  found.total = table.tBodies[0].rows[0].cells[0].textContent;
  parent.document.getElementById(name).textContent = JSON.stringify(found);
});</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_nothing_is_cut_off_and_tables_sort(rich, tmp_path):
    """At 400, 1,000 and 1,600 pixels; and the page itself writes no error to the console."""
    page, widths = render(summarize(str(rich))), (400, 1000, 1600)
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    inside = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace("</body>", f"{CHECK}</body>")
    frame = '<pre id="w{0}"></pre><iframe name="w{0}" srcdoc="{1}" style="width:{0}px;height:700px;border:0"></iframe>'
    frames = "".join(frame.format(wide, html.escape(inside)) for wide in widths)
    (tmp_path / "frames.html").write_text(f'<!doctype html><meta charset="utf-8">{frames}', encoding="utf-8")
    dumped = {}
    for name in ("report", "frames"):
        given = f"--user-data-dir={tmp_path}/profile", "--dump-dom", f"{tmp_path}/{name}.html"
        done = subprocess.run([str(CHROMIUM), *FLAGS, *given], capture_output=True, check=True, timeout=120)
        assert b"CONSOLE" not in done.stderr
        dumped[name] = done.stdout.decode()
    assert 'class="controls"' in dumped["report"]  # the policy allows the script
    found = re.findall(r'<pre id="w\d+">(.+?)</pre>', dumped["frames"], re.DOTALL)
    assert len(found) == len(widths)
    for wide, text in zip(widths, found, strict=True):
        seen = json.loads(html.unescape(text))
        given, by_read, by_name, filtered = seen["orders"]
        assert (seen["wide"], seen["cut"], seen["total"]) == (wide, [], "all sources")
        full = summarize(str(rich)).sources
        sources = {name if len(name) <= 100 else f"{name[:99]}…": amounts for name, amounts in full.items()}
        amounts = [sources[name][0].docs for name in by_read]
        assert amounts == sorted(amounts, reverse=True)
        assert by_name == sorted(by_name, key=str.lower)
        assert sorted(given) == sorted(by_read) == sorted(by_name) == sorted(sources)
        assert filtered == [name for name in by_name if by_name[0][:3].lower() in name.lower()]
