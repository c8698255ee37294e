"""Headless Chromium, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@contextmanager
def chromium() -> Iterator[Chrome]:
    """The browser; where there is none the test is skipped."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no chromium and chromedriver here: `make programs` installs them where apt and root are")
    options = selenium.ChromeOptions()
    options.binary_location = browser
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1440,900"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with selenium.Chrome(options=options, service=Service(driver)) as found:
        found.set_script_timeout(60)
        yield found


def complaints(chrome: Chrome) -> list[dict[str, Any]]:
    """What the console has told since it was asked last."""
    return list(chrome.get_log("browser"))  # type: ignore[no-untyped-call]
