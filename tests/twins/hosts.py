"""Twin of `filters/hosts.py`."""

from __future__ import annotations

import urllib.parse


def host_and_path(url: str) -> tuple[str, str]:
    """The host of a URL or of an entry of a list, and what follows it."""
    rest = url.replace("\\", "/").split("//", 1)[-1]
    end = min([rest.find(c) for c in "/?#" if c in rest] or [len(rest)])
    host = rest[:end].split("@")[-1].split(":")[0].lower().strip("*").strip(".")
    return host.encode("idna").decode(), urllib.parse.unquote(rest[end:])


def _under(url: str, entry: str) -> bool:
    (host, path), (domain, listed) = host_and_path(url), host_and_path(entry)
    if listed.strip("/"):
        place = path[: len(listed)] == listed and (path[len(listed) :] or "/")[0] in "/?#;"
        return host.removeprefix("www.") == domain and (place or (listed[-1] == "/" and path.startswith(listed)))
    return host == domain or (host.endswith("." + domain) and not host[-1].isdigit())


def host_reason(url: str | None, block, allow, words) -> str | None:
    """Why `Hosts` drops a document with this URL."""
    if not url or " " in url or not host_and_path(url)[0]:
        return None
    hits = [entry for entry in block if _under(url, entry)]
    if any(not host_and_path(entry)[1].strip("/") for entry in hits):
        return "blocked_host"
    if hits or any(word in urllib.parse.unquote(url).lower() for word in words):
        return "blocked_url"
    return "host_not_allowed" if allow and not any(_under(url, entry) for entry in allow) else None
