"""Chromium without a window, driven over pipes: open a page, run JavaScript in it, and see what the console said."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


class Browser:
    """One tab; `said` collects errors and warnings of the console, failed requests and violated policies.

    Attributes:
        profile: a folder for the browser's own files.
    """

    def __init__(self, profile):
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        given = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        code = f"import os; os.dup2({to_read}, 3); os.dup2({to_write}, 4); os.execv({given[0]!r}, {given!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", code], pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.waiting, self.number, self.session, self.said = b"", 0, None, []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.of)

    def call(self, method, **given):
        """The result of a command of the DevTools protocol."""
        self.number += 1
        session = {"sessionId": self.session} if self.session else {}
        command = {"id": self.number, "method": method, "params": given, **session}
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self.number:
                assert "error" not in found, found
                return found["result"]
            if found.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.said.append(found["params"])

    def _message(self):
        while b"\0" not in self.waiting:
            piece = os.read(self.of, 1 << 20)
            assert piece, "the browser ended"
            self.waiting += piece
        one, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(one)

    def run(self, code):
        """The value of an expression in the page; a promise is awaited."""
        found = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, code, seconds=20.0):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.run(code):
                return found
            time.sleep(0.02)
        msg = f"{code} was not true in {seconds} s; the page has: {self.run('document.body.innerText')[:2000]}"
        raise AssertionError(msg)

    def open(self, url, wide=1000, high=900, dark=False):
        """Open a page in a window of a width."""
        self.resize(wide, high)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Page.navigate", url=url)

    def resize(self, wide, high):
        """Change the size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=False)

    def shot(self, path):
        """Write a picture of the window."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
