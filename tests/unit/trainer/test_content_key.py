"""Does the key change whenever the meaning does, and only then?"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.trainer.content_key import cache_key, content_sha256

COMMON = {
    "encode_version": 3,
    "chat_template": "{% for m in messages %}{{ m }}{% endfor %}",
    "files": {"mask": None},
    "values": {"max_seq_len": 16384, "base": "google/gemma-4-26B-A4B"},
}


def key(**changed):
    return cache_key(**{**COMMON, **changed})


def test_a_masked_and_an_unmasked_run_differ_and_a_resume_hits(tmp_path):
    mask = tmp_path / "mask.json"
    mask.write_bytes(b"[1, 5]")
    masked = key(files={"mask": mask})
    assert masked != key()
    assert masked == key(files={"mask": mask})
    assert masked == key(files={"mask": b"[1, 5]"})


def test_an_edit_behind_the_same_path_changes_the_key(tmp_path):
    mask = tmp_path / "mask.json"
    mask.write_bytes(b"[1, 5]")
    before = key(files={"mask": mask})
    mask.write_bytes(b"[1, 6]")
    assert key(files={"mask": mask}) != before


def test_a_moved_file_with_the_same_content_has_the_same_key(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"x")
    other.write_bytes(b"x")
    assert key(files={"mask": one}) == key(files={"mask": other})


@pytest.mark.parametrize(
    "changed",
    [
        {"encode_version": 4},
        {"chat_template": None},
        {"chat_template": "{{ messages }}"},
        {"files": {}},
        {"files": {"filter": None}},
        {"files": {"mask": b""}},
        {"values": {**COMMON["values"], "max_seq_len": 8192}},
        {"values": {**COMMON["values"], "max_seq_len": 16384.0}},
        {"values": {**COMMON["values"], "packed": None}},
        {"values": {**COMMON["values"], "packed": False}},
    ],
)
def test_everything_that_changes_the_meaning_changes_the_key(changed):
    assert key(**changed) != key()


def test_the_order_in_which_names_are_given_is_no_meaning():
    turned = dict(reversed(COMMON["values"].items()))
    assert key(values=turned) == key()


def test_true_is_not_one():
    assert key(values={"x": True}) != key(values={"x": 1})


@given(st.binary(min_size=1, max_size=64), st.data())
def test_one_flipped_bit_of_a_file_changes_the_key(content, data):
    at = data.draw(st.integers(0, len(content) * 8 - 1))
    flipped = bytearray(content)
    flipped[at // 8] ^= 1 << (at % 8)
    assert key(files={"m": content}) != key(files={"m": bytes(flipped)})


def test_roles_and_contents_do_not_run_into_each_other():
    assert key(files={"a": b"bc"}) != key(files={"ab": b"c"})
    assert key(files={"a": b"1", "b": b"2"}) != key(files={"a": b"2", "b": b"1"})


def test_a_path_where_content_belongs_is_refused(tmp_path):
    there = tmp_path / "mask.json"
    there.touch()
    with pytest.raises(ValueError, match=r"values\['mask'\] names something that exists"):
        key(values={"mask": str(there)})
    with pytest.raises(ValueError, match="names something that exists"):
        key(values={"deep": {"er": [str(tmp_path)]}})
    with pytest.raises(ValueError, match="chat_template names something that exists"):
        key(chat_template=str(there))
    with pytest.raises(TypeError, match="stays the same when the file is edited"):
        key(values={"mask": Path("nowhere")})


PATHS = [
    "/data/masks/run2.json",
    "masks/run2.jsonl",
    "./mask",
    "../x",
    "~/mask",
    "C:\\\\m",
    "a.txt",
    "mask.bin",
    "filter.pkl",
    "masks/tokenizer.model",
    "mask.json.gz",
    "s3://b/x.json",
    "hf://datasets/o/n",
    "file:///mask",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_one_though_nothing_lies_there_from_this_folder(path):
    with pytest.raises(ValueError, match=r"values\['mask'\] is written like a path"):
        key(values={"mask": path})
    with pytest.raises(ValueError, match="chat_template is written like a path"):
        key(chat_template=path)
    assert key(values={"mask": path}, paths_as_names=["mask"]) != key()


@pytest.mark.parametrize("path", ["templates/chatml.jinja", "templates/chatml", "chatml.j2"])
def test_a_template_is_its_text_and_no_path_of_it(path):
    with pytest.raises(ValueError, match="chat_template is written like a path"):
        key(chat_template=path)


@pytest.mark.parametrize(
    "text",
    [
        "org/model-7B", "v1.2", "/no_think", "adamw_torch", "https://host/a.json", "a / b", "",
        "<|im_start|>/x.txt", "see a.txt", "1/2",
        "model", "org/a.model-7B", "v1.gz2", "https://host/a.bin",
    ],
)  # fmt: skip
def test_what_is_no_path_is_a_value(text):
    assert key(values={"x": text}) != key()
    assert key(chat_template="{{ a }}/b.txt") != key(chat_template="{{ a }}/c.txt")


def test_a_folder_may_be_a_name_if_that_is_said(tmp_path):
    values = {"base": str(tmp_path), "revision": "abc"}
    assert key(values=values, paths_as_names=["base"]) != key()
    with pytest.raises(ValueError, match="speaks of bsae"):
        key(values=values, paths_as_names=["bsae"])


@pytest.mark.parametrize("value", [{1, 2}, object(), b"raw", {1: 2}])
def test_what_has_no_one_text_is_refused(value):
    with pytest.raises(TypeError):
        key(values={"x": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_equals_nothing_is_refused(value):
    with pytest.raises(ValueError, match="equals nothing"):
        key(values={"x": value})


@pytest.mark.parametrize("version", [True, "3", 3.0, None])
def test_the_version_is_a_whole_number(version):
    with pytest.raises(TypeError, match="encode_version"):
        key(encode_version=version)


def test_a_missing_file_and_a_strange_one_are_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        key(files={"mask": tmp_path / "nowhere"})
    with pytest.raises(TypeError, match="a path, bytes or None"):
        key(files={"mask": 7})


def test_a_file_that_changes_while_it_is_read_has_no_key(tmp_path, monkeypatch):
    torn = tmp_path / "torn"
    torn.write_bytes(b"x" * 100)
    import pfid.trainer.content_key as module

    real = module.hashlib.sha256

    def grows(*args):
        with torn.open("ab") as file:
            file.write(b"more")
        return real(*args)

    opened = module.os.fstat
    seen = []

    def fstat(descriptor):
        found = opened(descriptor)
        if not seen:
            grows()
        seen.append(found)
        return found

    monkeypatch.setattr(module.os, "fstat", fstat)
    with pytest.raises(OSError, match="changed while it was read"):
        content_sha256(torn)
    assert len(seen) == 2
