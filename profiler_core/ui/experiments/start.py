"""The buttons that start an experiment, and the form of the page."""

from collections.abc import Collection, Iterable

import msgspec
import streamlit as st

from profiler_core.analysis.findings import Finding
from profiler_core.capture.built_in import BUILT_IN_WORKLOADS
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.telemetry.sources import find_gpus
from profiler_core.door.asker import why_no_capture
from profiler_core.door.experimenting import Wish, start_experiment
from profiler_core.errors import FusionscopeError
from profiler_core.experiments.predicted import levers_for
from profiler_core.experiments.request import DEFAULT_BUDGET, spec_of_run, start_of_run
from profiler_core.model.run import RunRecord
from profiler_core.store.captured_here import is_of_own_code, spec_asked_for
from profiler_core.ui.links import go_to
from profiler_core.ui.page import section
from profiler_core.ui.problem_card import escape_markdown, problem_card
from profiler_core.ui.sign_in.asker import asker

PAGE = "experiments"


def may_try(record: RunRecord, source: Collection[str]) -> bool:
    """Whether settings of this run's workload can be tried here, by this person."""
    return why_no_capture(asker()) is None and spec_to_try(record, source) is not None


def spec_to_try(record: RunRecord, source: Collection[str]) -> CaptureSpec | None:
    """The capture that a run is of, where a click may run it.

    The run.json of what was not captured here comes from anybody, who would choose the code, the
    interpreter and its folder: of such a run a built-in workload alone is taken.
    """
    asked = spec_asked_for(record, source)
    spec = spec_of_run(record if asked is None else msgspec.structs.replace(record, spec=asked))
    if spec is None or asked is not None:
        return spec
    if spec.workload not in BUILT_IN_WORKLOADS:
        return None
    return CaptureSpec(workload=spec.workload, training=spec.training, batch_size=spec.batch_size)


def start_to_try(record: RunRecord, source: Collection[str]) -> str:
    """The variant that the experiment starts from: the run's own, as far as a click may run it.

    The words of a variant may be any option of Inductor's, and some of these name programs.
    """
    return start_of_run(record) if is_of_own_code(record, source) else "default"


def try_button(
    label: str, key: str, record: RunRecord, source: Collection[str], finding: Finding | None = None
) -> None:
    """A button that starts an experiment on the workload of a run, and leads to it.

    Args:
        label: of the button.
        key: of the widget.
        record: of the run.
        source: keys of the runs that are looked at.
        finding: what it is about; None: all levers.
    """
    left_alone = _is_left_alone(record)
    levers = levers_for(finding, is_left_alone=left_alone) if finding is not None else ()
    if finding is not None and not levers:
        return
    elsewhere = _other_device(record, source)
    label = f"{label} on {elsewhere}" if elsewhere else label
    if not st.button(label, key=key, type="tertiary" if finding is not None else "secondary"):
        return
    spec = spec_to_try(record, source)
    if spec is None:
        return
    wish = Wish(
        DEFAULT_BUDGET,
        levers,
        start_to_try(record, source),
        finding.key if finding is not None else "",
        tuple(source),
    )
    _start(spec, wish)


def why_some_are_not_tried(record: RunRecord, findings: Iterable[Finding]) -> str:
    """Why findings that call for settings have no button, a sentence; "": each has."""
    if not _is_left_alone(record):
        return ""
    if not any(levers_for(f) and not levers_for(f, is_left_alone=True) for f in findings):
        return ""
    return (
        "Some settings cannot be tried here: only the script compiles, and its calls of "
        "torch.compile are given no other arguments."
    )


def _is_left_alone(record: RunRecord) -> bool:
    compiled = None if record.measurement is None else record.measurement.compiled
    return compiled is not None and compiled.is_left_alone


def _other_device(record: RunRecord, source: Collection[str]) -> str:
    """What its settings are tried on where that is no GPU of the run's kind; "" where it is."""
    spec, gpu = spec_to_try(record, source), record.environment.get("gpu")
    if not gpu or spec is None or spec.device == "cpu":
        return ""
    here = _gpus()
    if not here:
        return "this CPU" if spec.device == "auto" else ""
    return "" if {gpu, None} & {*here} else f"this {escape_markdown(str(here[0]))}"


@st.cache_resource(ttl=60, show_spinner=False)
def _gpus() -> tuple[str | None, ...]:
    """The product names of this machine's GPUs; None: the driver does not name it."""
    return tuple(device.name for device in find_gpus().devices)


def experiment_form() -> None:
    """A workload and a budget."""
    section("New experiment")
    refusal = why_no_capture(asker())
    workload = st.text_input(
        "Workload", key="fs_try_workload", placeholder="customcnn, or path/to/file.py:function"
    )
    budget = st.text_input("Budget", DEFAULT_BUDGET, key="fs_try_budget")
    levers = st.text_input(
        "Levers", key="fs_try_levers", placeholder="all that fit, or mode,precision,channels_last"
    )
    if st.button("Try settings", type="primary", disabled=bool(refusal or not workload.strip())):
        try:
            spec = CaptureSpec(workload=workload.strip())
        except FusionscopeError as error:
            problem_card(error.problem, error.remedy)
            return
        names = tuple(name.strip() for name in levers.split(",") if name.strip())
        _start(spec, Wish(budget, names))
    if refusal:
        st.caption(refusal)


def _start(spec: CaptureSpec, wish: Wish) -> None:
    try:
        experiment_id = start_experiment(asker(), spec, wish)
    except FusionscopeError as error:
        problem_card(error.problem, error.remedy)
        return
    go_to(PAGE, {"experiment": experiment_id})
