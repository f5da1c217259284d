"""A user's runs with manifests on disk, and ``pfid provenance`` over them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from pfid.adapters.manifest_files import write_manifest
from pfid.adapters.process_identity import machine_id
from pfid.adapters.run_records import RunRecords
from pfid.cli.entry import main
from pfid.config.paths import user_state_dir
from pfid.domain.provenance import (
    CodeIdentity,
    CommandIdentity,
    Ending,
    Field,
    HostIdentity,
    InterpreterIdentity,
    Manifest,
)
from pfid.policy.launch_environ import launch_environ
from pfid.policy.provenance_fields import at_launch
from pfid.wire.record import RecordedProcess, RunRecord

LAUNCHED = Manifest(
    run_id="train-1",
    name="train",
    attempt=1,
    sampled_at_s=1_788_000_000.0,
    command=CommandIdentity(argv=("python", "train.py"), cwd="/work", environ=launch_environ({})),
    host=HostIdentity(hostname="box", boot_id="b", kernel="6"),
    code=CodeIdentity(commit="c" * 40, describe="ccccccc", dirty=False),
    interpreter=InterpreterIdentity(version="3.12.4", distributions={"torch": "2.13.0"}),
    fields=at_launch({}, "", None),
)


class Provenance:
    """Runs, and what the command says about them."""

    def __init__(self, home: Path) -> None:
        environ = {"HOME": str(home)}
        self.environ = {**environ, "XDG_STATE_HOME": ""}
        self.records = RunRecords(user_state_dir(environ, machine_id()))

    def run(self, run_id="train-1", *, complete=True, name="train", **changed):
        """A run with a manifest; its folder."""
        folder = self.records.make_run_dir(run_id, 1)
        process = RecordedProcess(machine_id="m", boot_id="b", pid=1, start_ticks=1)
        record = RunRecord(run_id=run_id, name=name, process=process, started_at_s=1.0)
        self.records.commit(record)
        self.records.point_to(record)
        fields = {**LAUNCHED.fields, **changed.pop("fields", {})}
        end = Ending(exit_code=0, signal=None, at_s=1_788_000_100.0) if complete else None
        write_manifest(
            folder,
            replace(
                LAUNCHED,
                run_id=run_id,
                name=name,
                fields=fields,
                complete=complete,
                end=end,
                **changed,
            ),
        )
        return folder

    def __call__(self, *arguments):
        return CliRunner().invoke(
            main, ["provenance", *map(str, arguments)], env=self.environ, catch_exceptions=False
        )

    def json(self, *arguments):
        """Its one JSON object, and its exit status."""
        done = self(*arguments, "--json")
        return json.loads(done.stdout), done.exit_code


@pytest.fixture
def provenance(tmp_path):
    (tmp_path / "home").mkdir()
    return Provenance(tmp_path / "home")


@pytest.fixture
def paired():
    """A field whose observation contradicts it, or agrees."""

    def make(observed):
        return Field(requested="a" * 64, observed=observed)

    return make
