"""The page over HTTP: its headers, its bytes, and that looking collects nothing."""

import gzip
import re
import urllib.request
from dataclasses import replace

from pfid.adapters.http_server import PageServer, Status
from pfid.adapters.status_page import POLICY, STYLE_DIGEST, status_page
from pfid.config.address import Address
from pfid.domain.gpu import MigInstance
from pfid.domain.gpu_view import WorkKind
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, EntityKind
from pfid.formats.html.tables import moment


def ask(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        return answer.headers, answer.read()


def test_its_policy_allows_its_own_style_and_nothing_else(served, snapshot):
    headers, body = ask(served(snapshot()))
    assert headers["Content-Security-Policy"] == POLICY
    assert len(headers.get_all("Content-Security-Policy")) == 1
    assert f"style-src 'sha256-{STYLE_DIGEST}'" in POLICY
    assert "script" not in POLICY
    assert headers["Cache-Control"] == "no-store"
    for foreign in (b"<script", b" style=", b"src=", b"http://", b"https://", b"url("):
        assert foreign not in body


def test_it_is_packed_for_whoever_takes_that(served, snapshot):
    url = served(snapshot(500))
    headers, packed = ask(url, **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == ask(url)[1]
    assert len(packed) < 150_000


def test_it_is_made_once_for_many_who_look_and_again_when_something_is_new(snapshot):
    made = []

    def make(name):
        return lambda good: made.append((name, good)) or b"page"

    good = [True]
    server = PageServer([Address("127.0.0.1", 0)], healthy=lambda: good[0])
    server.publish_status(Status(make=make("first"), policy=POLICY))
    server.start()
    url = f"http://{server.addresses[0]}/"
    try:
        for _ in range(5):
            ask(url)
        good[0] = False
        ask(url)
        server.publish_status(Status(make=make("second"), policy=POLICY))
        ask(url)
    finally:
        server.stop()
    assert made == [("first", True), ("first", False), ("second", False)]
    assert server.scrapes == 7


def test_it_shows_nothing_a_self_test_made(snapshot):
    from dataclasses import replace

    whole = snapshot(2)
    hidden = replace(whole.runs[0], synthetic=True)
    page = status_page(replace(whole, runs=(hidden, whole.runs[1]))).decode()
    assert f">{whole.runs[1].run.run_id}<" in page
    assert page.count(f'class="dim">{hidden.run.run_id}<') == 0


def test_a_verdict_of_an_unproven_check_is_not_shown_as_passing(snapshot):
    from dataclasses import replace

    from pfid.domain.gate import GateState

    whole = snapshot(1)
    gate = replace(whole.gates[0], state=GateState.UNPROVEN)
    page = status_page(replace(whole, gates=(gate,))).decode()
    assert "run_gone: unproven" in page


def test_a_gpu_says_what_it_does_its_limit_its_tensor_cores_and_who_is_on_it(with_gpus):
    view = with_gpus.gpus
    works = view.gpus[0]
    stranger = replace(works.holders[0], run_name="", username="bert")
    unseen = replace(works.holders[0], run_name="", username="", visible=False)
    elsewhere = replace(unseen, visible=None)
    told = replace(
        works,
        last=replace(works.last, tensor_activity=0.04),
        holders=(*works.holders, stranger, unseen, elsewhere),
    )
    page = status_page(replace(with_gpus, gpus=replace(view, gpus=(told,)))).decode()
    for said in (
        "low power",
        "312 / 700 W",
        "4%",
        "a process of another namespace, bert, held by no visible process, train (anna)",
    ):
        assert said in page, said


def test_every_small_plot_says_what_it_shows(with_gpus):
    page = status_page(with_gpus).decode()
    for said in ("10 to 51.2 s", "utilisation 90% to 97%", "power 300 to 320 W"):
        assert f">{said}<" in page, said
    assert page.count('class="scale"') == page.count("<svg") >= 5


def test_a_line_that_stays_where_it_is_says_so_once(with_gpus):
    gpu = replace(with_gpus.gpus.gpus[0], recent_utilization=(1.0, 1.0), recent_power_w=())
    page = status_page(replace(with_gpus, gpus=replace(with_gpus.gpus, gpus=(gpu,)))).decode()
    assert ">utilisation 100%<" in page


def lines_of(page, said):
    """For each line of a small plot: how far from its left edge each point stands."""
    plot = next(s for s in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if said in s)
    lines = re.findall(r'points="([^"]*)"', plot)
    return [[int(point.split(",")[0]) for point in line.split()] for line in lines]


def test_utilisation_and_power_of_one_moment_stand_above_each_other(with_gpus):
    """Also where one of them could not be read: the line is broken there, and nothing moves."""
    shown = {"recent_utilization": (0.9, None, 0.97, 0.98), "recent_power_w": (1.0, 2.0, 3.0, 4.0)}
    gpu = replace(with_gpus.gpus.gpus[0], **shown)
    page = status_page(replace(with_gpus, gpus=replace(with_gpus.gpus, gpus=(gpu,)))).decode()
    assert lines_of(page, "watts") == [[0, 53, 107, 160]]
    assert lines_of(page, "utilisations") == [[0, 0], [107, 160]]


def rows_under(page, heading):
    """Text of the cells of the table that follows a heading."""
    _, _, behind = page.partition(f"<h2>{heading}</h2>")
    table = behind.partition("</table>")[0]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells]


def test_each_proof_says_how_old_it_is(snapshot):
    whole = snapshot(1)
    ages = {"a_young": 30.0, "b_old": 3.5 * 86_400, "c_never": None}
    gates = tuple(
        replace(whole.gates[0], check=name, proven_at_s=None if age is None else whole.at_s - age)
        for name, age in ages.items()
    )
    page = status_page(replace(whole, gates=gates)).decode()
    head, *rows = rows_under(page, "Checks, and what proves them")
    at = head.index("age of proof")
    assert {row[0]: row[at] for row in rows} == {"a_young": "30 s", "b_old": "3.5 d", "c_never": ""}


def test_the_last_changes_are_there_the_newest_first_and_no_more_than_are_read(snapshot):
    whole = snapshot(1)
    (change,) = whole.transitions
    many = tuple(
        replace(change, check=f"check_{i:02d}", at_s=whole.at_s - 60 * (40 - i)) for i in range(40)
    )
    page = status_page(replace(whole, transitions=many)).decode()
    head, *rows = rows_under(page, "Last changes")
    assert head == ["at", "about", "check", "outcome", "reason"]
    assert [row[2] for row in rows] == [f"check_{i:02d}" for i in range(39, 14, -1)]
    verdict = change.verdict
    said = [change.entity.id, "check_39", verdict.outcome.value, verdict.reason]
    assert rows[0] == [moment(whole.at_s - 60), *said]
    assert "Nothing has changed yet." in status_page(replace(whole, transitions=())).decode()


def test_what_fails_of_the_box_stands_before_what_passes(snapshot):
    whole = snapshot(1)
    about = Entity(EntityKind.GPU, "GPU-0001")
    shown = [
        replace(
            whole.verdicts[0], check=name, entity=about, outcome=outcome, summary=f"says {name}"
        )
        for name, outcome in (
            ("a_passes", Outcome.PASS),
            ("b_cannot", Outcome.UNKNOWN),
            ("c_fails", Outcome.FAIL),
            ("d_other", Outcome.NOT_APPLICABLE),
        )
    ]
    page = status_page(replace(whole, verdicts=tuple(shown), gates=())).decode()
    order = [page.index(f"says {name}") for name in ("c_fails", "b_cannot", "a_passes")]
    assert order == sorted(order)
    assert "says d_other" not in page


def test_a_leg_that_was_never_tried_is_not_an_empty_cell(snapshot):
    whole = snapshot(1)
    proven_to = replace(whole.gates[0].proven_to, live=None, alerts=False)
    page = status_page(replace(whole, gates=(replace(whole.gates[0], proven_to=proven_to),)))
    assert page.count(b"not tried") == 1


def test_a_kind_of_work_that_is_not_known_says_why_and_a_good_one_is_no_warning(with_gpus):
    view = with_gpus.gpus

    def page(**kind):
        gpu = replace(view.gpus[0], **kind)
        return status_page(replace(with_gpus, gpus=replace(view, gpus=(gpu,)))).decode()

    short = page(kind=WorkKind.UNKNOWN, kind_reason="window_too_short")
    assert "? window too short" in short
    busy = page(kind=WorkKind.MATMUL, kind_reason="matmul_bound")
    assert re.search(r"<[^>]*\bgood\b[^>]*>matmul<", busy)


def test_a_divided_card_names_its_slices_as_text(with_gpus):
    view = with_gpus.gpus
    slices = tuple(
        MigInstance(uuid=f"MIG-{i}", gpu_instance=i, compute_instance=0, name=name)
        for i, name in enumerate(("3g.71gb", "<b>1g"))
    )
    facts = replace(view.gpus[0].facts, mig=True, instances=slices)
    gpu = replace(view.gpus[0], facts=facts)
    page = status_page(replace(with_gpus, gpus=replace(view, gpus=(gpu,)))).decode()
    assert "MIG: 3g.71gb, &lt;b&gt;1g" in page
    assert "MIG:" not in status_page(with_gpus).decode()
