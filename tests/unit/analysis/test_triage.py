"""Each stage says what it found and whether the answer is there, and recommends no dead end."""

import dataclasses

import pytest

from pfid.analysis.launch_gaps import LaunchGaps
from pfid.analysis.levers import (
    BIGGER_BATCH,
    BUCKETING,
    COMPILE,
    CUDA_GRAPHS,
    FEED,
    FLASH_2,
    FLASH_4,
    FLEX,
    FUSED_LOSS,
    GROUPED_MM,
    Negative,
)
from pfid.analysis.loss_head import LossTiming, loss_head_of
from pfid.analysis.mask_cases import healthy
from pfid.analysis.mask_structure import read_masks
from pfid.analysis.regime import Regime, read_regime
from pfid.analysis.scaling import Timing, fit
from pfid.analysis.triage import DATA_GAIN_MIN, DataFacts, of_data, of_masks, of_scaling
from pfid.analysis.triage_findings import Looked, TriageStage, answer_of, regime_of, whole
from pfid.analysis.triage_kernels import (
    CLASS_SHARE_MIN,
    EXPOSED_MIN,
    LOSS_SHARE_MIN,
    LOW_CLOSURE,
    KernelFacts,
    of_backends,
    of_kernels,
)
from pfid.domain.kernel import KernelClass

ATTENTION = {KernelClass.ATTENTION: 0.652, KernelClass.GEMM: 0.079, KernelClass.OTHER: 0.269}


def scaled(*pairs):
    timings = [Timing(width=w, seconds=s) for w, s in pairs]
    found = fit(timings)
    return of_scaling(found, read_regime(timings, found), "why", ())


def playbook(width):
    return width, 6.87e-4 * width + 8.85e-8 * width * width


class TestMasks:
    def test_wrong_masks_end_everything(self):
        report = dataclasses.replace(healthy(), flash_window=1_025)
        found = of_masks(read_masks(report, ("flash_attention_2",)))
        assert found.ends
        assert found.wrong
        assert "no figure of it counts" in found.said

    def test_right_masks_end_nothing(self):
        found = of_masks(read_masks(healthy(), ("sdpa",)))
        assert (found.looked, found.ends, found.wrong) == (Looked.FOUND, False, False)

    def test_masks_that_could_not_be_asserted_are_not_right(self):
        found = of_masks(read_masks(dataclasses.replace(healthy(), planted=())))
        assert (found.looked, found.ends) == (Looked.NO_ANSWER, False)


class TestScaling:
    def test_the_playbooks_curve_is_no_answer_yet_and_has_its_share(self):
        found = scaled(*(playbook(w) for w in (2_048, 8_192, 16_384)))
        assert not found.ends
        assert found.figures["quadratic_share"] == pytest.approx(0.678, abs=1e-3)

    def test_launch_bound_is_an_answer(self):
        found = scaled((512, 1.0), (1_024, 1.05), (2_048, 1.1))
        assert found.ends
        assert found.levers[0] is CUDA_GRAPHS

    def test_a_curve_that_does_not_close_says_so(self):
        assert scaled((512, 1.0), (1_024, 9.0), (2_048, 3.0)).looked is Looked.NO_ANSWER


class TestKernels:
    def test_the_playbooks_table_names_attention_and_goes_on(self):
        found = of_kernels(KernelFacts(shares=ATTENTION, closure=0.895, old_share=0.652), ())
        assert "attention takes 65.2%" in found.said
        assert "older generation" in found.said
        assert not found.ends

    @pytest.mark.parametrize(
        ("closure", "ends"), [(LOW_CLOSURE - 0.01, True), (LOW_CLOSURE, False)]
    )
    def test_a_device_that_waits_is_an_answer(self, closure, ends):
        assert of_kernels(KernelFacts(shares=ATTENTION, closure=closure), ()).ends is ends

    def test_without_a_wall_clock_nothing_is_said_of_waiting(self):
        assert not of_kernels(KernelFacts(shares=ATTENTION, closure=None), ()).ends

    @pytest.mark.parametrize(
        ("exposed", "ends"), [(EXPOSED_MIN, True), (EXPOSED_MIN - 0.01, False)]
    )
    def test_talk_that_nothing_hides_is_an_answer(self, exposed, ends):
        facts = KernelFacts(shares=ATTENTION, closure=0.9, exposed=exposed)
        assert of_kernels(facts, ()).ends is ends


