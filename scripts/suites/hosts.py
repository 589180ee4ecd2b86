"""Compare the hosts of URLs with those that the tests of the URL Standard state.

The file is `url/resources/urltestdata.json` of web-platform-tests, which no package has: it must be in the folder of
the suites. Absolute URLs of http, https, ftp, ws and wss are compared; of the dots at the end of a host none counts. Of
the URLs that the standard rejects, those are left out that it rejects for their port, since ports are not judged here,
and those with control characters, which `host_name` removes so that they hide no host from a list.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

from dataprep.filters.robots import host_and_path

from .sdists import FOLDER, NotThereError

FILE = "urltestdata.json"
SPECIAL = re.compile(r"(?:https?|ftp|wss?)://", re.IGNORECASE)
PORT = re.compile(r"://[^/?#\[]*?[^/?#:\[]:(?![0-9]{1,4}(?:[/?#]|$))[^:/?#\]]*(?:[/?#]|$)")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def measures() -> Iterator[tuple[str, str, str]]:
    """Yield (measure, result on the tuned half, result on the other half)."""
    path = os.path.join(FOLDER, FILE)
    if not os.path.exists(path):
        msg = f"put {FILE} of web-platform-tests (url/resources) into {FOLDER}"
        raise NotThereError(msg)
    with open(path, encoding="utf-8") as f:
        tests = [test for test in json.load(f) if isinstance(test, dict)]
    right, total = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    for test in tests:
        url = test["input"]
        fails = test.get("failure", False)
        if not SPECIAL.match(url) or (fails and (PORT.search(url) or CONTROL.search(unquote(url)))):
            continue
        key = "rejected URLs without a host" if fails else "hosts of URLs", is_tuned(url)
        total[key] += 1
        right[key] += host_and_path(url)[0] == ("" if fails else test["hostname"].rstrip("."))
    for name in sorted({name for name, _ in total}):
        tuned, other = (f"{right[name, half]} of {total[name, half]}" for half in (True, False))
        yield name, tuned, other


def is_tuned(url: str) -> bool:
    """Return whether a URL belongs to the half that may be looked at."""
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0
