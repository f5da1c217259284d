"""Are arguments, choices and metrics asked of what is really installed?"""

import pytest

from pfid.bootstrap.preflight.declared import declared_facts
from pfid.bootstrap.preflight.kwargs import kwargs_facts
from pfid.bootstrap.preflight.metrics import metrics_facts


def target(repository, spec, config=""):
    if config:
        repository.write("train.toml", config)
    (found,) = kwargs_facts(repository.project(spec)).targets
    return found


def test_arguments_of_a_file_and_of_the_spec_are_held_together(repository):
    found = target(
        repository,
        '[[kwargs]]\ntarget="train.core:Arguments"\nfile="train.toml"\ntable="a.b"\n'
        "arguments={warmup_ratio=0.1}\n",
        "[a.b]\nlr=0.1\nday=2026-08-24\n",
    )
    assert found.unknown == (("day", ""), ("warmup_ratio", "warmup_steps"))
    assert found.tried == 3


def test_what_vanishes_into_kwargs_is_unseen(repository):
    found = target(repository, '[[kwargs]]\ntarget="train.core:Swallows"\narguments={lrr=0.1}\n')
    assert found.unseen == (("lrr", "lr"),)


@pytest.mark.parametrize(
    ("spec", "config", "problem", "said"),
    [
        ('target="nowhere:A"', "", "target_missing", "No module named"),
        ('target="train.core:Nothing"', "", "target_missing", "there is no 'Nothing'"),
        ('target="builtins:max"', "", "no_signature", "no signature"),
        ('target="train.core:Arguments"\nfile="none.toml"', "", "arguments_unreadable", "none"),
        (
            'target="train.core:Arguments"\nfile="train.toml"\ntable="x"',
            "y=1",
            "arguments_unreadable",
            "no key x",
        ),
        (
            'target="train.core:Arguments"\nfile="train.toml"\ntable="y"',
            "y=1",
            "arguments_unreadable",
            "no table",
        ),
        (
            'target="train.core:Arguments"\nfile="train.toml"',
            "y=",
            "arguments_unreadable",
            "train.toml",
        ),
    ],
)
def test_what_cannot_be_asked_is_named(repository, spec, config, problem, said):
    found = target(repository, f"[[kwargs]]\n{spec}\n", config)
    assert found.problem == problem
    assert said in found.detail


def test_one_dead_interpreter_is_every_targets_problem(repository, tmp_path):
    spec = '[[kwargs]]\ntarget="a:B"\n[[kwargs]]\ntarget="c:D"\n'
    found = kwargs_facts(repository.project(spec, python=str(tmp_path / "none")))
    assert [t.problem for t in found.targets] == ["python_not_found"] * 2


DECLARED = """
[config]
paths = ["data/mask.json", "data/none.json"]
ranges = [
  { file = "train.json", key = "t.lr", min = 0.1, max = 0.5 },
  { file = "train.json", key = "t.name", min = 0 },
  { file = "train.json", key = "t.nothing", min = 0 },
]
choices = [
  { file = "train.json", key = "t.name", among = ["cosine"] },
  { file = "train.json", key = "t.rounding", of = "decimal:ROUND_UP" },
  { file = "train.json", key = "t.how", of = "http:HTTPMethod" },
]
[checkpoints]
folder = "out/deep/er"
size_gb = 2
keep = 3
"""


def test_declarations_are_held_against_disk_and_library(repository):
    text = '{"t": {"lr": 0.7, "name": "cosin", "rounding": "X", "how": "POTS"}}'
    repository.write("train.json", text)
    found = declared_facts(repository.project(DECLARED))
    assert found.missing == ("data/none.json",)
    assert found.out_of_range == ("train.json: t.lr = 0.7 is not in 0.1..0.5",)
    assert [w.partition(" is not")[0] for w in found.not_among] == [
        "train.json: t.name = cosin",
        "train.json: t.how = POTS",
    ]
    assert len(found.unreadable) == 3
    assert found.needed_bytes == 6e9
    assert found.free_bytes > 0
    assert found.looked_at == 9


def test_the_ends_of_a_range_are_in_it(repository):
    repository.write("train.json", '{"t": {"lr": 0.5}}')
    spec = '[config]\nranges=[{file="train.json", key="t.lr", min=0.5, max=0.5}]\n'
    assert declared_facts(repository.project(spec)).out_of_range == ()


@pytest.mark.parametrize(
    "declared",
    [
        'ranges=[{file="train.json", key="t.lr", min=0}]',
        'choices=[{file="train.json", key="t.lr", among=["a"]}]',
    ],
)
def test_what_is_null_was_not_found_good(repository, declared):
    repository.write("train.json", '{"t": {"lr": null}}')
    found = declared_facts(repository.project(f"[config]\n{declared}\n"))
    assert found.unreadable == ("train.json: t.lr is null",)


def metric(repository, function, more=""):
    (found,) = metrics_facts(
        repository.project(
            f'[[metrics]]\nfunction="train.core:{function}"\ncontrols=['
            '{args=["a", "a"], expect=1.0}, {kwargs={one="", other="b"}, expect=0.0}' + more + "]\n"
        )
    ).metrics
    return found


def test_a_path_that_cannot_be_looked_at_is_not_called_missing(repository):
    spec = f'[config]\npaths = ["{"x" * 300}", "none/x", "train.toml/x"]\n'
    repository.write("train.toml", "")
    found = declared_facts(repository.project(spec))
    assert found.missing == ("none/x", "train.toml/x")
    assert found.unreadable == (f"{'x' * 300}: File name too long",)


def test_a_metric_answers_what_is_known(repository):
    found = metric(repository, "overlap")
    assert (found.problem, found.wrong) == ("", ())
    assert found.answers == found.expected == (1.0, 0.0)


def test_a_dead_metric_is_seen(repository):
    found = metric(repository, "dead")
    assert found.wrong == ("input 1: 0, not 1",)
    assert found.answers == (0.0, 0.0)


def test_a_tolerance_is_kept(repository):
    assert (
        metric(repository, "overlap", ', {args=["a","a"], expect=0.9, tolerance=0.11}').wrong == ()
    )
    assert metric(repository, "overlap", ', {args=["a","a"], expect=0.9, tolerance=0.09}').wrong


@pytest.mark.parametrize(
    ("function", "problem", "said"),
    [
        ("no_number", "no_answer", "str is no number"),
        ("nothing_here", "python_raised", "there is no"),
    ],
)
def test_a_metric_that_does_not_answer_is_named(repository, function, problem, said):
    found = metric(repository, function)
    assert found.problem == problem
    assert said in found.detail


def test_a_subject_the_spec_does_not_speak_of_is_none(repository):
    project = repository.project()
    assert kwargs_facts(project) is None
    assert declared_facts(project) is None
    assert metrics_facts(project) is None
