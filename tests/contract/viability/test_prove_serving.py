"""``pfid viability prove-serving`` with a stand-in for an engine: every way to come out."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from pfid_plugins.viability.serving_path_proven import judge, observe

from pfid.bootstrap.viability.served import served_facts
from pfid.cli.viability import command
from pfid.domain.serving import Shape
from pfid.spec import NoLimits
from pfid.spec.fakes_viability import model_world

STAND_IN = Path(__file__).with_name("stand_in_engine.py")
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 256,
}


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


@pytest.fixture
def port():
    """A free one below those that the kernel hands out.

    Of those one may be taken by anybody, and a connection to one that is free may meet itself.
    """
    for offset in range(10_000):
        found = 20_000 + (os.getpid() + 97 * offset) % 10_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", found))
            return found
    pytest.fail("no port is free")


def engine(mode, model, port, *more):
    return (sys.executable, STAND_IN, mode, model, "--port", port, *more)


def call(*arguments):
    return [sys.executable, "-m", "pfid", "viability", "prove-serving", *map(str, arguments)]


def prove(*engine_command, options=(), code=None):
    ran = subprocess.run(
        call("--json", "--grace", "2", *options, "--", *engine_command),
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert code is None or ran.returncode == code, ran.stderr + ran.stdout
    return (json.loads(ran.stdout) if ran.stdout else {}), ran.stderr


def verdict(model, shape=Shape.ADAPTER):
    """The check's, asked alone."""
    world = model_world(served=served_facts((model,), shape, dict(os.environ)))
    return judge(observe(world), NoLimits())


def command_says(model, *options):
    result = CliRunner().invoke(
        command, [str(model), "--gpu-memory", "96GiB", "--json", *map(str, options)]
    )
    found = {v["check"]: v for v in json.loads(result.stdout)["verdicts"]}
    return found["serving_path_proven"]


def living(run_id):
    """Every process that was started with a run's mark."""
    sign = f"PFID_RUN_ID={run_id}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if sign in (entry / "environ").read_bytes().split(b"\0"):
                found.append(entry.name)
        except OSError:
            continue
    return found


