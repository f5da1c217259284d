"""The page at ``/`` of a real daemon: what is new is on it, and nothing private."""

import urllib.request

SECRET = "secret-argument"
HOSTILE = "<script>alert(1)</script>"


def front(url):
    with urllib.request.urlopen(url.removesuffix("metrics")) as answer:
        return answer.headers, answer.read().decode()


def test_runs_verdicts_and_proofs_are_on_it_and_no_command_line(box):
    process = box.child("sh", "-c", f"sleep 1000; : {SECRET}")
    url = box.register(process.pid, "train-0001", name=HOSTILE).metrics_url
    box.until("the run is on the page", lambda: "train-0001" in front(url)[1])
    headers, page = front(url)
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert SECRET not in page
    assert "run_gone" in page
    assert "proven" in page
    assert str(box.folder) not in page

    process.kill()
    box.until("its end is on the page", lambda: "run_gone: killed_by_signal" in front(url)[1])
