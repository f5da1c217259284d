"""The environment gives job, rank and world size, of one source; nonsense gives None."""

import pytest

from pfid.policy.job_identity import JobIdentity, fingerprint_parts, job_identity

NOTHING = JobIdentity()
IN_STEP = {
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "1",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_NTASKS": "8",
}
BATCH = {
    "SLURM_JOB_ID": "200505",
    "SLURM_JOBID": "200505",
    "SLURM_NTASKS": "4",
    "SLURM_NPROCS": "4",
    "SLURM_NNODES": "4",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
}
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
WORKER = {"TORCHELASTIC_RUN_ID": "none", "RANK": "3", "WORLD_SIZE": "8"}


def place(job_id=None, rank=None, world_size=None):
    return JobIdentity(job_id=job_id, rank=rank, world_size=world_size)


CASES = {
    "nothing": ({}, NOTHING),
    "worker": (WORKER, place(None, 3, 8)),
    "worker_meeting": (
        {**WORKER, "MASTER_ADDR": "node-a", "MASTER_PORT": "29500"},
        place("node-a:29500", 3, 8),
    ),
    "worker_at_home": (
        {**WORKER, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"},
        place(None, 3, 8),
    ),
    "worker_named": ({**WORKER, "TORCHELASTIC_RUN_ID": "a1"}, place("a1", 3, 8)),
    "worker_of_step": ({**IN_STEP, **WORKER}, place("77", 3, 8)),
    "worker_named_of_step": (
        {**IN_STEP, **WORKER, "TORCHELASTIC_RUN_ID": "a1"},
        place("77/a1", 3, 8),
    ),
    "worker_named_like_job": (
        {**IN_STEP, **WORKER, "TORCHELASTIC_RUN_ID": "77"},
        place("77", 3, 8),
    ),
    "step": (IN_STEP, place("77.0", 1, 2)),
    "step_of_old": (
        {"SLURM_JOB_ID": "77", "SLURM_STEPID": "3", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
        place("77.3", 0, 2),
    ),
    "step_that_says_so_itself": ({**IN_STEP, "RANK": "1", "WORLD_SIZE": "2"}, place("77.0", 1, 2)),
    "agents_with_the_workers_world": ({**IN_STEP, "WORLD_SIZE": "16"}, place("77.0", 1, 2)),
    "batch": (BATCH, place("200505")),
    "batch_with_the_ranks_world": ({**BATCH, "WORLD_SIZE": "4"}, place("200505")),
    "batch_as_a_step": ({**BATCH, "SLURM_STEP_ID": "4294967291"}, place("200505")),
    "array": (
        {"SLURM_JOB_ID": "78", "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": "5"},
        place("77_5"),
    ),
    "array_step": (
        {**IN_STEP, "SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "5"},
        place("70_5.0", 1, 2),
    ),
    "mpi_here": (
        {**BATCH, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "8"},
        place("200505", 0, 8),
    ),
    "mpi_there": (
        {**IN_STEP, "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8"},
        place("77", 5, 8),
    ),
    "mpi_alone": (
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "29343"},
        place("29343", 1, 2),
    ),
    "pmi_of_srun": ({**IN_STEP, "PMI_RANK": "1", "PMI_SIZE": "2"}, place("77.0", 1, 2)),
    "lsf_array": ({"LSB_JOBID": "9", "LSB_JOBINDEX": "4"}, place("9[4]")),
    "lsf": ({"LSB_JOBID": "9", "LSB_JOBINDEX": "0"}, place("9")),
    "sge_array": ({"JOB_ID": "9", "SGE_TASK_ID": "4"}, place("9.4")),
    "sge": ({"JOB_ID": "9", "SGE_TASK_ID": "undefined"}, place("9")),
    "pbs": ({"PBS_JOBID": "9[4].server"}, place("9[4].server")),
    "pod": ({**POD, "HOSTNAME": "pod-a"}, NOTHING),
    "pod_with_a_number": ({**POD, "HOSTNAME": "web-0"}, NOTHING),
    "pod_of_a_launcher": ({**POD, "HOSTNAME": "train-launcher-x7k2p"}, NOTHING),
    "indexed": ({**POD, "HOSTNAME": "train-4", "JOB_COMPLETION_INDEX": "4"}, place("train", 4)),
    "indexed_by_pod": (
        {**POD, "POD_NAME": "train-4-x7k2p", "HOSTNAME": "a", "JOB_COMPLETION_INDEX": "4"},
        place("train", 4),
    ),
    "indexed_of_a_space": (
        {**POD, "HOSTNAME": "t-0", "JOB_COMPLETION_INDEX": "0", "POD_NAMESPACE": "anna"},
        place("anna/t", 0),
    ),
    "host_network": ({**POD, "HOSTNAME": "node-7", "JOB_COMPLETION_INDEX": "4"}, place(None, 4)),
    "stateful_set": (
        {**POD, "HOSTNAME": "train-2", "RANK": "2", "WORLD_SIZE": "4"},
        place("train", 2, 4),
    ),
    "pytorch_job_master": (
        {**POD, "HOSTNAME": "t-master-0", "MASTER_ADDR": "localhost", "RANK": "0"}
        | {"WORLD_SIZE": "2"},
        place("t", 0, 2),
    ),
    "pytorch_job_worker": (
        {**POD, "HOSTNAME": "t-worker-0", "MASTER_ADDR": "t-master-0", "RANK": "1"}
        | {"WORLD_SIZE": "2"},
        place("t", 1, 2),
    ),
    "pytorch_job_agent": (
        {**POD, "HOSTNAME": "t-worker-0", "RANK": "1", "WORLD_SIZE": "16"}
        | {"PET_NODE_RANK": "1", "PET_NNODES": "2"},
        place("t", 1, 2),
    ),
    "pytorch_job_worker_of_agent": (
        {**POD, **WORKER, "HOSTNAME": "t-worker-0", "PET_NODE_RANK": "1", "PET_NNODES": "2"},
        place("t", 3, 8),
    ),
    "train_job": (
        {**POD, "HOSTNAME": "t-node-0-1", "JOB_COMPLETION_INDEX": "1"}
        | {"PET_NODE_RANK": "1", "PET_NNODES": "2"},
        place("t-node-0", 1, 2),
    ),
    "elastic": (
        {**POD, "HOSTNAME": "t-worker-1", "PET_NNODES": "1:4"},
        place("t"),
    ),
    "on_a_desk": ({"HOSTNAME": "box-worker-0"}, NOTHING),
    "ranks_on_a_desk": (
        {"HOSTNAME": "box-3", "RANK": "3", "WORLD_SIZE": "8"},
        place(None, 3, 8),
    ),
    "negative": ({"RANK": "-1", "WORLD_SIZE": "0"}, NOTHING),
    "no_digits": ({"RANK": "²", "WORLD_SIZE": "many"}, NOTHING),
    "beyond_the_world": ({"RANK": "8", "WORLD_SIZE": "8"}, NOTHING),
    "world_alone": ({"WORLD_SIZE": "8"}, NOTHING),
    "control_characters": ({"SLURM_JOB_ID": "7\x1b7"}, place("77")),
    "odd_step": ({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "²", "SLURM_PROCID": "0"}, place("7")),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_environment_says(case):
    environ, expected = CASES[case]
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
