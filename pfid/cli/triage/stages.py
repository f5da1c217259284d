"""Gather what each stage of a triage needs, one after the other, and stop at the answer."""

import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from pfid.adapters.length_files import load_records
from pfid.analysis.length_orders import Order, order_cost
from pfid.analysis.length_values import Fields
from pfid.analysis.mask_structure import attention_judged, read_masks
from pfid.analysis.regime import read_regime
from pfid.analysis.scaling import ScalingFit, fit
from pfid.analysis.shape_weighting import weigh
from pfid.analysis.triage import DataFacts, of_data, of_masks, of_scaling
from pfid.analysis.triage_findings import Finding, Looked, TriageStage, not_looked, whole
from pfid.analysis.triage_kernels import KernelFacts, of_backends, of_kernels
from pfid.bootstrap.masks import look_at_masks
from pfid.bootstrap.model_shape import model_shape
from pfid.bootstrap.step_probe import StepAsk, StepProbeError, StepSaid
from pfid.cli.fit_report import reason
from pfid.cli.probe_loss_head import loss_of
from pfid.cli.probe_profile import timings_of
from pfid.cli.step_options import measured
from pfid.cli.trace_reading import ReadTrace, TraceError, read_file
from pfid.cli.triage.ledger import Negatives
from pfid.cli.triage.trace_facts import kernel_facts, why_no_facts
from pfid.config.triage import Step, TriageSpec
from pfid.domain.errors import PfidError
from pfid.formats.model_config.fields import ModelConfigError

Told = Callable[[str], None]


