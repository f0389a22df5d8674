"""The capture form: what to run and how to measure it, with a sentence beside a wrong field."""

from html import escape
from typing import Any

import streamlit as st

from profiler_core.capture.spec import (
    BUILT_IN_WORKLOADS,
    COMMON_BACKENDS,
    MODES,
    PRECISIONS,
    TRAINING_WORKLOADS,
)
from profiler_core.door.interpreters import may_name_any
from profiler_core.errors import BadInput
from profiler_core.settings import FILE, settings
from profiler_core.ui.capture.answers import DYNAMIC, KINDS, Answers, Checked, check
from profiler_core.ui.capture.backend_fields import backend_fields
from profiler_core.ui.capture.machine import Machine
from profiler_core.ui.capture.measuring import choose_measuring
from profiler_core.ui.capture.sweep_field import sweep_field
from profiler_core.ui.sign_in.asker import asker

# Offered, not a limit: any name that torchvision knows can be typed.
_TORCHVISION = (
    "mobilenet_v3_large",
    "mobilenet_v2",
    "efficientnet_b0",
    "resnet18",
    "convnext_tiny",
    "vit_b_16",
    "swin_t",
    "densenet121",
    "regnet_y_400mf",
)
_CHIPS = ("eager", *MODES)
_FURTHER = ("torchscript", *COMMON_BACKENDS)

# What each word does, in the terms of torch.compile's documentation.
_MODE_HELP = (
    "**eager** runs without torch.compile. **default** balances compile time and speed. "
    "**reduce-overhead** adds CUDA graphs, for models whose launches cost more than their "
    "kernels. **max-autotune** also tries several kernels for each matrix product and keeps the "
    "fastest, which compiles for minutes; **-no-cudagraphs** does that without CUDA graphs. "
    "The first one chosen is the baseline."
)


def capture_form(machine: Machine | None) -> Checked:
    """Draw the form and check what it says now.

    Args:
        machine: what it can capture; None: not known yet.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = st.segmented_control(
            "Workload",
            KINDS,
            default=KINDS[0],
            required=True,
            key="fs_c_kind",
            persist_state="session",
        )
        python = _python()
    python_problem = st.empty()
    workload_slot = st.container()
    with workload_slot:
        workload = _workload(kind or KINDS[0], machine)
    workload_problem = st.empty()

    bases = st.pills(
        "Variants",
        _CHIPS,
        selection_mode="multi",
        default=["eager", "default"],
        key="fs_c_bases",
        help=_MODE_HELP,
        wrap=True,
        persist_state="session",
    )
    bases_problem = st.empty()
    modifiers = _modifiers()
    step = _step(workload)
    shapes_problem = st.empty()
    swept = sweep_field()
    sweep_problem = st.empty()
    with st.expander("More: backends, inputs, measurement"):
        more, measuring = _more(machine)
        options_problem = st.empty()
        measuring_problem = st.empty()

    further = more.pop("further_bases")
    chosen = tuple(base for base in (*_CHIPS, *further) if base in {*bases, *further})
    checked = check(
        Answers(
            kind=kind or KINDS[0],
            workload=workload,
            python=python or "",
            bases=chosen,
            measuring=tuple(measuring.items()),
            **modifiers,
            **step,
            **swept,
            **more,
        )
    )
    if machine is not None:
        checked = _with_environment(checked, machine, kind or KINDS[0], workload)
    for name, slot in (
        ("python", python_problem),
        ("workload", workload_problem),
        ("bases", bases_problem),
        ("shapes", shapes_problem),
        ("sweep", sweep_problem),
        ("options", options_problem),
        ("measuring", measuring_problem),
    ):
        if name in checked.problems:
            with slot:
                _say(checked.problems[name])
    return checked


def _python() -> str | None:
    """A path on one's own machine; elsewhere one of those that the server's owner listed."""
    label, key = "Python environment", "fs_c_python"
    who = asker()
    if who is not None and not may_name_any(who):
        return st.selectbox(
            label,
            settings().interpreters or (),
            index=None,
            key=key,
            placeholder="this server's own",
            help="The environment that holds torch and the model. Whoever runs the server lists "
            f"more of them as interpreters in {FILE}.",
            persist_state="session",
        )
    return st.text_input(
        label,
        key=key,
        placeholder="this server's own, or path/to/venv",
        help="The environment that holds torch and the model: its folder, or its interpreter. "
        "What it offers is said on the right.",
        persist_state="session",
    )


def _with_environment(checked: Checked, machine: Machine, kind: str, workload: str) -> Checked:
    """The same, with what the chosen environment cannot do."""
    found = {"python": machine.unusable}
    if kind == "torchvision":
        found["workload"] = machine.no_torchvision
    elif kind == "Built-in":
        found["workload"] = machine.missing_for(workload)
    problems = {name: problem for name, problem in found.items() if problem is not None}
    return Checked(None, {**checked.problems, **problems}) if problems else checked


def _workload(kind: str, machine: Machine | None) -> str:
    if kind == "Built-in":
        return str(
            st.selectbox(
                "Model",
                list(BUILT_IN_WORKLOADS),
                format_func=lambda name: f"{name} · {BUILT_IN_WORKLOADS[name]}",
                key="fs_c_built_in",
                label_visibility="collapsed",
                persist_state="session",
            )
        )
    if kind == "torchvision":
        if machine is not None and machine.no_torchvision:
            return ""  # nothing to choose from; the sentence below says why
        return str(
            st.selectbox(
                "Model",
                _torchvision_models(machine),
                key="fs_c_torchvision",
                accept_new_options=True,
                label_visibility="collapsed",
                placeholder="Choose a model, or type its name",
                persist_state="session",
            )
            or ""
        )
    return str(
        st.text_input(
            "File and function",
            key="fs_c_own",
            placeholder="path/to/file.py:function",
            label_visibility="collapsed",
            help="The function returns a model and its example inputs, or a step to call.",
            persist_state="session",
        )
        or ""
    )


def _torchvision_models(machine: Machine | None) -> tuple[str, ...]:
    """The usual ones first, then whatever else the environment's torchvision has."""
    found = machine.facts.torchvision_found if machine else None
    if found is None or not found.models:
        return _TORCHVISION
    usual = tuple(name for name in _TORCHVISION if name in found.models)
    return usual + tuple(name for name in found.models if name not in usual)


