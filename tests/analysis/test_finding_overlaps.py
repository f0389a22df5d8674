"""Which stakes do not add up."""

from dataclasses import replace

from profiler_core.analysis.finding_overlaps import overlaps, together
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.wording.findings import overlap_text, together_text


def finding(key: str, ns: float | None, *, at_most: bool = False, **more: object) -> Finding:
    said = None
    if ns is not None:
        said = Prediction(ns, 0.9 * ns, 1.1 * ns, "simulated", "unprofiled")
        said = Prediction.at_most(ns, "unprofiled", "nobody knows") if at_most else said
    about = (key, f"{key}.", "seen", "change it", "kernels")
    return Finding(*about, prediction=said, **more)  # type: ignore[arg-type]


BREAKS = finding("graph_breaks", 100_000.0)
LAUNCHES = finding("launch_bound", 300_000.0, at_most=True)
COPIES = finding("layout_copies", 50_000.0, items=(kernel_item("a"), kernel_item("b")))
SHAPES = finding("odd_shapes", 20_000.0, items=(kernel_item("b"),))
NOTE = finding("power_cap", None, items=(kernel_item("b"),))


def test_idle_of_the_host_and_equal_evidence_overlap() -> None:
    assert overlaps([LAUNCHES, BREAKS, COPIES, SHAPES, NOTE]) == ((1,), (0,), (3,), (2,), ())


def test_together_counts_what_overlaps_once() -> None:
    assert together([LAUNCHES, BREAKS, COPIES, SHAPES, NOTE]) == (350_000.0, True)
    assert together([BREAKS, COPIES]) == (150_000.0, False)
    assert "at most 350 µs per step" in together_text([LAUNCHES, BREAKS, COPIES])
    assert together_text([BREAKS, NOTE]) == ""


def test_what_was_simulated_together_counts_with_what_it_adds() -> None:
    breaks = replace(BREAKS, on_top_ns=100_000.0)
    copies = replace(COPIES, on_top_ns=5_000.0)  # the host is the limit next
    assert together([breaks, copies]) == (105_000.0, False)
    assert together([replace(BREAKS, prediction=None)]) == (0.0, False)


def test_a_bound_holds_for_what_it_overlaps_with() -> None:
    """A bare trace's: at most 506 µs per step, and together with what overlaps it 1.06 µs."""
    read = replace(finding("synchronisations", 1_060.0), on_top_ns=1_060.0)
    bound = finding("launch_bound", 506_000.0, at_most=True)
    copies = replace(COPIES, on_top_ns=5_000.0)
    assert together([bound, read]) == (506_000.0, True)
    assert together([bound, read, copies]) == (511_000.0, True)
    breaks = replace(BREAKS, on_top_ns=600_000.0)
    assert together([bound, breaks]) == (600_000.0, False)


def test_idle_time_that_a_bound_holds_counts_once() -> None:
    """ "At most 16.5 ms": 13.4 of idle time and 3.13 of the optimizer, 0.525 of it the device's."""
    bound = finding("launch_bound", 13_400_000.0, at_most=True)
    passes = replace(
        finding("unfused_optimizer", 3_130_000.0), on_top_ns=3_130_000.0, on_device_ns=525_000.0
    )
    assert together([bound, passes]) == (13_925_000.0, True)
    assert together([passes, bound]) == (13_925_000.0, True)
    assert overlaps([bound, passes]) == ((1,), (0,))
    on_device = replace(passes, on_top_ns=500_000.0)  # of what the device saves not all counts
    assert overlaps([bound, on_device]) == ((), ())
    threads = finding("host_threads", 13_400_000.0, at_most=True)
    assert together([threads, passes]) == (13_925_000.0, True)
    products = finding("half_precision", 1_000_000.0, at_most=True)  # of the device's time
    assert together([bound, passes, products]) == (14_925_000.0, True)
    assert together([passes, products]) == (4_130_000.0, True)


def test_what_is_left_out_of_the_sum_and_promises_more_is_named() -> None:
    """A candidate that is 99 µs slower than eager stood first, "together 27 µs" above it."""
    breaks = replace(BREAKS, on_top_ns=100_000.0)
    copies = replace(COPIES, on_top_ns=5_000.0)
    slower = finding("slower", 990_000.0)
    assert together_text([slower, breaks, copies]) == (
        "All but “slower” together 105 µs per step: what overlaps counts once."
    )
    assert together_text([breaks, copies]).startswith("Together 105 µs")
    # Of 25.5 and 1.02 µs "together 27.4: what overlaps counts once".
    more = replace(copies, on_top_ns=2 * (copies.at_stake_ns or 0.0))
    assert together_text([breaks, more]).endswith("done together they save more than one by one.")
    assert together_text([slower, BREAKS, COPIES]).startswith("Together 990 µs")


