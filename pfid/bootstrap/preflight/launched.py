"""Whether a run of the name lives: captured processes, never patterns."""

from pfid.adapters.run_records import RunRecords
from pfid.bootstrap.launch import BoxProcesses, user_records
from pfid.bootstrap.preflight.project import Project
from pfid.domain.errors import PfidError
from pfid.launch.guard import is_standing, relauncher
from pfid.policy.identity import Standing
from pfid.spec.ports.preflight import NameFacts
from pfid.wire.record import RunRecord


def name_facts(project: Project) -> NameFacts | None:
    """Look at every record of the name; None where the spec names no run."""
    if not project.spec.name:
        return None
    try:
        records = user_records(project.environ)
        found, problems = records.latest(project.spec.name)
    except (PfidError, OSError) as error:
        return NameFacts(problem="cannot_tell", detail=str(error))
    processes = BoxProcesses()
    standings = {record.run_id: _standing(record, records, processes) for record in found}
    unclear = [run for run, at in standings.items() if at is Standing.UNKNOWN]
    return NameFacts(
        problem="cannot_tell" if unclear else "",
        detail=", ".join((*unclear, *problems)),
        living=tuple(run for run, at in standings.items() if at is Standing.ALIVE),
    )


def _standing(record: RunRecord, records: RunRecords, processes: BoxProcesses) -> Standing:
    """Of the run, or of a launcher that is about to launch it again."""
    launcher = relauncher(record, records, processes)
    if launcher is not None:
        return is_standing(launcher, processes)
    return is_standing(record.process, processes) if record.end is None else Standing.ENDED