class TestWaiting:
    @staticmethod
    def found(short_ns, long_ns):
        gaps = LaunchGaps(
            launches=100,
            steps=2,
            wall_ns=1_000_000,
            short_ns=short_ns,
            long_ns=long_ns,
            longest_ns=long_ns,
            mean_ns=5_000.0,
        )
        return of_kernels(KernelFacts(shares=ATTENTION, closure=0.4, gaps=gaps), ())

    def test_half_of_the_idle_time_in_launches_is_launch_bound_and_less_is_not(self):
        bound, data = self.found(300_000, 300_000), self.found(299_000, 301_000)
        assert (bound.regime, bound.levers) == (
            Regime.LAUNCH_BOUND,
            (CUDA_GRAPHS, COMPILE, BIGGER_BATCH),
        )
        assert (data.regime, data.levers) == (None, (FEED,))
        assert "30.0% in gaps of at most 200 us" in bound.said

    def test_where_gaps_are_not_known_every_way_of_waiting_is_named(self):
        found = of_kernels(KernelFacts(shares=ATTENTION, closure=0.4), ())
        assert found.levers == (FEED, CUDA_GRAPHS, COMPILE)
        assert found.regime is None


class TestData:
    @pytest.mark.parametrize(
        ("waste", "best", "gain", "ends"),
        [
            (0.299, 0.0, None, True),
            (0.299, 0.0, 0.355, True),
            (DATA_GAIN_MIN - 0.001, 0.0, None, False),
            (0.299, 0.0, DATA_GAIN_MIN - 0.001, False),
            (0.02, 0.0, DATA_GAIN_MIN, True),
        ],
    )
    def test_padding_is_an_answer_where_it_pays(self, waste, best, gain, ends):
        found = of_data(DataFacts(waste=waste, best_waste=best, gain=gain), ())
        assert found.ends is ends
        assert found.levers == ((BUCKETING,) if ends else ())

    def test_what_was_tried_in_vain_is_not_the_answer(self):
        tried = Negative(key="bucketing", text="no gain on this corpus")
        found = of_data(DataFacts(waste=0.3, best_waste=0.0, gain=None), (tried,))
        assert not found.ends
        assert found.dropped[0].negative is tried


