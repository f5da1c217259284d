"""The scheduler's environment gives job, rank and world size; nonsense gives None."""

import pytest

from pfid.policy.job_identity import JobIdentity, fingerprint_parts, job_identity


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, JobIdentity()),
        (
            {"RANK": "3", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": "none"},
            JobIdentity(rank=3, world_size=8),
        ),
        (
            {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
            JobIdentity(job_id="77", rank=0, world_size=2),
        ),
        (
            {"SLURM_JOB_ID": "78", "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": "5"},
            JobIdentity(job_id="77_5"),
        ),
        (
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "pod-a"},
            JobIdentity(job_id="pod-a"),
        ),
        ({"HOSTNAME": "box"}, JobIdentity()),
        ({"JOB_COMPLETION_INDEX": "4"}, JobIdentity(rank=4)),
        ({"RANK": "-1", "WORLD_SIZE": "0"}, JobIdentity()),
        ({"RANK": "²", "WORLD_SIZE": "many"}, JobIdentity()),
        ({"SLURM_JOB_ID": "7\x1b7"}, JobIdentity(job_id="77")),
    ],
)
def test_what_the_environment_says(environ, expected):
    assert job_identity(environ) == expected


def test_the_same_work_typed_elsewhere_has_the_same_parts():
    here = fingerprint_parts(["/usr/bin/python", "/w/train.py"], "/w", None)
    assert here == fingerprint_parts(["python", "train.py"], "/elsewhere", 1)


@pytest.mark.parametrize(
    "argv_and_world", [(["python", "train.py", "--bs", "8"], None), (["python", "train.py"], 2)]
)
def test_other_arguments_or_another_world_are_other_work(argv_and_world):
    argv, world = argv_and_world
    assert fingerprint_parts(argv, "/w", world) != fingerprint_parts(
        ["python", "train.py"], "/w", 1
    )
