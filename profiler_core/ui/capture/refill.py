"""The form filled with what an earlier capture was asked for, so that it can be corrected."""

from typing import Any

import streamlit as st

from profiler_core.capture.recorded_spec import recorded_spec
from profiler_core.capture.spec import BUILT_IN_WORKLOADS, CaptureSpec, VariantSpec
from profiler_core.capture.sweep.parameters import PARAMETERS
from profiler_core.door.interpreters import may_name_any
from profiler_core.jobs.service import Job
from profiler_core.settings import settings
from profiler_core.ui.capture.answers import DYNAMIC_VALUE, Answers, check
from profiler_core.ui.capture.form import CHIPS, FURTHER
from profiler_core.ui.capture.option_field import OPTIONS
from profiler_core.ui.capture.progress import capture_of
from profiler_core.ui.capture.sweep_field import OPTION
from profiler_core.ui.jobs.told import may_see
from profiler_core.ui.sign_in.asker import asker

_TO_CORRECT = ("failed", "interrupted", "cancelled")
_DRAWN = "fs_c_kind"  # the state has it once the form was drawn in this session
# Fields whose widgets are no `option_field`.
_OF_THEIR_OWN = {"workload", "variants", "training", "python", "sweep"}


def fill_form(job_id: str) -> None:
    """Before the form is drawn: fill it with a capture that did not end well.

    It does so by itself where nobody has seen the form yet, as behind a link; else it offers it.
    """
    job = capture_of(job_id)
    spec = _asked(job)
    if spec is None:
        return
    is_new = _DRAWN not in st.session_state
    # Drawn the first time too: later it would push the form down under the hand.
    is_wanted = st.button("Fill the form with it", key=f"fs_fill_{job_id}", type="tertiary")
    if is_new or is_wanted:
        st.session_state.update(form_state(spec))


def _asked(job: Job) -> CaptureSpec | None:
    """What the capture was asked for; None where there is nothing to correct, or to be seen."""
    if job.state not in _TO_CORRECT or job.spec.capture is None or not may_see(job):
        return None
    return recorded_spec(job.spec.capture)


def form_state(spec: CaptureSpec) -> dict[str, Any]:
    """The state of each widget of the form that asks for this very capture, by its key."""
    state: dict[str, Any] = {
        f"fs_c_{name}": _typed(name, getattr(spec, name))
        for name, entry in OPTIONS.items()
        if entry.about.on_page and name not in _OF_THEIR_OWN
    }
    state |= _workload(spec) | _variants(spec) | _sweep(spec)
    state["fs_c_step"] = "Training" if spec.training else "Inference"
    visitor = asker()
    may_type = visitor is None or may_name_any(visitor)
    if may_type:
        state["fs_c_python"] = spec.python or ""
    elif spec.python in (settings().interpreters or ()):
        state["fs_c_python"] = spec.python
    return state


def _typed(name: str, value: Any) -> Any:
    """A value as the widget of its option holds it."""
    entry = OPTIONS[name]
    if entry.kind in ("switch", "whole number", "number"):
        return value
    if entry.kind == "choices":
        return list(value)
    if entry.kind == "texts":
        return "\n".join(map(entry.about.write, value))
    return entry.about.write(value) if value else ""


def _workload(spec: CaptureSpec) -> dict[str, Any]:
    if spec.is_user_code:
        return {"fs_c_kind": "My own code", "fs_c_own": spec.workload}
    if spec.workload in BUILT_IN_WORKLOADS:
        return {"fs_c_kind": "Built-in", "fs_c_built_in": spec.workload}
    return {"fs_c_kind": "torchvision", "fs_c_torchvision": spec.workload}


def _variants(spec: CaptureSpec) -> dict[str, Any]:
    """As chips and modifiers where these say the same, else as they are typed."""
    chips = _as_chips(spec)
    is_chips = check(chips, looks_at_files=False)
    if is_chips.spec is None or is_chips.spec.variants != spec.variants:
        chips = Answers(
            bases=(), further_variants=",".join(variant.label for variant in spec.variants)
        )
    return {
        "fs_c_bases": [base for base in CHIPS if base in chips.bases],
        "fs_c_further": [base for base in FURTHER if base in chips.bases],
        "fs_c_variants": chips.further_variants,
        "fs_c_precision": chips.precision,
        "fs_c_channels_last": chips.channels_last,
        "fs_c_dynamic": chips.dynamic,
        "fs_c_fullgraph": chips.fullgraph,
    }


def _as_chips(spec: CaptureSpec) -> Answers:
    """The bases of its variants with the modifiers of the one that may have them all."""
    offered = (*CHIPS, *FURTHER)
    bases = {variant.label.partition("+")[0] for variant in spec.variants}
    modified: VariantSpec = next((v for v in spec.variants if v.compile), spec.variants[0])
    return Answers(
        bases=tuple(base for base in offered if base in bases),
        precision=modified.precision,
        channels_last=modified.channels_last,
        dynamic=next(name for name, value in DYNAMIC_VALUE.items() if value is modified.dynamic),
        fullgraph=modified.fullgraph,
        compile_target=_typed("compile_target", spec.compile_target),
    )


def _sweep(spec: CaptureSpec) -> dict[str, Any]:
    if spec.sweep is None:
        return {"fs_c_sweep": "", "fs_c_sweep_values": ""}
    name, values = spec.sweep.parameter, ",".join(spec.sweep.values)
    if name in PARAMETERS:
        return {"fs_c_sweep": name, "fs_c_sweep_values": values}
    return {"fs_c_sweep": OPTION, "fs_c_sweep_values": f"{name.removeprefix(OPTION)}={values}"}
