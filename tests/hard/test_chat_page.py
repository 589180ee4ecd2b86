"""The page of `dataprep chat --web` in a real browser: text that is no HTML, and nothing else loaded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import pytest

pytest.importorskip("torch")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


class Browser:
    """A browser without a window that is told what to do through pipes: JSON messages, each ended by a zero byte."""

    def __init__(self, folder):
        asked, self._to = os.pipe()
        self._from, said = os.pipe()
        flags = "--headless --no-sandbox --disable-gpu --remote-debugging-pipe --no-first-run --window-size=400,700"
        command = f'exec "$0" {flags} --user-data-dir="$1" about:blank 3<&{asked} 4>&{said}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, BROWSER, str(folder)], pass_fds=(asked, said), stderr=subprocess.DEVNULL
        )
        os.close(asked), os.close(said)
        self._number, self._rest, self.session, self.events = 0, b"", None, []

    def do(self, method, **parameters):
        """Call a method of the browser's protocol; return its result. Events are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                self._rest += os.read(self._from, 1 << 16) or pytest.fail("the browser ended")
            data, _, self._rest = self._rest.partition(b"\0")
            found = json.loads(data)
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def open(self, url):
        """Open a page and talk to it from now on."""
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Runtime", "Log", "Network", "Page"):
            self.do(f"{part}.enable")
        self.do("Page.navigate", url=url)

    def value(self, expression):
        """The value of an expression in the page."""
        return self.do("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression, seconds=60):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, (expression, self.value("document.body && document.body.innerText"))
            time.sleep(0.05)


@pytest.fixture
def browser(tmp_path):
    """A browser, ended after the test."""
    made = Browser(tmp_path / "profile")
    yield made
    made.process.kill()
    made.process.wait()


def test_a_conversation(browser, server):
    """Words are sent with Enter, answers appear as text, the buttons work, and the page loads and logs nothing else."""
    browser.open(server.url)
    browser.until("document.body && document.body.innerText.includes('parameters')")
    turns = "[...document.querySelectorAll('.turn')].map(turn => turn.textContent)"
    done = "document.getElementById('stop').disabled"
    browser.value("document.getElementById('words').focus()")
    browser.do("Input.insertText", text="what is for dinner?")
    for kind in ("keyDown", "keyUp"):
        browser.do("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    browser.until(f"{turns}.length === 2 && {done}")
    assert browser.value(turns) == ["what is for dinner?", "soup & <b>bread</b>"]
    assert browser.value("document.querySelectorAll('#talk b').length") == 0
    browser.value("document.getElementById('again').click()")
    browser.until(f"{done} && {turns}.length === 2 && {turns}[1].length > 5")
    browser.value("document.getElementById('words').value = 'good night'; document.getElementById('send').click()")
    browser.until(f"{turns}.length === 4 && {done}")
    assert browser.value(turns)[2:] == ["good night", "sleep well"]
    assert browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    browser.value("document.getElementById('reset').click()")
    assert browser.value(turns) == []
    asked = {e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"}
    assert {url.removeprefix(server.url) for url in asked} <= {"", "card", "answer", "favicon.ico"}
    wrong = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
    assert not [e for e in browser.events if e["method"] in wrong]
    inject = "{const s = document.createElement('script'); s.textContent = 'window.bad = 1'; document.body.append(s)}"
    browser.value(inject)
    assert browser.value("window.bad === undefined"), "the policy of the page stops a script that gets into it"
