"""What is known of the kernels that graphs replay, in sentences."""

from collections.abc import Sequence

from profiler_core.analysis.graph_replays.join import NotJoined, ReplayJoin
from profiler_core.units import format_count, format_duration, format_share_of

_NAMES_ALONE = (
    "their names tell their category, unless a run beside this one shows the operators of the same "
    "kernels"
)

# vLLM pull request 37524 and TraceLens issue 973; SGLang pull request 24370.
_HOW_TO_CAPTURE = {
    "vLLM": "start vLLM (0.26 on) with --profiler-config.capture_torch_profiler True, and with "
    "VLLM_USE_V2_MODEL_RUNNER=0 where its V2 runner writes none",
    "SGLang": "start SGLang with --enable-profile-cuda-graph, and with "
    "SGLANG_GRAPH_BATCH_CAPTURE=1 from 0.5.13 on",
}


def replay_notes(join: ReplayJoin, server: str | None = None) -> list[str]:
    """What a reader has to know of replayed kernels; empty where nothing is replayed.

    Args:
        join: of the trace.
        server: that wrote it, by its annotations: a key of what is known here.
    """
    if not join.replayed_ns:
        return []
    if not join.joined_ns:
        return [_without(join, server)]
    share = format_share_of(join.joined_ns, join.replayed_ns)
    graphs = f"{format_count(join.n_graphs)} graph{'' if join.n_graphs == 1 else 's'}"
    notes = [
        f"{share} of the time of kernels that graphs replay "
        f"({format_duration(join.replayed_ns)}) have their operator, shapes and module from the "
        f"capture of {graphs}."
    ]
    if join.ambiguous_ns:
        notes.append(
            f"{format_duration(join.ambiguous_ns)} of it replay one of several equal graphs, and "
            "the trace does not show which: operator and shapes hold, the layer may be another one."
        )
    for reason, ns in join.missing_ns.items():
        notes.append(f"{format_duration(ns)} of replayed kernels have no operator: {_WHY[reason]}.")
    return notes


def graph_capture_clause(labels: Sequence[str]) -> str:
    """Why a run that recorded the capture of graphs is compared with none."""
    return (
        f"the trace of {' and of '.join(labels)} recorded how graphs were captured, not a run. Put "
        "it into a folder capture_traces/ beside the trace that replays them, and open that folder."
    )


_WHY = {
    NotJoined.NO_CAPTURE: "no capture of a graph is at hand",
    NotJoined.OTHER_GRAPH: "none of the captured graphs has their kernels",
    NotJoined.NO_NODE: "the capture of their graph lacks them",
}


def _without(join: ReplayJoin, server: str | None) -> str:
    if NotJoined.OTHER_GRAPH in join.missing_ns:
        return (
            "Kernels that CUDA graphs replay have no operator: none of the "
            f"{format_count(join.n_graphs)} captured graphs at hand has these kernels, so "
            f"{_NAMES_ALONE}."
        )
    remedy = ""
    if server is None:
        remedy = (
            " fusionscope capture, and Recorder(graphs=True) in a script, keep beside the trace "
            "what was called while the graphs were captured."
        )
    elif server in _HOW_TO_CAPTURE:
        remedy = (
            f" To see operators and modules, {_HOW_TO_CAPTURE[server]}, and open the folder with "
            "capture_traces/ in it."
        )
    return f"Kernels that CUDA graphs replay have no operator: {_NAMES_ALONE}.{remedy}"
