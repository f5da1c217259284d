"""The demo's acts, in order. Each one waits for a verdict, and the demo fails without it."""

import os
import re
import signal
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pfid.cli.demo.engine import Engine, Scene, looks, run_dirs, until
from pfid.cli.demo.stage import HELD_S, NAME, DemoError, Stage
from pfid.cli.demo.trainings import Training
from pfid.cli.demo.voice import Voice

START_WITHIN_S: Final = 30.0
STEPS_WITHIN_S: Final = 45.0
VERDICT_WITHIN_S: Final = 20.0
FAULT_WITHIN_S: Final = 45.0
FIRST_STEP_WITHIN_S: Final = 5.0
_STEP: Final = re.compile(r"^iter \d+: ", re.MULTILINE)
_URL: Final = re.compile(r"http://[\w.:\[\]]+/metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A verdict that must come."""

    check: str
    outcome: str
    reason: str = ""

    def holds(self, verdict: dict[str, Any]) -> bool:
        """Whether this is it."""
        return verdict.get("outcome") == self.outcome and self.reason in {"", verdict["reason"]}


class Story:
    """Plays the acts on a stage."""

    def __init__(self, stage: Stage, voice: Voice, training: Training) -> None:
        self._stage = stage
        self._voice = voice
        self._training = training

    def play(self) -> None:
        """Play everything.

        Raises:
            DemoError: if an expected verdict did not come; it says which.
        """
        engine = self._launch("A training run starts under watch")
        self._healthy(engine)
        self._gates(engine)
        self._fallback(engine)
        self._death(engine)
        self._relaunch()

    def _launch(self, title: str) -> Engine:
        voice, stage = self._voice, self._stage
        voice.act(title)
        voice.say(self._training.what)
        known = set(run_dirs(stage))
        launcher = stage.launch(self._training.command(stage.plant))
        voice.say(f"$ pfid run --name {NAME} -- python -m {self._training.module}")
        until(
            "the run's folder",
            START_WITHIN_S,
            lambda: bool(set(run_dirs(stage)) - known) or self._gave_up(launcher),
        )
        (run_dir,) = set(run_dirs(stage)) - known
        engine = Engine(run_dir)
        until("the run under watch", START_WITHIN_S, lambda: bool(engine.look().run))
        return engine

    def _gave_up(self, launcher: subprocess.Popen[bytes]) -> bool:
        if launcher.poll() is None:
            return False
        raise DemoError(f"pfid run ended with {launcher.returncode}: {self._words()}")

    def _words(self) -> str:
        return " / ".join(self._stage.launcher_words().split("\n")[-6:])

    def _healthy(self, engine: Engine) -> None:
        self._voice.act("Its steps become its own measure")
        self._await(engine, STEPS_WITHIN_S, Expected(check="step_time_regime", outcome="pass"))
        self._await(engine, VERDICT_WITHIN_S, Expected(check="run_gone", outcome="pass"))

    def _gates(self, engine: Engine) -> None:
        self._voice.act("What may be believed, and where to read it")
        gates = engine.look().snapshot.get("gates", [])
        proven = [gate for gate in gates if gate["state"] == "proven"]
        controls = sum(len(gate["controls"]) for gate in gates)
        mutants = [leg for gate in gates for leg in gate["sabotage"]]
        caught = sum(leg["caught"] for leg in mutants)
        self._voice.say(
            f"self-test: {len(proven)} of {len(gates)} checks proved that they can fire and can "
            f"pass, on {controls} known inputs; {caught} of {len(mutants)} deliberately broken "
            "copies of them were caught"
        )
        if not gates or len(proven) != len(gates):
            missing = ", ".join(g["check"] for g in gates if g not in proven) or "all of them"
            raise DemoError(f"not every check is proven: {missing}")
        self._page()

    def _page(self) -> None:
        found = _URL.findall(self._stage.launcher_words())
        if not found:
            raise DemoError(f"pfid run printed no metrics address: {self._words()}")
        with urllib.request.urlopen(found[-1], timeout=5) as answer:  # noqa: S310 - our own page
            series = sum(line.startswith(b"pfid_") for line in answer)
        self._voice.say(f"metrics: {found[-1]} ({series} series)")

    def _fallback(self, engine: Engine) -> None:
        voice = self._voice
        voice.act("The fault is planted: nothing crashes, nothing is printed as an error")
        voice.say(self._training.fault)
        voice.say(
            f"(said once it has held for {HELD_S:g} s; outside this demo for 30 s)", style="dim"
        )
        self._stage.plant.touch()
        shifted = Expected(check="step_time_regime", outcome="fail", reason="shifted")
        self._await(engine, FAULT_WITHIN_S, shifted)
        if self._training.limit_is_logged:
            seen = "hit_consequence_seen"
            limit = Expected(check="recompile_limit", outcome="fail", reason=seen)
            self._await(engine, VERDICT_WITHIN_S, limit)

    def _death(self, engine: Engine) -> None:
        self._voice.act("The run is killed")
        scene = engine.look()
        os.kill(int(scene.run["run"]["identity"]["pid"]), signal.SIGKILL)
        self._await(engine, VERDICT_WITHIN_S, Expected(check="run_gone", outcome="fail"))

    def _relaunch(self) -> None:
        self._stage.plant.unlink()
        crashed = self._stage.log.stat()
        engine = self._launch("It is relaunched: the crashed attempt's log is kept")
        for _ in looks(FIRST_STEP_WITHIN_S):
            if _steps(self._stage.log):
                break
        logs = sorted(self._stage.folder.glob(f"{NAME}*.log"))
        for log in logs:
            size = log.stat().st_size
            self._voice.say(f"{log.name}: {size:,} bytes, {_steps(log):,} steps")
        kept = [log for log in logs if log.stat().st_ino == crashed.st_ino]
        if len(logs) != 2 or not kept or kept[0].stat().st_size != crashed.st_size:
            raise DemoError("the crashed attempt's log was not kept as it was")
        if kept[0] == self._stage.log:
            raise DemoError("the relaunch goes on writing to the crashed attempt's log")
        self._stop(engine)

    def _stop(self, engine: Engine) -> None:
        run_id = engine.run_dir.name
        alive = Expected(check="run_gone", outcome="pass", reason="running")
        self._await(engine, VERDICT_WITHIN_S, alive)
        self._voice.say(f"$ pfid stop {NAME} --why 'the demo is over'")
        answer = self._stage.ask("stop", run_id, "--why", "the demo is over")
        if answer.get("remaining") != 0:
            raise DemoError(f"pfid stop {run_id} did not end the run: {answer}")
        stopped = Expected(check="run_gone", outcome="pass", reason="stopped_by_operator")
        self._await(engine, VERDICT_WITHIN_S, stopped)

    def _await(self, engine: Engine, within_s: float, expected: Expected) -> None:
        """Show steps until the verdict comes."""
        verdict: dict[str, Any] = {}
        for waited_s in looks(within_s):
            scene = engine.look()
            verdict = scene.verdict(expected.check) or self._remembered(engine, expected.check)
            if expected.holds(verdict):
                self._voice.verdict(expected.check, verdict["outcome"], verdict["summary"])
                return
            self._show(scene, waited_s)
        said = f"{verdict.get('outcome', 'nothing')} {verdict.get('reason', '')}".strip()
        raise DemoError(
            f"{expected.check} should have said {expected.outcome} {expected.reason} "
            f"within {within_s:g} s; it said {said}"
        )

    def _show(self, scene: Scene, waited_s: float) -> None:
        if scene.recent_ms is not None:
            self._voice.progress(f"step {scene.steps:,}  {scene.recent_ms:.1f} ms a step")
        elif scene.run:
            self._voice.progress(f"no step yet after {waited_s:.0f} s")

    def _remembered(self, engine: Engine, check: str) -> dict[str, Any]:
        """Return the last verdict of an engine that has ended with its run."""
        if engine.answers():
            return {}
        shown = self._stage.ask("show", engine.run_dir.name)
        found = [v for v in shown.get("verdicts", ()) if v["check"] == check]
        return found[-1] if found else {}


def _steps(log: Path) -> int:
    """Count the steps that a log shows."""
    return len(_STEP.findall(log.read_text(errors="replace")))
