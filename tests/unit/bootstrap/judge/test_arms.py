"""Arms as an author who wants to be believed might hand them in."""

import gzip
import json

import pytest

from pfid.analysis.seed_effect import Seeds, outputs_by_seed, seed_effect
from pfid.bootstrap.judge.arms import read_arms
from pfid.config.gates import Arms, ArmSpec, Fields, GateSpec, MeasuredWith, Records
from pfid.domain.errors import ConfigError
from pfid.spec.ports.results import Doubt

KEYS = {"prompt": "prompt", "cap_tokens": "cap", "family": "kind", "seed": "seed"}


def written(path, rows, times=1, encoding="utf-8"):
    path.write_bytes("".join(json.dumps(row) + "\n" for row in rows).encode(encoding) * times)
    return path


def rows(count=8, **more):
    return [
        {"prompt": f"ask {n}", "output": "Yes." if n % 2 else f"No, {n}.", "cap": 512, **more}
        for n in range(count)
    ]


def spec(declared=8, cap=None, **fields):
    arm = ArmSpec(declared=declared, instrument=MeasuredWith(max_tokens=cap))
    known = Fields(**{"item": "#", **KEYS, **fields})
    return GateSpec(records=Records(fields=known), arms=Arms(candidate=arm, baseline=arm))


def candidate(path, how):
    return read_arms([path], (), how).candidate


def test_lines_that_were_written_twice_are_found_where_only_their_numbers_are_items(tmp_path):
    arm = candidate(written(tmp_path / "r.jsonl", rows(), times=2), spec())
    assert len(arm.records) == 8
    assert [b.reason for b in arm.bad] == ["duplicate"] * 8
    assert arm.doubt is Doubt.TOO_MANY


def test_the_same_prompt_answered_otherwise_or_under_another_seed_is_another_record(tmp_path):
    again = [{**row, "output": row["output"] + "!"} for row in rows()]
    seeds = [{**row, "seed": seed} for row in rows() for seed in (1, 2)]
    path = written(tmp_path / "r.jsonl", [*rows(), *again, *seeds])
    assert len(candidate(path, spec(declared=32)).records) == 32


def test_lines_without_a_prompt_cannot_be_told_apart_and_stay(tmp_path):
    path = written(tmp_path / "r.jsonl", [{"output": "Yes."}] * 5)
    assert len(candidate(path, spec(declared=5)).records) == 5


def test_the_cap_that_records_name_is_the_instruments(tmp_path):
    path = written(tmp_path / "r.jsonl", rows())
    assert candidate(path, spec()).instrument.max_tokens == 512
    with pytest.raises(ConfigError, match="max_tokens: is 300, and the log says 512"):
        candidate(path, spec(cap=300))


def test_a_cap_that_changes_in_silence_is_not_the_instrument_that_was_stated(tmp_path):
    path = written(tmp_path / "r.jsonl", [*rows(4), *rows(4, cap=300)])
    with pytest.raises(ConfigError, match=r"is 512, and its records have caps \[300, 512\]"):
        candidate(path, spec(cap=512, prompt=""))
    found = candidate(path, spec(prompt="")).instrument
    assert found.max_tokens is None
    assert found.decoding == "caps [300, 512]"


def test_runs_that_were_not_measured_alike_are_known_as_such(tmp_path):
    one = written(tmp_path / "1.jsonl", rows())
    other = written(tmp_path / "2.jsonl", rows(cap=300))
    found = read_arms([one, other], (), spec(declared=16)).candidate
    assert found.mixed == ("max_tokens",)
    again = written(tmp_path / "3.jsonl", rows(run=2))
    assert read_arms([one, again], (), spec(declared=16)).candidate.mixed == ()


def a_file_again(path, how):
    """The same content under another name: as it stands, packed, or the very file."""
    content = path.read_bytes()
    again = path.with_name(f"{how}-{path.name}")
    if how == "linked":
        again.hardlink_to(path)
        return again
    again.write_bytes(gzip.compress(content) if how == "packed" else content)
    return again


@pytest.mark.parametrize("how", ["itself", "linked", "copied", "packed"])
def test_one_file_given_again_is_no_further_run(tmp_path, how):
    one = written(tmp_path / "1.jsonl", rows(seed=1))
    again = one if how == "itself" else a_file_again(one, how)
    arm = read_arms([one, again, again], (), spec(declared=None)).candidate
    assert (len(arm.records), arm.runs, arm.bad_total) == (8, 1, 0)
    if how in ("itself", "linked"):
        assert arm.doubt is Doubt.COPIED
        assert arm.copies == (f"{again} was given as {one} already",) * 2
        assert arm.twins == ()
    else:  # the second name is as good as a run of a stack that answers the same each time
        assert arm.twins == (f"{again} holds, byte for byte, what {one} holds",)
        assert arm.copies == (f"{again} was given as {again} already",)


@pytest.mark.parametrize("how", ["copied", "packed"])
def test_the_same_under_another_name_may_be_a_run_of_a_steady_stack(tmp_path, how):
    """Three real runs of a stack that answers the same each time were called one file."""
    one = written(tmp_path / "1.jsonl", rows(seed=1))
    again = a_file_again(one, how)
    arm = read_arms([one, again], (), spec(declared=16)).candidate
    assert (len(arm.records), arm.runs, arm.doubt) == (8, 1, Doubt.TWINS)
    assert (arm.copies, arm.twins) == ((), (f"{again} holds, byte for byte, what {one} holds",))


