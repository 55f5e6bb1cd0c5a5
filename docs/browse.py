"""Search the documentation site in a browser, and take pictures of its pages: `python docs/build.py` first.

    python docs/browse.py [-o FOLDER] [WORD ...]

The browser is that of Qt (`pip install PyQt6-WebEngine` into an environment of its own; optmap needs none). Each word
is typed into the search of the site: how many pages are found, the first ones, and whether the page behind the first
hit marks the word. Pictures of some pages in two widths go into the folder, with what is wider than its page.
Exit code 1 if a word is not found or not marked, or if something is wider than the page.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

SITE = Path(__file__).resolve().parent / "_build" / "html"
WORDS = (
    *("bound", "machine", "attention", "softmax", "certificate", "solve --top", "LimitError", "optmap.solve"),
    *("resnet18", "gemmini", "traffic"),
)
PAGES = (
    "index.html",
    "tutorials/accelerator-architect.html",
    "gallery.html",
    "reference/python.html",
    "reference/commands.html",
    "reference/documents.html",
    "explanation/proofs.html",
)
WIDTHS = (1280, 400)
HEIGHT = 1600
PATIENCE_S = 30.0
FOUND = """
[...document.querySelectorAll('#search-results ul.search > li')].map(e => [e.querySelector('a').href, e.innerText])
"""
SAID = "document.querySelector('#search-results .search-summary')?.innerText || ''"
MARKED = "document.querySelectorAll('.highlighted').length"
WIDER = """
(() => {
  const page = document.documentElement.clientWidth, inside = e => {
    for (let p = e.parentElement; p; p = p.parentElement) {
      const way = getComputedStyle(p).overflowX;
      if (way === 'auto' || way === 'scroll' || way === 'hidden') return true;
    }
    return false;
  };
  return [...document.querySelectorAll('.content *')].filter(e =>
    e.getBoundingClientRect().right > page + 1 && !inside(e)).slice(0, 8).map(e =>
    e.tagName + ' ' + e.className + ': ' + e.innerText?.slice(0, 60));
})()
"""
"""Elements beyond the right end of the page that nothing scrolls."""


class Browser:
    """A page that nobody sees."""

    def __init__(self) -> None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        os.environ.setdefault("QTWEBENGINE_DISABLE_SANDBOX", "1")
        from PyQt6.QtWebEngineWidgets import QWebEngineView
        from PyQt6.QtWidgets import QApplication

        self._application = QApplication([sys.argv[0]])
        self._view = QWebEngineView()
        self._loaded = False
        self._view.loadFinished.connect(self._ended)
        self._view.show()

    def _ended(self, well: bool) -> None:
        self._loaded = well

    def wait(self, ready: Any, seconds: float = PATIENCE_S) -> bool:
        """Go on until something is so; whether it is."""
        end = time.monotonic() + seconds
        while not ready() and time.monotonic() < end:
            self._application.processEvents()
            time.sleep(0.01)
        return bool(ready())

    def open(self, address: str, width: int = WIDTHS[0]) -> None:
        """Load a page."""
        from PyQt6.QtCore import QUrl

        self._view.resize(width, HEIGHT)
        self._loaded = False
        self._view.load(QUrl(address))
        if not self.wait(lambda: self._loaded):
            raise SystemExit(f"{address} was not loaded")

    def ask(self, script: str) -> Any:
        """The value of an expression on the page."""
        found: list[Any] = []
        self._view.page().runJavaScript(script, found.append)
        self.wait(lambda: found)
        return found[0] if found else None

    def picture(self, path: Path) -> None:
        """Keep what the page shows."""
        self.wait(lambda: False, 0.7)  # until it is painted
        self._view.grab().save(str(path))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder that is served on this machine."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def search(browser: Browser, site: str, word: str) -> bool:
    """Search for a word and say what came; whether the first hit marks it."""
    begun = time.monotonic()
    browser.open(f"{site}/search.html?q={quote(word)}")
    done = browser.wait(lambda: "found" in str(browser.ask(SAID)) or "did not match" in str(browser.ask(SAID)))
    hits = browser.ask(FOUND) or []
    spent = time.monotonic() - begun
    _say(f"{word!r}: {len(hits)} hits in {spent:.1f} s{'' if done else ', and not done'}")
    for address, text in hits[:4]:
        _say(f"    {address.removeprefix(site)}  {' '.join(text.split())[:90]}")
    if not hits:
        return False
    browser.open(hits[0][0])
    marked = browser.wait(lambda: browser.ask(MARKED) > 0, 3.0)
    _say(f"    marked on the first: {browser.ask(MARKED)}")
    return marked


def looked_at(browser: Browser, site: str, page: str, width: int, folder: Path) -> list[str]:
    """Take a picture of a page; what is wider than it."""
    browser.open(f"{site}/{page}", width)
    browser.picture(folder / f"{page.removesuffix('.html').replace('/', '-')}-{width}.png")
    return browser.ask(WIDER) or []


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, look, and say what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", default=WORDS)
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="of pictures; none without")
    parser.add_argument("--site", type=Path, default=SITE, metavar="FOLDER")
    chosen = parser.parse_args(arguments)
    if not (chosen.site / "index.html").is_file():
        parser.error(f"{chosen.site} has no site; run: python docs/build.py")
    browser, wrong = Browser(), 0
    with served(chosen.site) as site:
        wrong += sum(not search(browser, site, word) for word in chosen.words)
        if chosen.output is not None:
            chosen.output.mkdir(parents=True, exist_ok=True)
            for page in PAGES:
                for width in WIDTHS:
                    for each in looked_at(browser, site, page, width, chosen.output):
                        _say(f"{page} at {width}: wider than the page: {each}")
                        wrong += 1
    return int(bool(wrong))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
