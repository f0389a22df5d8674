"""The capture form: what to run and how to measure it, with a sentence beside a wrong field."""

from html import escape
from typing import Any

import streamlit as st

from profiler_core.capture.built_in import TRAINING_WORKLOADS
from profiler_core.capture.spec import (
    BASES,
    BUILT_IN_WORKLOADS,
    COMMON_BACKENDS,
    MODES,
    PRECISIONS,
)
from profiler_core.capture.variant_spec import MODIFIERS
from profiler_core.door.asker import may_look_at_files
from profiler_core.door.interpreters import may_name_any
from profiler_core.errors import BadInput
from profiler_core.settings import FILE, settings
from profiler_core.ui.capture.answers import DYNAMIC, KINDS, Answers, Checked, check
from profiler_core.ui.capture.backend_fields import backend_fields
from profiler_core.ui.capture.machine import Machine
from profiler_core.ui.capture.measuring import choose_measuring
from profiler_core.ui.capture.option_field import OPTIONS, option_field
from profiler_core.ui.capture.sweep_field import sweep_field
from profiler_core.ui.capture.where import chosen_host, host_field
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
CHIPS = ("eager", *MODES)
FURTHER = (*(base for base in BASES if base not in CHIPS), *COMMON_BACKENDS)

_PLAIN_FIELDS = ("compile_target", "directory", "name", "options")

# What each word does.
_BASE_HELP = (
    " ".join(f"**{base}** {what}." for base, what in BASES.items() if base in CHIPS)
    + " The first one chosen is the baseline."
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
        host_field()
    python_problem = st.empty()
    workload_slot = st.container()
    with workload_slot:
        workload = _workload(kind or KINDS[0], machine)
    workload_problem = st.empty()

    bases = st.pills(
        "Variants",
        CHIPS,
        selection_mode="multi",
        default=["eager", "default"],
        key="fs_c_bases",
        help=_BASE_HELP,
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
    chosen = tuple(base for base in (*CHIPS, *further) if base in {*bases, *further})
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
        ),
        looks_at_files=may_look_at_files(asker()),
    )
    if machine is not None:
        checked = _with_environment(checked, machine, kind or KINDS[0], workload)
    for name, slot in (
        ("python", python_problem),
        ("workload", workload_problem),
        ("bases", bases_problem),
        ("compile_target", options_problem),
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
    visitor = asker()
    if visitor is None or may_name_any(visitor):
        return str(option_field("python"))
    if chosen_host():
        return None  # the one that the owner wrote beside the machine
    declared = OPTIONS["python"]
    return st.selectbox(
        declared.label,
        settings().interpreters or (),
        index=None,
        key="fs_c_python",
        placeholder="this server's own",
        help=f"{declared.sentence} Whoever runs the server lists more of them as interpreters in "
        f"{FILE}.",
        persist_state="session",
    )


def _with_environment(checked: Checked, machine: Machine, kind: str, workload: str) -> Checked:
    """The same, with what the chosen environment cannot do."""
    reasons = {"python": machine.unusable}
    if kind == "torchvision":
        reasons["workload"] = machine.no_torchvision
    elif kind == "Built-in":
        reasons["workload"] = machine.missing_for(workload)
    problems = {name: problem for name, problem in reasons.items() if problem is not None}
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
    torchvision = machine.facts.torchvision_found if machine else None
    if torchvision is None or not torchvision.models:
        return _TORCHVISION
    usual = tuple(name for name in _TORCHVISION if name in torchvision.models)
    return usual + tuple(name for name in torchvision.models if name not in usual)


def _modifiers() -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = {
            "precision": st.selectbox(options=PRECISIONS, width=150, **_modifier("precision")),
            "dynamic": st.segmented_control(
                options=DYNAMIC, default=DYNAMIC[0], required=True, **_modifier("dynamic")
            )
            or DYNAMIC[0],
        }
        with st.container(horizontal=True, width="content", gap="small"):
            for name in ("channels_last", "fullgraph"):
                chosen[name] = st.checkbox(**_modifier(name))
    return chosen


def _modifier(name: str) -> dict[str, Any]:
    """What each widget of a modifier has."""
    modifier = MODIFIERS[name]
    scope = "For all compiled variants" if modifier.only_compiled else "For all variants"
    return {
        "label": modifier.label,
        "key": f"fs_c_{name}",
        "help": f"{scope}: {modifier.help}.",
        "persist_state": "session",
    }


def _step(workload: str) -> dict[str, Any]:
    always_trains = workload in TRAINING_WORKLOADS
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        mode = st.segmented_control(
            OPTIONS["training"].label,
            ("Inference", "Training"),
            default="Inference",
            required=True,
            disabled=always_trains,
            key="fs_c_step",
            help=OPTIONS["training"].sentence
            + (" This workload is a training loop." if always_trains else ""),
            persist_state="session",
        )
        batch_size = option_field("batch_size", width=130)
        shapes = option_field("shapes", width=215)
    return {
        "training": mode == "Training",
        "batch_size": batch_size,
        "shapes": shapes,
    }


def _more(machine: Machine | None) -> tuple[dict[str, Any], dict[str, Any]]:
    left, right = st.columns(2, gap="large")
    devices = machine.devices if machine else ()
    asked_device = st.session_state.get("fs_c_device") or "auto"
    with left:
        more: dict[str, Any] = {
            "further_bases": st.multiselect(
                "Further backends",
                FURTHER,
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
                OPTIONS["device"].label,
                # One that a capture was asked for elsewhere, or before, stays what it was.
                tuple(dict.fromkeys(("auto", "cpu", *devices, asked_device))),
                key="fs_c_device",
                help=OPTIONS["device"].sentence,
                persist_state="session",
            ),
            **{name: option_field(name) for name in _PLAIN_FIELDS},
        }
    with right:
        measuring = choose_measuring(machine)
    return more, measuring


def _say(problem: BadInput) -> None:
    text = f"{problem.problem} {problem.remedy}"
    st.html(f"<p class=fs-note style='color:var(--fs-worse)' role=alert>{escape(text)}</p>")
