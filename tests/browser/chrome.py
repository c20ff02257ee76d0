"""Debian's Chromium, without anything that it would do on its own."""

import shutil

from playwright.sync_api import Browser, Playwright, expect

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# A bound for a broken page, not a promise of speed: a busy machine plans for half a minute.
PATIENCE = 60_000  # milliseconds
NAMES = ("chromium", "chromium-browser", "google-chrome")


def launch(play: Playwright) -> Browser:
    """Start the browser of this machine."""
    expect.set_options(timeout=PATIENCE)
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    return play.chromium.launch(executable_path=path, args=ARGUMENTS)