def on_port(port):
    """Arguments of every process that was told this port, by pid, but for pfid itself."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            argv = (entry / "cmdline").read_bytes().decode().split("\0")[:-1]
        except OSError:
            continue
        if entry.name.isdecimal() and str(port) in argv and "pfid" not in argv:
            found[int(entry.name)] = argv
    return found


def comes(what):
    """Whether it comes true in a minute."""
    for _ in range(600):
        if what():
            return True
        time.sleep(0.1)
    return False


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.full
def test_an_engine_that_serves_is_proven_taken_down_and_believed(model, port):
    assert verdict(model).reason == "not_proven"
    proof, said = prove(*engine("slow", model, port, "--enable-lora"), code=0)
    assert (proof["end"], proof["serves"], proof["error"]) == ("ready", "adapter", [])
    assert proof["engine"]["said"] == "1.2.3"
    assert proof["flags"] == ["--enable-lora"]
    assert proof["answers"] == [
        "GET /health 200",
        "GET /v1/models 200",
        "POST /v1/completions 200",
    ]
    assert proof["ready_s"] >= 1.5
    assert "stand-in answered after" in said
    assert living(proof["run_id"]) == []
    assert not listens(port)
    found = command_says(model)
    assert found["reason"] == "proven"
    assert "1.2.3" in found["summary"]
    assert verdict(model, Shape.MERGED).reason == "not_proven"
    assert command_says(model, "--serve", "none")["outcome"] == "not_applicable"
    other = dict(CONFIG, hidden_size=128)
    (model / "config.json").write_text(json.dumps(other))
    unproven = verdict(model)
    assert unproven.reason == "not_proven"
    assert "another of its architecture was tried" in unproven.summary


def test_a_refusal_is_told_in_the_words_of_its_cause_and_not_of_who_passed_it_on(model, port):
    proof, _ = prove(*engine("refuses", model, port, "--enable-lora"), code=1)
    assert proof["end"] == "refused"
    assert proof["error"][0].startswith("AttributeError: To support LoRA for MoE")
    assert proof["error"][1].startswith("'get_expert_mapping' must")
    assert proof["exit_code"] == 1
    assert "Traceback" in Path(proof["log"]).read_text()
    found = verdict(model)
    assert found.reason == "refused"
    assert any("get_expert_mapping" in line for line in found.evidence)
    assert "get_expert_mapping" not in found.summary


@pytest.mark.full
@pytest.mark.parametrize(
    ("mode", "end", "words"),
    [
        ("memory", "out_of_memory", "CUDA out of memory"),
        ("killed", "killed", "signal 9"),
        ("killed-inside", "killed", "exit status 137"),
        ("ends", "refused", "in the foreground"),
        ("dies", "ended_after_ready", "exit status 0"),
        ("errors", "answers_errors", "no kernel for stand-in"),
        ("unwell", "answers_errors", "engine is dead"),
        ("keyed", "answers_errors", "Unauthorized"),
    ],
)
def test_every_other_way_to_end_has_its_own_name(model, port, mode, end, words):
    proof, _ = prove(*engine(mode, model, port), code=1)
    assert proof["end"] == end
    assert any(words in line for line in proof["error"]), proof["error"]
    assert living(proof["run_id"]) == []
    assert not listens(port)
    assert verdict(model, Shape.MERGED).reason == end


@pytest.mark.full
@pytest.mark.parametrize("mode", ["hangs", "loading", "drip"])
def test_one_that_does_not_come_up_in_time_hangs_and_is_taken_down(model, port, mode):
    began_s = time.monotonic()
    proof, _ = prove(*engine(mode, model, port), options=("--deadline", "3"), code=1)
    assert proof["end"] == "hung"
    assert time.monotonic() - began_s < 60
    assert living(proof["run_id"]) == []
    assert not listens(port)


@pytest.mark.full
@pytest.mark.parametrize("mode", ["forks", "daemon", "bare", "deaf"])
def test_the_whole_tree_is_taken_down_wherever_it_went(model, port, mode):
    proof, said = prove(*engine(mode, model, port), code=0)
    assert proof["end"] == "ready"
    assert ("in the background" in said) == (mode in ("daemon", "bare"))
    assert living(proof["run_id"]) == []
    assert on_port(port) == {}
    assert not listens(port)


@pytest.mark.full
@pytest.mark.parametrize("mode", ["forks", "daemon", "bare", "deaf"])
def test_a_pfid_that_is_killed_leaves_no_engine_behind(model, port, mode):
    command_line = call("--grace", "1", "--", *engine(mode, model, port, "--enable-lora"))
    process = subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert comes(lambda: listens(port) and on_port(port))
    process.kill()
    process.communicate(timeout=60)
    assert comes(lambda: on_port(port) == {})
    assert not listens(port)


@pytest.mark.full
def test_a_keeper_that_is_killed_takes_the_engine_with_it(model, port):
    """Though it bears no mark any more by which pfid would find it."""
    command_line = call("--grace", "1", "--json", "--", *engine("bare-front", model, port))
    process = subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    kept = [sys.executable, str(STAND_IN), "serves"]
    assert comes(lambda: [argv for argv in on_port(port).values() if argv[:3] == kept])
    (keeper,) = [pid for pid, argv in on_port(port).items() if argv[1:3] == ["-I", "-S"]]
    os.kill(keeper, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["end"] == "killed"
    assert comes(lambda: on_port(port) == {})


@pytest.mark.full
def test_an_engine_that_failed_is_not_waited_for_because_of_what_it_left(model, port):
    proof, _ = prove(*engine("fails-behind", model, port), code=1)
    assert (proof["end"], proof["exit_code"]) == ("refused", 3)
    assert on_port(port) == {}


@pytest.mark.full
def test_an_engine_that_somebody_else_started_at_the_commands_word_is_ended_by_its_port(
    model, port
):
    """As a container's daemon does: it is no descendant of the command and bears no mark."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = threading.Thread(target=start_for, args=(server, model), daemon=True)
        asked.start()
        by = server.getsockname()[1]
        proof, said = prove(*engine("outside", model, port, "--by", by), options=("--deadline", 30))
    assert proof["end"] in ("refused", "ended_after_ready"), proof
    assert "started outside" in said
    assert on_port(port) == {}
    assert not listens(port)


def start_for(server, model):
    """Start an engine for whoever asks, as a daemon that is nobody's child here."""
    asking, _ = server.accept()
    port = int(asking.recv(16))
    command_line = [sys.executable, STAND_IN, "serves", model, "--port", str(port)]
    with subprocess.Popen(command_line, env={}), asking:
        comes(lambda: listens(port))
        asking.sendall(b".")