def test_what_the_replay_adds_in_full_overlaps_with_nothing() -> None:
    """breaky: 33 261 ns of graph breaks and 1 062 of a wait "do not add up", to 34 323 together."""
    breaks = replace(finding("graph_breaks", 33_261.0), on_top_ns=33_261.0)
    wait = replace(finding("synchronisations", 1_062.0), on_top_ns=1_062.0)
    assert overlaps([breaks, wait]) == ((), ())
    assert together([breaks, wait]) == (34_323.0, False)
    assert together_text([breaks, wait]) == "Together 34.3 µs per step: they add up."
    in_part = replace(wait, on_top_ns=700.0)
    assert overlaps([breaks, in_part]) == ((1,), (0,))
    assert together_text([breaks, in_part]).endswith(": what overlaps counts once.")
    more = replace(wait, on_top_ns=2_000.0)
    assert overlaps([breaks, more]) == ((), ())
    assert together_text([breaks, more]).endswith("they save more than one by one.")
    # A third adds in part to what was done before it, and nothing of it to what comes after.
    skipped = replace(finding("cudagraphs_skipped", 20_000.0), on_top_ns=9_000.0)
    assert overlaps([breaks, skipped, wait]) == ((1,), (0,), ())
    # What was not replayed is told by what it is about.
    assert overlaps([breaks, finding("synchronisations", 1_062.0)]) == ((1,), (0,))


def test_what_adds_less_than_alone_does_not_add_up() -> None:
    copies = replace(COPIES, on_top_ns=5_000.0)  # the host is the limit next
    breaks = replace(BREAKS, on_top_ns=100_000.0)
    assert overlaps([breaks, copies]) == ((), ())
    assert together_text([breaks, copies]).endswith(": what overlaps counts once.")


def test_a_loss_of_the_whole_step_overlaps_with_all() -> None:
    assert overlaps([finding("slower", 1.0), BREAKS, COPIES]) == ((1, 2), (0,), (0,))


def test_a_row_names_what_it_overlaps_with() -> None:
    rows = finding_rows([LAUNCHES, BREAKS, COPIES])
    assert "“graph_breaks”" in rows[0].overlaps  # a quotation within the sentence
    assert overlap_text([BREAKS]).endswith(": the two do not add up.")
    assert overlap_text([BREAKS, COPIES]).endswith(": they do not add up.")
    assert rows[2].overlaps == ""


def test_a_small_stake_of_which_nothing_comes_on_top_does_not_add_up() -> None:
    """bert: 3.73 ms and 59.8 µs, of which the replay adds nothing, "together 3.73: they add up"."""
    products = replace(finding("tf32", 3_726_000.0), on_top_ns=3_726_000.0)
    groups = replace(finding("slower_groups", 59_800.0), on_top_ns=0.0)
    assert together_text([products, groups]) == (
        "Together 3.73 ms per step: what overlaps counts once."
    )


def test_what_shortens_the_late_ranks_work_overlaps_with_waiting_for_it() -> None:
    """TF32 on every rank saves of the work that the late rank has more, too."""
    products = replace(finding("tf32", 24_000_000.0), on_top_ns=17_000_000.0)
    assert products.prediction is not None
    shortens = replace(products, prediction=replace(products.prediction, late_work_ns=7_000_000.0))
    late = finding("late_rank", 12_000_000.0)
    assert overlaps([shortens, late]) == ((1,), (0,))
    assert together([shortens, late]) == (29_000_000.0, True)
    assert together_text([shortens, late]) == (
        "Together at most 29.0 ms per step: what overlaps counts once."
    )
    elsewhere = replace(products, on_top_ns=24_000_000.0)
    assert overlaps([elsewhere, late]) == ((), ())


def test_of_measured_ones_that_overlap_the_largest_counts() -> None:
    """simplecnn: 405 and 938 µs, "all but the second together 405": the first alone."""
    slower = finding("slower", 404_644.0)
    host = finding("launch_bound", 937_566.0)
    assert together_text([slower, host]) == ("Together 938 µs per step: what overlaps counts once.")
    assert together([slower, host]) == together([host, slower]) == (937_566.0, False)
