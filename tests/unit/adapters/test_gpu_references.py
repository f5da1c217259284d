"""A user's references in a file: kept, replaced, and never in the way."""

import pytest

from pfid.adapters.gpu_references import FILE, keep_references, load_references
from pfid.domain.errors import StateError
from pfid.spec.fakes_gpus import gemm_reference

OLD = gemm_reference(tflops=700.0)
NEW = gemm_reference(tflops=741.0)
OTHER = gemm_reference(uuid="GPU-other")


def test_what_is_kept_is_found_again_and_a_newer_one_takes_the_place_of_an_older(tmp_path):
    keep_references(tmp_path / "new", [OLD, OTHER])
    keep_references(tmp_path / "new", [NEW])
    assert load_references(tmp_path / "new") == {NEW.uuid: NEW, OTHER.uuid: OTHER}
    assert [f.name for f in (tmp_path / "new").iterdir()] == [FILE]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"references": [{"uuid": 3}]}'])
def test_a_broken_file_is_no_reference(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    assert load_references(tmp_path) == {}
    keep_references(tmp_path, [NEW])
    assert load_references(tmp_path) == {NEW.uuid: NEW}


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="cannot be written"):
        keep_references(tmp_path / "file", [NEW])
