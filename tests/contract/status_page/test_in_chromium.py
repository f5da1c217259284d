"""The page as people see it: in a real browser, wide and narrow, light and dark, hostile, full."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

pytestmark = [pytest.mark.full, pytest.mark.needs("chromium", "bash")]
LIGHT, DARK = "rgb(251, 251, 250)", "rgb(21, 23, 26)"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
STICKING_OUT = """[...document.querySelectorAll('td *:not(title)')].filter(e => {
  const cell = e.closest('table').getBoundingClientRect(), own = e.getBoundingClientRect();
  return own.width && (own.right > cell.right + 1 || own.left < cell.left - 1);
}).map(e => e.outerHTML)"""
SHOTS = os.environ.get("PFID_TEST_SHOTS")
LAYOUT = Path(__file__).with_name("layout.js").read_text()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("browser", Path(__file__).with_name("browser.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    one = module.Browser(tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


def keep(browser, name):
    """A page on which nothing overlaps, sticks out or is too pale or small to be read.

    Its picture is not blank, and kept where somebody wants to look.
    """
    assert browser.value(LAYOUT) == []
    path = browser.screenshot(name)
    assert path.stat().st_size > 4_000
    if SHOTS:
        shutil.copy(path, SHOTS)


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_follows_the_readers_scheme_and_asks_for_nothing_else(
    browser, served, with_gpus, width, dark
):
    url = served(with_gpus)
    browser.look(url, width, dark=dark)
    assert browser.value(BACKGROUND) == (DARK if dark else LIGHT)
    assert browser.value(OVERFLOW) <= 0
    assert browser.value(STICKING_OUT) == []
    assert browser.value("document.querySelectorAll('tbody tr').length") > 8
    assert browser.value("document.querySelectorAll('svg polyline').length") >= 3
    assert browser.asked_for() <= {url, f"{url}favicon.ico"}
    assert [c for c in browser.complaints() if "favicon" not in c and "404" not in c] == []
    keep(browser, f"page-{width}-{'dark' if dark else 'light'}.png")


@pytest.mark.parametrize("width", [360, 1600])
def test_hostile_names_are_text_and_nothing_runs(browser, served, hostile, width):
    browser.look(served(hostile), width)
    assert browser.value("document.title") == "pfid"
    assert browser.value("document.scripts.length") == 0
    assert browser.value("document.images.length") == 0
    shown = browser.value("document.body.innerText")
    assert "<script>document.title='owned'" in shown
    assert "\u202e" not in shown
    assert browser.value(OVERFLOW) <= 0
    keep(browser, f"hostile-{width}.png")


@pytest.mark.parametrize(("runs", "width"), [(0, 360), (0, 1600), (500, 360), (500, 1600)])
def test_no_run_and_five_hundred_are_both_a_page(browser, served, snapshot, runs, width):
    browser.look(served(snapshot(runs)), width)
    assert browser.value(OVERFLOW) <= 0
    assert browser.value("document.querySelectorAll('h2').length") >= 3
    first = "document.querySelector('table').tBodies[0].rows.length"
    assert not runs or browser.value(first) == runs
    keep(browser, f"runs-{runs}-{width}.png")


def test_a_daemon_that_stands_still_says_so_first(browser, served, snapshot):
    browser.look(served(snapshot(), healthy=False), 800)
    assert "old news" in browser.value("document.querySelector('.alarm').innerText")
    browser.look(served(snapshot()), 800)
    assert browser.value("document.querySelectorAll('.alarm').length") == 0


PLANTED = {
    "overlaps": (
        "document.querySelector('tbody tr').style.transform = 'translateY(12px)'",
        "document.querySelector('td .dim').style = 'position: relative; top: -1em'",
        "document.querySelector('h2').style.marginTop = '-60px'",
    ),
    "outside": (
        "document.querySelector('h2').style.marginLeft = '-60px'",
        "document.querySelector('svg').style.marginLeft = '2000px'",
    ),
    "pale": (
        "document.querySelector('td b').style.color = 'rgb(150, 150, 150)'",
        "document.querySelector('.tag').style.backgroundColor = 'rgb(120, 120, 120)'",
        "document.querySelector('svg .line').style.stroke = 'rgb(220, 220, 220)'",
    ),
    "small": ("document.querySelector('.dim').style.fontSize = '10px'",),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_fault_of_the_layout_would_have_been_seen(browser, served, with_gpus, kind):
    url = served(with_gpus)
    for fault in PLANTED[kind]:
        browser.look(url, 1600)
        assert browser.value(LAYOUT) == []
        browser.value(fault)
        assert kind in {line.partition(":")[0] for line in browser.value(LAYOUT)}, fault