@pytest.mark.full
def test_the_adapter_that_is_named_must_be_the_one_that_answers(model, port):
    command_line = engine("serves", model, port, "--lora-modules", "tune=/nowhere")
    proof, _ = prove(*command_line, code=0)
    assert proof["served_name"] == "tune"
    proof, _ = prove(*engine("serves", model, port), options=("--name", "tune"), code=1)
    assert proof["end"] == "answers_errors"
    assert any("it serves stand-in, and not tune" in line for line in proof["error"])


@pytest.mark.full
def test_a_key_that_the_command_names_is_sent_and_not_kept(model, port):
    proof, _ = prove(*engine("keyed", model, port, "--api-key", "s3cret"), code=0)
    assert proof["end"] == "ready"
    assert "s3cret" not in Path(proof["proof"]).read_text()


def test_a_port_that_is_taken_proves_nothing(model, port):
    with socket.create_server(("127.0.0.1", port)):
        proof, said = prove(*engine("serves", model, port), code=3)
    assert proof == {}
    assert "listens on 127.0.0.1" in said
    assert verdict(model).reason == "not_proven"


def test_a_command_that_names_no_model_is_refused(port):
    _, said = prove(sys.executable, STAND_IN, "serves", "--port", port, code=3)
    assert "--model DIR" in said


@pytest.mark.parametrize("how", [("-d",), ("-it", "--detach"), ("--gpus", "all", "-td")])
def test_a_container_that_would_go_into_the_background_is_not_started(model, port, how):
    words = ("docker", "run", "--rm", *how, "-p", f"{port}:8000", "vllm/vllm-openai", model)
    _, said = prove(*words, "--port", port, code=3)
    assert "without -d" in said


def test_a_command_that_is_not_there_keeps_nothing(model, port):
    _, said = prove("/no/such/engine", model, "--port", port, code=3)
    assert "no/such/engine" in said
    assert verdict(model).reason == "not_proven"


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("mode", ["hangs", "deaf"])
def test_a_person_who_ends_it_leaves_no_engine_and_no_proof(model, port, mode, number):
    process = subprocess.Popen(
        call("--grace", "1", "--", *engine(mode, model, port, "--enable-lora")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    run_id = ""
    for line in process.stderr:
        if line.startswith("run "):
            run_id = line.split()[1]
            break
    assert run_id
    for _ in range(100):
        if living(run_id):
            break
        time.sleep(0.1)
    assert living(run_id)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "nothing is kept" in said
    assert living(run_id) == []
    assert verdict(model).reason == "not_proven"


@pytest.mark.full
def test_another_version_of_the_engine_is_not_proven(model, port, tmp_path):
    """An engine that is another file now; and one that is installed, in another version."""
    copy = tmp_path / "engine.py"
    copy.write_text(STAND_IN.read_text())
    prove(sys.executable, copy, "serves", model, "--port", port, "--enable-lora", code=0)
    assert verdict(model).reason == "proven"
    copy.write_text(STAND_IN.read_text() + "# mended\n")
    assert verdict(model).reason == "other_version"
    copy.unlink()
    assert verdict(model).reason == "version_unknown"


@pytest.mark.full
def test_a_proof_made_by_hand_or_whose_log_was_edited_or_deleted_is_not_believed(model, port):
    proof, _ = prove(*engine("serves", model, port, "--enable-lora"), code=0)
    log = Path(proof["log"])
    log.write_text(log.read_text() + "all is well\n")
    assert verdict(model).reason == "log_changed"
    log.unlink()
    assert verdict(model).reason == "log_gone"
    Path(proof["proof"]).write_text('{"end": "ready"')
    found = verdict(model)
    assert found.reason == "not_proven"
    assert any("cannot be read" in line for line in found.evidence)


@pytest.mark.full
def test_the_json_keeps_the_documented_shape(model, port, documented):
    proof, _ = prove(*engine("ends", model, port), code=1)
    assert set(proof) - {"schema"} == documented("`pfid viability prove-serving`")


@pytest.mark.full
def test_a_trial_is_a_run_like_any_other_on_record_with_its_end_and_who_stopped_it(model, port):
    proof, _ = prove(*engine("serves", model, port), code=0)
    state = Path(os.environ["HOME"]) / ".local/state/pfid"
    (record,) = state.glob(f"*/runs/{proof['run_id']}/record.json")
    stop = json.loads(record.with_name("stop.json").read_text())
    assert "trial" in stop["why"]
    assert json.loads(record.read_text())["end"] is not None
