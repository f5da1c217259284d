"""Alerts about pfid itself: the dead man's switch, and everything that would make green mean less.

Times are subtracted from the box's own clock (``pfid_time_seconds``), so that a clock that differs
between box and Prometheus fires nothing.
"""

from typing import Final

from pfid.monitoring.risen import risen
from pfid.monitoring.rule import NONE, Alert, Group

LOOP_STALLED_S: Final = 60
PROOF_OVERDUE_S: Final = 9 * 86_400
"""Proofs are made again after seven days; two more are a failure to do so."""
STALE_INTERVALS: Final = 5
ALWAYS_THERE: Final = 'sampler=~"proc|steps"'
"""Samplers that answer on every box, and so should have answered at all."""
WORKER_ENDS: Final = 2
"""Twice may be bad luck; a plugin is held back after the third."""
WORKER_WINDOW_S: Final = 1_800
WINDOW_S: Final = 900
"""What happened so long ago is no alert any more."""
PAGE_SLACK_S: Final = 30
"""A page may be as old as one scrape; that is no stale sampler."""


def dead_man(job: str) -> Group:
    """Whether anybody watches at all."""
    return Group(
        name="pfid-dead-man",
        rules=(
            Alert(
                name="Watchdog",
                expr="vector(1)",
                for_s=0,
                severity=NONE,
                summary="Always firing: proof that alerts arrive.",
                description="Route it to a receiver that notices when it stops; allow for 5 to 10"
                " minutes, as a fresh Prometheus finds its Alertmanager late.",
                runbook="When this stops arriving, Prometheus, Alertmanager or the way between"
                " them and you is broken; no other alert would reach you.",
            ),
            Alert(
                name="PfidDown",
                expr=f'up{{job="{job}"}} == 0',
                for_s=120,
                severity="critical",
                summary="pfid cannot be scraped: nobody watches the runs of this box.",
                description="Prometheus has not reached pfid on {{ $labels.instance }} for two"
                " minutes.",
                runbook="`systemctl status pfid` and `journalctl -u pfid` on the box; if the box"
                " answers, `curl` the page. Runs go on without their watcher.",
            ),
            Alert(
                name="PfidAbsent",
                expr=f'absent(up{{job="{job}"}})',
                for_s=300,
                severity="critical",
                summary="Prometheus has no pfid to scrape.",
                description=f"No target of job {job} exists.",
                runbook="Look at the scrape configuration and its target files; `pfid monitoring"
                " sd` writes them.",
            ),
            Alert(
                name="PfidLoopStalled",
                expr="pfid_time_seconds - on (job, instance)"
                f" pfid_loop_last_iteration_timestamp_seconds > {LOOP_STALLED_S}",
                for_s=60,
                severity="critical",
                summary="pfid's loop has stopped: its page is old news.",
                description="The loop on {{ $labels.instance }} last went round"
                " {{ $value | humanizeDuration }} ago.",
                runbook="Under systemd the watchdog restarts it; if it does not, take a stack with"
                " `kill -ABRT` and restart pfid.",
            ),
            Alert(
                name="PfidSamplerStale",
                expr="(pfid_time_seconds - on (job, instance) group_right ()"
                " pfid_sampler_last_success_timestamp_seconds"
                " > on (job, instance, sampler)"
                f" ({STALE_INTERVALS} * pfid_sampler_interval_seconds + {PAGE_SLACK_S}))"
                f" or (pfid_sampler_interval_seconds{{{ALWAYS_THERE}}} unless"
                " on (job, instance, sampler) pfid_sampler_last_success_timestamp_seconds)",
                for_s=120,
                severity="warning",
                summary="A source of facts has stopped answering.",
                description="Sampler {{ $labels.sampler }} on {{ $labels.instance }} has not"
                " answered for {{ $value | humanizeDuration }} or more.",
                runbook="pfid_sampler_errors_total and _timeouts_total say how it fails; `pfid"
                " status` shows which checks cannot look because of it.",
            ),
            Alert(
                name="PfidSelftestFailed",
                expr='pfid_gates{state="unproven"} > 0',
                for_s=600,
                severity="critical",
                summary="Checks are not proven, so nothing they say counts.",
                description="{{ $value }} checks on {{ $labels.instance }} are not proven.",
                runbook="`pfid selftest` on the box names the control that let each down.",
            ),
            Alert(
                name="PfidSelftestOverdue",
                expr="(pfid_time_seconds - on (job, instance) group_right ()"
                ' pfid_selftest_last_success_timestamp_seconds{leg="controls"}'
                f" > {PROOF_OVERDUE_S}) or (pfid_ready == 1 unless on (job, instance)"
                ' pfid_selftest_last_success_timestamp_seconds{leg="controls"})',
                for_s=600,
                severity="warning",
                summary="The self-test has not succeeded when it was due.",
                description="pfid on {{ $labels.instance }} has no whole proof that is young"
                " enough.",
                runbook="`pfid selftest` on the box; pfid proves again by itself every seven days"
                " and when a check changes, and did not.",
            ),
            Alert(
                name="PfidGateUnproven",
                expr="pfid_gate_proven == 0",
                for_s=600,
                severity="warning",
                summary="A check is not proven on one of its legs.",
                description="Check {{ $labels.check }} on {{ $labels.instance }} is let down by"
                " its leg {{ $labels.leg }}.",
                runbook="`pfid selftest --check NAME` (with `--live` or `--alerts` for those legs)"
                " says why.",
            ),
        ),
    )