def _modifiers() -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        precision = st.selectbox(
            "Precision",
            PRECISIONS,
            key="fs_c_precision",
            width=150,
            help="For all variants. tf32 lets matrix products round to 10 bits; autocast runs "
            "them in half precision and keeps the weights; bf16 and fp16 convert the weights.",
            persist_state="session",
        )
        dynamic = st.segmented_control(
            "Dynamic shapes",
            DYNAMIC,
            default=DYNAMIC[0],
            required=True,
            key="fs_c_dynamic",
            help="torch.compile's dynamic=None, True, False: whether a size is compiled in.",
            persist_state="session",
        )
        with st.container(horizontal=True, width="content", gap="small"):
            channels_last = st.checkbox(
                "channels_last",
                key="fs_c_channels_last",
                help="Memory format for convolutions; for all variants.",
                persist_state="session",
            )
            fullgraph = st.checkbox(
                "fullgraph",
                key="fs_c_fullgraph",
                help="A graph break becomes an error.",
                persist_state="session",
            )
    return {
        "precision": precision,
        "dynamic": dynamic or DYNAMIC[0],
        "channels_last": channels_last,
        "fullgraph": fullgraph,
    }


def _step(workload: str) -> dict[str, Any]:
    always_trains = workload in TRAINING_WORKLOADS
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        what = st.segmented_control(
            "One step is",
            ("Inference", "Training"),
            default="Inference",
            required=True,
            disabled=always_trains,
            key="fs_c_step",
            help="Training: forward, loss, backward and optimizer."
            + (" This workload is a training loop." if always_trains else ""),
            persist_state="session",
        )
        batch_size = st.number_input(
            "Batch size",
            min_value=1,
            value=None,
            placeholder="default",
            key="fs_c_batch",
            width=130,
            persist_state="session",
        )
        shapes = st.text_input(
            "Input shapes, cycled",
            placeholder="8x3x32x32, 16x3x32x32",
            key="fs_c_shapes",
            width=215,
            help="Whole shapes, batch included: each step takes the next one.",
            persist_state="session",
        )
    return {
        "training": what == "Training",
        "batch_size": int(batch_size) if batch_size is not None else None,
        "shapes": shapes or "",
    }


def _more(machine: Machine | None) -> tuple[dict[str, Any], dict[str, Any]]:
    left, right = st.columns(2, gap="large")
    devices = machine.devices if machine else ()
    with left:
        more: dict[str, Any] = {
            "further_bases": st.multiselect(
                "Further backends",
                _FURTHER,
                key="fs_c_further",
                placeholder="torchscript, cudagraphs, openvino, …",
                help="One that is not installed fails with the sentence that says what to install.",
                persist_state="session",
            ),
            "backend_options": backend_fields(tuple(st.session_state.get("fs_c_further") or ())),
            "further_variants": st.text_input(
                "Further variants",
                key="fs_c_variants",
                placeholder="default+bf16-autocast+channels_last",
                help="Comma-separated, written as on the command line.",
                persist_state="session",
            ),
            "device": st.selectbox(
                "Device", ("auto", "cpu", *devices), key="fs_c_device", persist_state="session"
            ),
            "directory": st.text_input(
                "Working directory",
                key="fs_c_directory",
                placeholder="the folder of your project",
                help="Of your own code: where the files lie that it names by relative paths.",
                persist_state="session",
            ),
            "name": st.text_input(
                "Name of the comparison",
                key="fs_c_name",
                placeholder="the workload's",
                persist_state="session",
            ),
            "options": st.text_area(
                "Arguments of the workload's function",
                key="fs_c_options",
                placeholder="layers=2",
                height=68,
                help="One KEY=VALUE a line.",
                persist_state="session",
            ),
        }
    with right:
        measuring = choose_measuring(machine)
    return more, measuring


def _say(problem: BadInput) -> None:
    text = f"{problem.problem} {problem.remedy}"
    st.html(f"<p class=fs-note style='color:var(--fs-worse)' role=alert>{escape(text)}</p>")