class TestBackends:
    def test_attention_first_and_the_measured_negative_last_in_line_is_left_out(self):
        sour = Negative(key="fa4", text="FlashAttention-4 on sm_120")
        facts = KernelFacts(shares=ATTENTION, closure=0.9)
        found = of_backends(Regime.MIXED, facts, None, (sour,))
        assert found.levers[0] is FLEX
        assert FLASH_4 not in found.levers
        assert [one.lever for one in found.dropped] == [FLASH_4]

    @pytest.mark.parametrize("share", [CLASS_SHARE_MIN, CLASS_SHARE_MIN - 0.01])
    def test_a_class_matters_from_its_limit_on(self, share):
        facts = KernelFacts(shares={KernelClass.ELEMENTWISE: share}, closure=None)
        wanted = (COMPILE,) if share >= CLASS_SHARE_MIN else ()
        assert of_backends(None, facts, None, ()).levers == wanted

    @pytest.mark.parametrize("share", [LOSS_SHARE_MIN, LOSS_SHARE_MIN - 0.01])
    def test_the_loss_matters_from_its_limit_on(self, share):
        loss = loss_head_of([LossTiming(step_s=1.0, forward_s=share, gradient_s=0.0)])
        wanted = (FUSED_LOSS,) if share >= LOSS_SHARE_MIN else ()
        assert of_backends(None, None, loss, ()).levers == wanted

    def test_a_quadratic_step_without_a_trace_is_attentions(self):
        assert of_backends(Regime.QUADRATIC, None, None, ()).levers[0] is FLEX
        assert of_backends(Regime.LINEAR, None, None, ()).levers == ()

    def test_where_everything_was_tried_there_is_no_answer(self):
        facts = KernelFacts(shares={KernelClass.GEMM: 0.9}, closure=None, experts_loop=True)
        found = of_backends(None, facts, None, (Negative(key="grouped_mm", text="slower"),))
        assert (found.looked, found.ends) == (Looked.NO_ANSWER, False)
        assert [one.lever for one in found.dropped] == [GROUPED_MM]

    @pytest.mark.parametrize("loop", [None, False, True])
    def test_experts_are_grouped_only_where_they_are_known_to_be_multiplied_singly(self, loop):
        facts = KernelFacts(shares={KernelClass.GEMM: 0.9}, closure=None, experts_loop=loop)
        assert of_backends(None, facts, None, ()).levers == ((GROUPED_MM,) if loop else ())

    def test_elementwise_work_that_is_compiled_is_not_compiled_again(self):
        shares = {KernelClass.ELEMENTWISE: 0.5}
        facts = KernelFacts(shares=shares, closure=None, compiled=0.3)
        assert of_backends(None, facts, None, ()).levers == ()

    def test_nothing_cheaper_is_left_only_of_what_was_looked_at(self):
        facts = KernelFacts(shares=ATTENTION, closure=0.9)
        whole_look = of_backends(None, facts, None, ())
        assert whole_look.said.endswith("nothing cheaper is left")
        unseen = (TriageStage.SCALING, TriageStage.DATA)
        part = of_backends(None, facts, None, (), (), unseen)
        assert "of what was looked at (scaling, data could not be" in part.said

    def test_of_what_was_never_looked_at_nothing_is_said(self):
        """Without torch nothing was timed, and nothing was said to take enough time."""
        unseen = (TriageStage.SCALING, TriageStage.KERNELS, TriageStage.DATA)
        found = of_backends(None, None, None, (), (), unseen)
        assert (found.looked, found.ends) == (Looked.FAILED, False)
        assert found.said.startswith("nothing tells what takes the time")
        part = of_backends(Regime.LINEAR, None, None, (), (), unseen[1:])
        assert part.said == (
            "nothing takes enough time for a backend to matter of what was looked at "
            "(kernels, data could not be or was not)"
        )

    def test_what_runs_already_stands_apart(self):
        facts = KernelFacts(shares=ATTENTION, closure=0.9, families=frozenset({"flash_4"}))
        found = of_backends(None, facts, None, (), ("flex_attention",))
        assert found.running == (FLEX, FLASH_2, FLASH_4)
        assert (found.levers, found.ends) == ((), False)
        assert "running already: flex_attention" in found.said


def test_stages_behind_the_answer_are_not_reached():
    answer = of_data(DataFacts(waste=0.3, best_waste=0.0, gain=None), ())
    page = whole([answer])
    assert answer_of(page) is answer
    assert [one.looked for one in page[1:]] == [Looked.NOT_REACHED] * 4
    assert {one.stage for one in page} == set(TriageStage)


def test_the_regime_is_that_of_the_first_stage_that_tells_it_or_there_is_a_reason():
    mixed = scaled(*(playbook(w) for w in (2_048, 8_192, 16_384)))
    assert regime_of(whole([mixed])) == (Regime.MIXED, "scaling")
    none = scaled((512, 1.0), (1_024, 9.0), (2_048, 3.0))
    assert regime_of(whole([none])) == (None, "no regime: why")
    assert regime_of([]) == (None, "no stage tells it")