OWN: Final = Group(
    name="pfid-own",
    rules=(
        Alert(
            name="PfidNotReady",
            expr="pfid_ready == 0",
            for_s=600,
            severity="warning",
            summary="pfid has not become ready.",
            description="pfid on {{ $labels.instance }} answers and is not ready.",
            runbook="`journalctl -u pfid`: it is still proving its checks, or cannot bind.",
        ),
        Alert(
            name="PfidRestarting",
            expr="changes(process_start_time_seconds[30m]) > 2"
            " and on (job, instance) pfid_build_info",
            for_s=0,
            severity="warning",
            summary="pfid keeps restarting.",
            description="pfid on {{ $labels.instance }} was started {{ $value }} times within 30"
            " minutes.",
            runbook="`journalctl -u pfid` says how it ended; the watchdog and the memory limit are"
            " the usual causes.",
        ),
        Alert(
            name="PfidConfigReloadFailed",
            expr="pfid_config_last_reload_successful == 0",
            for_s=300,
            severity="warning",
            summary="pfid refused its new configuration and runs on the old one.",
            description="The last reload on {{ $labels.instance }} was refused.",
            runbook="`pfid config check` lists everything that is wrong with the file.",
        ),
        Alert(
            name="PfidStateNotWritable",
            expr="pfid_store_writable == 0",
            for_s=300,
            severity="critical",
            summary="pfid cannot write its state.",
            description="State on {{ $labels.instance }} cannot be written; a restart would lose"
            " what happens now.",
            runbook="`df` and the permissions of the state directory; `pfid status` says what the"
            " file system answered.",
        ),
        Alert(
            name="PfidRunsUnread",
            expr="pfid_runs_unread > 0",
            for_s=60,
            severity="critical",
            summary="Runs are not watched: what was stored of them cannot be read.",
            description="{{ $value }} runs on {{ $labels.instance }} could not be taken up again"
            " when pfid was started.",
            runbook="`pfid status` names them; a living launcher registers its run again by"
            " itself, for any other `pfid attach PID --name NAME` does. Then this ends.",
        ),
        Alert(
            name="PfidPluginErrors",
            expr=risen("pfid_plugin_errors_total", WINDOW_S),
            for_s=60,
            severity="warning",
            summary="A plugin raises.",
            description="Plugin {{ $labels.plugin }} on {{ $labels.instance }} raised within the"
            " last 15 minutes.",
            runbook="`pfid selftest` and pfid's own log name what it raised.",
        ),
        Alert(
            name="PfidPluginWorkerEnds",
            expr=risen("pfid_plugin_worker_ends_total", WORKER_WINDOW_S, WORKER_ENDS),
            for_s=60,
            severity="warning",
            summary="The process that runs plugins ends again and again.",
            description="The plugins' process on {{ $labels.instance }} ended more than"
            f" {WORKER_ENDS} times in 30 minutes ({{{{ $labels.cause }}}}); their checks are"
            " UNKNOWN meanwhile.",
            runbook="pfid's own log names the plugin whose code ran each time; take it out of the"
            " plugin directory, or raise `plugins.worker_memory_max_bytes` if it outgrew that.",
        ),
        Alert(
            name="PfidCheckErrors",
            expr=risen("pfid_check_errors_total", WINDOW_S),
            for_s=60,
            severity="warning",
            summary="A check raises instead of answering.",
            description="Check {{ $labels.check }} on {{ $labels.instance }} raised within the"
            " last 15 minutes; its verdict is UNKNOWN meanwhile.",
            runbook="pfid's own log names the exception; `pfid selftest --check NAME` tries it.",
        ),
        Alert(
            name="PfidPageErrors",
            expr=risen("pfid_page_errors_total", WINDOW_S),
            for_s=60,
            severity="warning",
            summary="A part of pfid's page could not be made.",
            description="Group {{ $labels.group }} of the page on {{ $labels.instance }} failed"
            " within the last 15 minutes.",
            runbook="This is a fault of pfid: report it with the log of the time.",
        ),
        Alert(
            name="PfidNotificationsFailing",
            expr=risen("pfid_notifications_failed_total", WINDOW_S),
            for_s=300,
            severity="warning",
            summary="pfid cannot tell people of failures.",
            description="Channel {{ $labels.channel }} on {{ $labels.instance }} fails; what it"
            " was to tell stays queued for a day.",
            runbook="pfid's own log says how the command or the webhook fails.",
        ),
        Alert(
            name="PfidSeriesLimited",
            expr=f"group by (job, instance) ({risen('pfid_dropped_series_total', WINDOW_S)})",
            for_s=60,
            severity="info",
            summary="More runs live on the box than its page shows.",
            description="Series of runs on {{ $labels.instance }} were left out.",
            runbook="Raise `page.exported_runs_max`, and before that `sample_limit` of the scrape"
            " job: `pfid monitoring scrape-config --runs N` prints it. `pfid_runs` counts all.",
        ),
    ),
)
OWN_NAMES: Final = frozenset(
    rule.name for group in (dead_man("pfid"), OWN) for rule in group.rules
) | {"PfidRankSlow", "PfidRankMissing", "PfidRankMissingUnknown"}
