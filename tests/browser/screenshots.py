"""Take a picture of every page of a running demo, at both widths and in both themes.

    python -m tests.browser.screenshots [http://127.0.0.1:8000] [folder]

The pictures are for looking at, not for comparing: the demo's data moves. Those of the README are
kept in docs/images; copy them there when a page has changed.
"""

import re
import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chrome import launch

ADDRESS = "http://127.0.0.1:8000"
FOLDER = Path("build/screenshots")
FORMS = frozenset({"new", "open", "register"})
# Who looks at what. A path that ends in * is followed: the first link that begins like it and does
# not lead to an empty form.
VISITS = {
    "alice": [
        "/jobs/",
        "/jobs/?state=waiting",
        "/c/demo/jobs/*",
        "/t/nlp/",
        "/t/nlp/requests/new",
        "/t/nlp/people/",
        "/t/nlp/costs/",
        "/t/nlp/costs/utilisation/",
        "/t/nlp/costs/efficiency/",
        "/t/nlp/costs/lost/",
        "/t/nlp/costs/idle/",
        "/t/nlp/costs/idle/*",
        "/t/nlp/costs/budget/",
        "/t/nlp/statements/",
        "/t/nlp/statements/*",
        "/requests/",
        "/requests/*",
    ],
    "bob": ["/jobs/", "/c/demo/queues/nlp-train/", "/jobs/?state=running", "/c/demo/jobs/*"],
    "carol": ["/requests/?show=decide", "/requests/*", "/plans/*", "/applies/*"],
    "dave": [
        "/clusters/",
        "/clusters/demo/",
        "/clusters/demo/costs/",
        "/clusters/demo/costs/utilisation/",
        "/clusters/demo/costs/efficiency/",
        "/clusters/demo/costs/teams/",
        "/clusters/demo/costs/idle/",
        "/clusters/demo/metrics/",
        "/costs/",
        "/costs/periods/*",
        "/costs/findings/*",
        "/costs/tolerances/",
        "/costs/books/",
        "/costs/books/*",
        "/costs/versions/*",
        "/costs/books/*",
        "/costs/policies/*",
        "/costs/bills/",
        "/costs/bills/*",
        "/costs/bills/files/*",
        "/clusters/register",
        "/catalog/",
        "/catalog/demo/",
        "/misrouted/",
        "/people/",
        "/people/*",
        "/audit/",
        "/password/",
    ],
    "heidi": ["/", "/jobs/", "/requests/"],
}


def sign_in(page: Page, address: str, who: str) -> bool:
    """Sign in with the demo's button; a person who is not in the demo is left out."""
    page.goto(f"{address}/login/")
    button = page.locator(f'button[name="username"][value="{who}"]')
    if not button.count():
        return False
    button.click()
    page.wait_for_load_state()
    return True


def follow(page: Page, path: str) -> str:
    """Return the address of the first link on this page that goes deeper into ``path``."""
    links = page.locator(f'main a[href^="{path}"]').evaluate_all("all => all.map(a => a.pathname)")
    ends = {link: link.rstrip("/").rpartition("/")[2] for link in links if link != path}
    return next((link for link, end in ends.items() if end not in FORMS), "")


def walk(chrome: Browser, address: str, folder: Path, width: int, theme: str) -> int:
    """Take one set of pictures and return how many there are."""
    taken = 0
    for who, paths in VISITS.items():
        size = {"width": width, "height": 900}
        context = chrome.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
        page = context.new_page()
        for path in paths if sign_in(page, address, who) else []:
            place = follow(page, path[:-1]) if path.endswith("*") else path
            if place:
                page.goto(address + place)
                name = re.sub(r"[^a-z0-9]+", "-", path).strip("-") or "home"
                name += "-one" if path.endswith("*") else ""
                page.screenshot(path=folder / f"{who}-{name}-{width}-{theme}.png", full_page=True)
                taken += 1
        context.close()
    return taken


def main(arguments: list[str]) -> None:
    address = arguments[0] if arguments else ADDRESS
    folder = Path(arguments[1]) if len(arguments) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        chrome = launch(play)
        sets = product((1440, 390), ("light", "dark"))
        taken = sum(walk(chrome, address, folder, width, theme) for width, theme in sets)
        chrome.close()
    sys.stdout.write(f"{taken} pictures in {folder}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
