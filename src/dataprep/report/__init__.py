"""The report of a run: one HTML page that loads nothing from elsewhere.

Its script, `page.js`, sorts and filters tables; a content security policy allows no other script.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

from dataprep import __version__
from dataprep.core.output import owned
from dataprep.core.output.one_result import one_result
from dataprep.core.output.run_folder import refuse_newer
from dataprep.errors import Replaced
from dataprep.history.run_summary import RunSummary, summarize
from dataprep.shown.notebook import text
from dataprep.store import files

from . import chats, duplicates, experiments, overview, results, sources

HEADING = re.compile(r'<section id="(\w+)"[^>]*><h2[^>]*>([^<]+)</h2>')


def write(folder: str, url: str) -> str:
    """Write the report of the run in `folder` to the file `url`, and return `url`.

    Raises PlanError if the folder has no sealed (finished) Dataset, StaleOutput if `url` is another file, NewerFormat
    if a newer dataprep wrote into the folder, and Replaced if a result was replaced while it was read; the page is then
    not kept, because it may show text that the new result hides.
    """
    refuse_newer(folder)
    owned.check_file(url, "an HTML page", "<!doctypehtml")
    page = b""
    try:
        with one_result(folder):
            page = render(summarize(folder)).encode()
            files.write_bytes(url, page)
    except Replaced:
        if page:
            files.remove(url)
        raise
    return url


def render(summary: RunSummary) -> str:
    """Return the report as one HTML text, under 2 MB for any corpus; it loads no other files."""
    style, script = (
        resources.files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "page.js")
    )
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'"
    sections = [
        overview.funnel(summary),
        sources.sources(summary),
        overview.unread(summary),
        chats.chats(summary),
        duplicates.duplicates(summary),
        duplicates.cuts(summary),
        duplicates.examples(summary),
        results.texts(summary),
        results.tokens(summary),
        results.training(summary),
        experiments.experiments(summary),
        results.recipe(summary),
    ]
    name, body = text(summary.name), "".join(sections)
    keys = " ".join(manifest.key for manifest in summary.manifests.values())  # `dataprep forget` reads them
    links = "".join(f'<a href="#{anchor}">{title}</a>' for anchor, title in HEADING.findall(body))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f'<title>{name}: report of a run</title><meta name="dataprep-keys" content="{keys}"><style>{style}</style>'
        "</head><body>"
        f'<header><h1 dir="auto">{name}</h1><p>What this run read, what it removed and why, and what it made. '
        f'{text(summary.left_out)}</p>'
        f'{overview.alarms(summary)}{overview.tiles(summary)}<nav aria-label="Sections">{links}</nav></header>'
        f"<main>{body}</main><footer>dataprep {__version__} · <code>dataprep why DIR ID</code> explains any "
        "document, <code>dataprep clusters DIR</code> shows duplicates "
        f"and the documents that were kept for them</footer><script>{script}</script></body></html>\n"
    )
