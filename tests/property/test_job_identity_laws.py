"""Whatever an environment holds, a rank lies in its world and text stays one short line."""

from hypothesis import given
from hypothesis import strategies as st

from pfid.policy.job_identity import job_identity

NAMES = (
    "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID", "PET_NODE_RANK", "PET_NNODES", "MASTER_ADDR",
    "MASTER_PORT", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS",
    "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE",
    "KUBERNETES_SERVICE_HOST", "HOSTNAME", "POD_NAME", "JOB_COMPLETION_INDEX", "JOB_ID",
    "SGE_TASK_ID", "LSB_JOBID", "LSB_JOBINDEX",
)  # fmt: skip
VALUES = st.one_of(
    st.integers(-2, 2**40).map(str), st.text(max_size=300), st.sampled_from(("a-0", "t-worker-1"))
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_a_rank_lies_in_its_world_and_a_job_is_a_printable_word(environ):
    said = job_identity(environ)
    if said.rank is None:
        assert said.world_size is None, "a world without a place in it counts for nobody"
    elif said.world_size is not None:
        assert 0 <= said.rank < said.world_size
    if said.job_id is not None:
        assert 0 < len(said.job_id) <= 200
        assert said.job_id.isprintable()
