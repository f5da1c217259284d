"""The page of a judgement as a real browser draws it: it fits, and nothing is fetched."""

import subprocess
from pathlib import Path

import pytest

from pfid.bootstrap.judge.evaluation import Evaluation
from pfid.cli.judge.page import page
from pfid.config.gates import GateSpec
from pfid.config.model import Config
from pfid.spec.fakes_results import arm, record, result_facts

pytestmark = [pytest.mark.full, pytest.mark.needs("chromium")]
PROBE = (
    "<script>addEventListener('load',()=>{const d=document.documentElement;"
    "document.title='wide '+(d.scrollWidth>d.clientWidth)+' plots '"
    "+document.querySelectorAll('svg.plot rect.bar,svg.plot circle').length"
    "+' fetched '+performance.getEntriesByType('resource').length})</script></head>"
)


@pytest.mark.parametrize("width", [1200, 420])
def test_it_fits_and_fetches_nothing(tmp_path, width):
    def answers(name, most):
        return arm(
            [
                record(
                    i,
                    "word " * (1 + i % most),
                    family="a" * 200 if i % 2 else "b",
                    scores={"acc": float(i % 3 == 0), "f1": i / 100},
                )
                for i in range(100)
            ],
            name,
        )

    evaluation = Evaluation(
        name="n" * 200,
        spec=GateSpec(),
        folder=Path("/"),
        state=tmp_path,
        results=result_facts(answers("tuned" * 30, 30), answers("base", 50)),
        config=Config(),
    )
    file = tmp_path / "page.html"
    file.write_text(page(evaluation, ()).replace("</head>", PROBE))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/u",
         f"--window-size={width},900", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    title = done.stdout.split("<title>")[1].split("</title>")[0]
    words = title.split()
    assert words[:2] == ["wide", "false"], title
    assert int(words[3]) > 20, title
    assert words[5] == "0", title
