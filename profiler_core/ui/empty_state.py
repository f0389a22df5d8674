"""What a page shows while there is no run, or where the chosen ones cannot answer its question."""

from collections.abc import Iterable, Mapping
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from profiler_core.store import catalogue
from profiler_core.ui.choice import Choice, query_of
from profiler_core.ui.links import Query, page_link, plain_label

_MOST_LINKS = 4

_FIRST_STEPS = """
<h1 class=fs-verdict>Is torch.compile worth it for your model?</h1>
<p class=fs-sub>This page answers that from measurements. There are none on this machine yet.</p>
<ol>
<li>Capture eager against compiled, here or on a command line:<br>
<code>python -m profiler_core capture resnet50 --variants eager,default,reduce-overhead</code></li>
<li>Or bring traces of torch.profiler that you have already: drop two files on the page
Runs and uploads.</li>
</ol>"""
_NO_MEMORY = """<h1 class=fs-verdict>None of the chosen runs says how much memory it held</h1>"""
_HOW_TO_REMEMBER = """
<p class=fs-sub>A capture on a GPU keeps it by itself. Record a trace of your own with</p>
<p><code>torch.profiler.profile(profile_memory=True, record_shapes=True)</code></p>
<p class=fs-sub>and for segments, pools and source lines keep a snapshot of a few steps:</p>
<p><code>torch.cuda.memory._record_memory_history(stacks="python")</code><br>
<code>torch.cuda.memory._dump_snapshot("memory_snapshot.pickle")</code></p>"""
_NO_LOG = """<h1 class=fs-verdict>None of the chosen runs has a log of the compiler</h1>
<p class=fs-sub>A capture keeps them by itself. For a run from elsewhere, start it with</p>"""
_EMPTY_LOG = """<h1 class=fs-verdict>The logs of the chosen runs say nothing about compiling</h1>
<p class=fs-sub>They hold no graph break, no recompile and no compilation: nothing was compiled, or
the run was not told to write them down. Start it with</p>"""
_HOW_TO_LOG = """
<p><code>TORCH_LOGS="graph_breaks,recompiles,perf_hints,cudagraphs" TORCH_TRACE=logs/
python train.py 2&gt; torch_logs.txt</code></p>
<p class=fs-sub>and drop torch_logs.txt and the files in logs/ on the page Runs and uploads, with or
without a trace.</p>"""
_NO_SAMPLES = """
<p class=fs-sub>This page shows clocks, power, energy and temperature of the GPU and
the CPU time of the process, and whether they were the same for all runs. A capture samples them by
itself; an nvml.jsonl can be dropped on the page Runs and uploads, alone or with a trace.</p>"""
_NO_RANKS = """
<p class=fs-sub>This page shows who waits for whom among the GPUs of a distributed job,
how much communication hides behind compute, and what compiling changed for all of them.</p><ol>
<li>Capture a distributed job, eager against compiled, on this machine's GPUs:<br>
<code>python -m profiler_core capture ddp --ranks 2 --variants eager,default</code></li>
<li>Or open one trace of each rank of your own job, below.</li></ol>"""


def nothing_yet() -> None:
    """No run at all: what would be here, and the two ways to get it."""
    _show(_FIRST_STEPS, {"capture": "Start a capture", "runs": "Upload traces"})


def no_memory(choice: Choice, reasons: Iterable[str]) -> None:
    """No run says how much memory it held: why, and how to get it."""
    html = f"{_NO_MEMORY}{_sentences(reasons)}{_HOW_TO_REMEMBER}"
    _show(html, {"runs": "Upload a snapshot", "capture": "Start a capture"}, choice.query)


def no_compiling(choice: Choice) -> None:
    """No run has a log of the compiler, or only empty ones: how to get logs."""
    runs = [run.files for run in choice.comparison.runs]
    has_log = any(run.torch_logs or run.torch_trace for run in runs)
    html = f"{_EMPTY_LOG if has_log else _NO_LOG}{_HOW_TO_LOG}"
    _show(html, {"runs": "Upload logs", "capture": "Start a capture"}, choice.query)


def no_samples(choice: Choice, reasons: Iterable[str]) -> None:
    """No run was sampled: why, and how to get samples."""
    title = "<h1 class=fs-verdict>Nothing was sampled while these runs ran</h1>"
    links = {"capture": "Start a capture", "runs": "Upload samples"}
    _show(f"{title}{_sentences(reasons)}{_NO_SAMPLES}", links, choice.query)


def no_ranks(choice: Choice, reasons: Iterable[str]) -> None:
    """No run has several ranks: why, the ways to get some, and jobs that are here."""
    title = "<h1 class=fs-verdict>These runs have one rank each</h1>"
    html = f"{title}{_sentences(reasons)}{_NO_RANKS}"
    with _show(html, {"capture": "Start a capture"}, choice.query):
        for group in catalogue.jobs(_MOST_LINKS):
            keys = tuple(entry.key for entry in group.entries)
            title = plain_label(group.title)
            page_link("ranks", f"Look at {title} ({group.origin})", query_of(keys))


def _show(html: str, links: Mapping[str, str], query: Query | None = None) -> DeltaGenerator:
    """The text, and below it a row of links, to which more can be added."""
    st.html(f"<div class=fs-empty>{html}</div>")
    row = st.container(horizontal=True, gap="medium")
    with row:
        for page, label in links.items():
            page_link(page, label, query)
    return row


def _sentences(reasons: Iterable[str]) -> str:
    return "".join(f"<p class=fs-sub>{escape(reason)}</p>" for reason in reasons)
