"""A counter that has risen, also one that was not 0 when it was first seen.

``increase`` knows nothing of what came before the first sample: a plugin that fails while it is
loaded is at 1 on the first page. Whatever counts at all on a page of a pfid that was started within
the window was counted within it; so was a series that was not there when the page last was.
"""


def risen(counter: str, window_s: int, times: int = 0) -> str:
    """Return what has risen more than ``times`` within the window, each with its value.

    Counters of pfid begin at 0 with its process. ``increase`` extrapolates: ``times`` come out as
    a little more.
    """
    more = f"{times}.5" if times else "0"
    young = (
        "(pfid_time_seconds - on (job, instance) process_start_time_seconds"
        f" < {window_s}) and on (job, instance) pfid_build_info"
    )
    return (
        f"(increase({counter}[{window_s}s]) > {more})"
        f" or (({counter} > {times}) and on (job, instance) ({young}))"
        f" or (({counter} > {times} unless {counter} offset {window_s}s)"
        f" and on (job, instance) (pfid_build_info offset {window_s}s))"
    )
