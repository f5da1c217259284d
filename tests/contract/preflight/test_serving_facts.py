"""Is the project's proof of its serving path really run, in its folder?"""

import pytest

from pfid.bootstrap.preflight.serving import serving_facts


def facts(repository, command, more=""):
    return serving_facts(repository.project(f"[serving]\ncommand = {command}\n{more}"))


@pytest.mark.parametrize(
    ("command", "more", "problem", "refused", "detail"),
    [
        ('["sh", "-c", "test -f data/mask.json"]', "", "", False, ""),
        (
            '["sh", "-c", "echo must be implemented >&2; exit 1"]',
            "",
            "",
            True,
            "must be implemented",
        ),
        ('["sh", "-c", "kill -9 $$"]', "", "serving_crashed", False, ""),
        ('["sleep", "60"]', "deadline_s = 0.3\n", "serving_hung", False, ""),
        ('["./nowhere"]', "", "not_started", False, "./nowhere: not found"),
    ],
)
def test_a_proof_is_tried(repository, command, more, problem, refused, detail):
    found = facts(repository, command, more)
    assert (found.problem, found.refused, found.detail) == (problem, refused, detail)


def test_no_command_is_none(repository):
    assert serving_facts(repository.project()) is None
