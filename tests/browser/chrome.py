"""Debian's Chromium, without anything that it would do on its own."""

import shutil

from playwright.sync_api import Browser, Playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def launch(play: Playwright) -> Browser:
    """Start the browser of this machine."""
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    return play.chromium.launch(executable_path=path, args=ARGUMENTS)
