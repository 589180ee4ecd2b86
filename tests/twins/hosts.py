"""Twin of `filters/hosts.py`."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import socket
import urllib.parse

NETWORKS = ("1.0.0.0/8", "2001:db8::/33")


def host_and_path(url: str) -> tuple[str, str]:
    """The host of a URL or of an entry of a list, and what follows it."""
    rest = re.sub("^(https?:|//)/*", "", url.replace("\\", "/"), flags=re.IGNORECASE)
    end = min([rest.find(c) for c in "/?#" if c in rest] or [len(rest)])
    host = rest[:end].split("@")[-1].lower()
    host = host if "[" in host else host.split(":")[0].strip("*").strip(".")
    path, mark, query = re.fullmatch(r"([^?#]*)([?#]?)(.*)", rest[end:]).groups()
    plain = re.sub("^/+", "/", posixpath.normpath(urllib.parse.unquote(path))) if path else ""
    plain += "/" if path.endswith(("/", "/.")) and plain != "/" else ""
    return _address(host) or host.encode("idna").decode(), plain + mark + urllib.parse.unquote(query)


def _address(host: str) -> str | None:
    """An IP address as the C library prints it."""
    try:
        if "[" in host:
            six = socket.inet_pton(socket.AF_INET6, host.partition("]")[0][1:])
            return f"[{socket.inet_ntop(socket.AF_INET6, six)}]"
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _under(url: str, entry: str) -> bool:
    if entry in NETWORKS:
        address = host_and_path(url)[0].strip("[]")
        return address[-1:].isdigit() and ipaddress.ip_address(address) in ipaddress.ip_network(entry)
    (host, path), (domain, listed) = host_and_path(url), host_and_path(entry)
    if listed.strip("/"):
        place = path[: len(listed)] == listed and (path[len(listed) :] or "/")[0] in "/?#;"
        place = place or (listed[-1] == "/" and path.startswith(listed))
        return place and host.removeprefix("www.") == domain.removeprefix("www.")
    return host == domain or (host.endswith("." + domain) and not host[-1].isdigit())


def host_reason(url: str | None, block, allow, words) -> str | None:
    """Why `Hosts` drops a document with this URL."""
    if not url or " " in url or not host_and_path(url)[0]:
        return None
    hits = [entry for entry in block if _under(url, entry)]
    if any(entry in NETWORKS or not host_and_path(entry)[1].strip("/") for entry in hits):
        return "blocked_host"
    if hits or any(word in urllib.parse.unquote(url).lower() for word in words):
        return "blocked_url"
    return "host_not_allowed" if allow and not any(_under(url, entry) for entry in allow) else None