def test_runs_that_are_alike_are_judged_where_their_lines_say_which_they_are(tmp_path):
    """As the remedy has it."""
    paths = [written(tmp_path / f"{n}.jsonl", rows(seed=1, again=n)) for n in range(3)]
    arm = read_arms(paths, (), spec(declared=24, repeat="again")).candidate
    assert (len(arm.records), arm.runs, arm.doubt) == (24, 3, Doubt.NONE)


def of_lm_eval(folder, day, seed, **results):
    """A sample log whose answers do not depend on the seed, and the results file beside it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"samples_toy_{day}.jsonl"
    asked = {"arg_0": {"arg_0": "ask", "arg_1": {"temperature": 1.0}}}
    written(path, [
        {"doc_id": n, "doc": {}, "target": "t", "arguments": asked, "resps": [["same"]],
         "filter": "none", "metrics": ["m"], "m": 1.0}
        for n in range(12)
    ])  # fmt: skip
    if seed is not None:
        (folder / f"results_{day}.json").write_text(json.dumps({
            "results": {"toy": {}}, "configs": {"toy": {}}, "n-samples": {},
            "config": {"model": "vllm", "model_args": f"pretrained=x,seed={seed}"}, **results,
        }))  # fmt: skip
    return path


def test_logs_of_the_harness_whose_seed_never_took_are_runs_though_they_are_the_same(tmp_path):
    """It keeps the seed in its results file: the sample logs were called one file given thrice."""
    paths = [of_lm_eval(tmp_path, f"2026-11-0{n}T10-00-00.0", n) for n in (1, 2, 3)]
    arm = read_arms(paths, (), GateSpec()).candidate
    assert (arm.doubt, arm.runs, len(arm.records)) == (Doubt.NOT_DECLARED, 3, 36)
    assert {r.seed for r in arm.records} == {1, 2, 3}
    effect = seed_effect(outputs_by_seed(arm.records))
    assert effect is not None
    assert effect.seeds is Seeds.NOT_TAKEN


def test_one_run_of_the_harness_in_two_folders_is_given_twice(tmp_path):
    date = "2026-11-01T10-00-00.0"
    paths = [of_lm_eval(tmp_path / name, date, 1) for name in "ab"]
    assert read_arms(paths, (), GateSpec()).candidate.doubt is Doubt.COPIED
    made = {"date": 7.5}
    later = [of_lm_eval(tmp_path / "c", f"2026-11-0{n}T10-00-00.0", 1, **made) for n in (1, 2)]
    assert read_arms(later, (), GateSpec()).candidate.doubt is Doubt.COPIED, "it says when itself"


def test_logs_of_the_harness_without_their_results_are_either(tmp_path):
    paths = [of_lm_eval(tmp_path, f"2026-11-0{n}T10-00-00.0", None) for n in (1, 2)]
    assert read_arms(paths, (), GateSpec()).candidate.doubt is Doubt.TWINS


def test_the_same_answers_in_another_file_are_another_run(tmp_path):
    one = written(tmp_path / "1.jsonl", rows(seed=1, at="10:00"))
    again = written(tmp_path / "2.jsonl", rows(seed=1, at="10:05"))
    arm = read_arms([one, again], (), spec(declared=16)).candidate
    assert (len(arm.records), arm.runs, arm.doubt) == (16, 2, Doubt.NONE)


def test_a_log_of_a_tool_given_again_is_no_further_run(tmp_path):
    one = logged(tmp_path / "1.json", "a", 0)
    arm = read_arms([one, a_file_again(one, "copied")], (), GateSpec()).candidate
    assert (len(arm.records), arm.runs, arm.doubt) == (2, 1, Doubt.COPIED)


def logged(path, task, temperature):
    """A log of inspect-ai in its JSON form, of two samples."""
    samples = [
        {
            "id": n,
            "input": "ask",
            "output": {"choices": [{"message": {"content": f"answer {n}"}, "stop_reason": "stop"}]},
        }
        for n in range(2)
    ]
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": task, "model": "openai/x"},
        "plan": {"config": {"temperature": temperature}},
        "samples": samples,
    }
    path.write_text(json.dumps(log))
    return path


def test_logs_of_one_task_at_two_temperatures_are_no_repeats_of_one_another(tmp_path):
    cold = logged(tmp_path / "1.json", "a", 0)
    warm, other = logged(tmp_path / "2.json", "a", 1), logged(tmp_path / "3.json", "b", 1)
    assert read_arms([cold, warm], (), GateSpec()).candidate.mixed == ("decoding",)
    assert read_arms([cold, other], (), GateSpec()).candidate.mixed == ()


def test_kinds_of_prompt_may_each_have_a_cap_of_their_own(tmp_path):
    path = written(tmp_path / "r.jsonl", [*rows(4, kind="rp"), *rows(4, cap=300, kind="story")])
    assert candidate(path, spec(cap=512)).instrument.max_tokens == 512


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le"])
def test_another_encoding_is_bad_records_and_never_an_empty_evaluation(tmp_path, encoding):
    arm = candidate(written(tmp_path / "r.jsonl", rows(), encoding=encoding), spec())
    assert arm.doubt is Doubt.NO_RECORDS
    assert arm.bad_total > 0


def test_latin_lines_among_good_ones_are_each_named(tmp_path):
    path = tmp_path / "r.jsonl"
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows(7))
    path.write_bytes(body + '{"prompt": "caf\u00e9", "output": "\u00e9"}\n'.encode("latin-1"))
    arm = candidate(path, spec())
    assert [(b.place, b.reason) for b in arm.bad] == [("r.jsonl:8", "not_utf8")]
    assert arm.doubt is Doubt.MISSING