class Examination:
    """One triage: what was found so far is what later stages judge by."""

    def __init__(
        self, spec: TriageSpec, folder: Path, python: str, told: Told, negatives: Negatives
    ) -> None:
        """Look at nothing yet.

        Args:
            spec: what there is to look at.
            folder: that its paths are relative to.
            python: the training interpreter.
            told: given a word of progress.
            negatives: what is not recommended.
        """
        self._spec = spec
        self._folder = folder
        self._python = python
        self._told = told
        self._negatives = negatives.claims
        self._unseen: list[TriageStage] = []
        self._kernels: KernelFacts | None = None
        self._own: ReadTrace | None = None

    def findings(self) -> tuple[Finding, ...]:
        """Go through the stages as far as it takes."""
        found: list[Finding] = []
        for stage in TriageStage:
            self._told(f"looking at {stage.value}")
            found.append(self._looked_at(stage))
            if found[-1].looked is not Looked.FOUND:
                self._unseen.append(stage)
            if found[-1].ends:
                break
        return whole(found)

    def _looked_at(self, stage: TriageStage) -> Finding:
        look = {
            TriageStage.MASKS: self._masks,
            TriageStage.SCALING: self._scaling,
            TriageStage.KERNELS: self._kernel_table,
            TriageStage.DATA: self._data,
            TriageStage.BACKENDS: self._backends,
        }[stage]
        try:
            return look()
        except PfidError as problem:
            return not_looked(stage, Looked.FAILED, str(problem))
        except ValueError as problem:  # lengths that cannot be
            return not_looked(stage, Looked.FAILED, str(problem))

    def _masks(self) -> Finding:
        model = self._spec.model
        if model is None:
            return not_looked(TriageStage.MASKS, Looked.NOT_ASKED, "the spec has no [model]")
        place = self._folder / model.config
        named = (model.attention,) if model.attention else ()
        report = look_at_masks(self._python, str(place) if place.exists() else model.config, named)
        return of_masks(read_masks(report, (attention_judged(report, model.attention),)))

    def _scaling(self) -> Finding:
        if self._spec.step is None:
            return not_looked(TriageStage.SCALING, Looked.NOT_ASKED, "the spec has no [step]")
        timings, found = timings_of(self._measured), self._fit
        if found is None:
            raise StepProbeError("nothing was timed")
        return of_scaling(found, read_regime(timings, found), reason(found), self._negatives)

    def _kernel_table(self) -> Finding:
        trace = self._spec.trace
        if trace is None and self._spec.step is None:
            said = "the spec has neither [trace] nor [step]"
            return not_looked(TriageStage.KERNELS, Looked.NOT_ASKED, said)
        read = self._read(str(self._folder / trace.file)) if trace is not None else self._own_trace
        why = "the step left no trace" if read is None else why_no_facts(read)
        if read is None or why:
            return not_looked(TriageStage.KERNELS, Looked.NO_ANSWER, why)
        self._kernels = kernel_facts(read, has_experts=self._has_experts())
        return of_kernels(self._kernels, self._negatives)

    def _data(self) -> Finding:
        lengths = self._spec.lengths
        if lengths is None:
            return not_looked(TriageStage.DATA, Looked.NOT_ASKED, "the spec has no [lengths]")
        records = load_records(
            str(self._folder / lengths.file),
            Fields(length=lengths.field or None),
            longest=lengths.max_length or None,
        )
        now = order_cost(records, lengths.batch, Order(lengths.order)).cost
        best = order_cost(records, lengths.batch, Order.SORTED).cost
        gain = None
        if self._fit is not None and self._fit.closes:
            before, after = weigh(self._fit, now), weigh(self._fit, best)
            if before is not None and after is not None and before.expected_s > 0:
                gain = 1 - after.expected_s * best.batches / (before.expected_s * now.batches)
        facts = DataFacts(waste=now.waste, best_waste=best.waste, gain=gain)
        return of_data(facts, self._negatives)

    def _backends(self) -> Finding:
        loss = loss_of(self._measured) if self._measured_well else None
        regime = None
        if self._fit is not None:
            regime = read_regime(timings_of(self._measured), self._fit).regime
        model = self._spec.model
        running = (model.attention,) if model is not None and model.attention else ()
        return of_backends(
            regime, self._kernels, loss, self._negatives, running, tuple(self._unseen)
        )

    def _has_experts(self) -> bool | None:
        """Whether the model has experts; None where its configuration does not tell here."""
        model = self._spec.model
        place = None if model is None else self._folder / model.config
        if place is None or not place.exists():
            return None
        try:
            return model_shape(place).experts > 0
        except ModelConfigError:
            return None

    @property
    def _measured(self) -> StepSaid:
        """The step's own pass; what went wrong with it is raised to whoever asks."""
        if isinstance(self._passed, PfidError):
            raise self._passed
        return self._passed

    @cached_property
    def _passed(self) -> StepSaid | PfidError:
        """Make the pass once, whether it ends well or not: it may take an hour."""
        step = self._spec.step
        if step is None:
            return StepProbeError("the spec has no [step]")
        with tempfile.TemporaryDirectory(prefix="pfid-triage-") as folder:
            place = Path(folder) / "step.json"
            try:
                said = measured(self._ask(step, place))
                self._own = self._read(str(place)) if said.of("profiled") else None
            except PfidError as problem:
                return problem
        return said

    @property
    def _measured_well(self) -> bool:
        """Whether there is a step, and its pass ended well."""
        return self._spec.step is not None and isinstance(self._passed, StepSaid)

    @property
    def _own_trace(self) -> ReadTrace | None:
        _ = self._measured
        return self._own

    @cached_property
    def _fit(self) -> ScalingFit | None:
        return fit(timings_of(self._measured)) if self._measured_well else None

    def _ask(self, step: Step, place: Path) -> StepAsk:
        widths = ",".join(str(width) for width in sorted(set(step.widths)))
        loss = ("--loss", step.loss) if step.loss else ()
        trace = () if self._spec.trace is not None else ("--trace", str(place))
        shared = ("--batch", str(step.batch), "--repeats", str(step.repeats), "--warm", "1")
        return StepAsk(
            python=self._python,
            probe="profile_step",
            arguments=(
                step.factory,
                *("--widths", widths, "--padding", "0.5"),
                *shared,
                *loss,
                *trace,
            ),
            device=step.device,
            gpu=step.gpu or None,
            deadline_s=step.timeout_s,
        )

    @staticmethod
    def _read(name: str) -> ReadTrace:
        read = read_file(name)
        if not isinstance(read, ReadTrace):
            raise TraceError(f"{name}: a table of averages is no trace; give the trace")
        return read
