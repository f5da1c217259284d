"""What a spec declares for a launch is meant from where the spec lies."""

import pytest

from pfid.bootstrap.declarations import declarations


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("venv/bin/python", "{project}/venv/bin/python"),
        ("../py/bin/python", "{parent}/py/bin/python"),
        ("/opt/py/bin/python", "/opt/py/bin/python"),
        ("python3.11", "python3.11"),
    ],
)
def test_an_interpreter_is_looked_for_from_the_specs_folder_not_from_the_launch(
    tmp_path, named, meant
):
    project = tmp_path / "project"
    project.mkdir()
    (project / "preflight.toml").write_text(f'python = "{named}"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    declared = declarations("../project/preflight.toml", str(elsewhere), print)
    assert declared.python == meant.format(project=project, parent=tmp_path)
