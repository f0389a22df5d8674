"""Lines that patterns take the square or the cube of, in logs and generated code of strangers.

Logs below 8 MB are read by the dashboard's own process, and a pattern at work lets no other thread
run: one upload held up everybody for hours.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.fragments import _pointers, pointer_roles
from profiler_core.analysis.ledger.modules import _own_module
from profiler_core.capture.child.compile_errors import diagnose
from profiler_core.ingest.inductor.code import read_buffers, read_calls, read_kernels
from profiler_core.ingest.inductor.graphs import (
    placeholder_names,
    placeholder_shapes,
    read_graph,
    written_parts,
)
from profiler_core.ingest.kineto.wide_rows import _identifier
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.markup import breakable
from profiler_core.model.inductor import GraphNode
from profiler_core.operate.secret_words import without_secrets

HEAD = "V1121 08:26:53.{:06} 6217 torch/_dynamo/guards.py:1] [0/1] "
N, BODY = 60_000, 8000
MOST_CPU_S = 10.0  # each takes some ms, and took minutes to years

RECORDS = {
    "frame": ("[__graph_breaks] Graph break in user code at a.py:1",
              '  File "a", line 1, in f' + " " * BODY + "\x1d" + "x"),
    "place of a recompilation": ("[__recompiles] Recompiling function " + "1 in :1" * 1100 + "x",),
    "tuple": ("[__recompiles] ('Recompiling function f", *["x in a:1'" * 700] * 20),
    "comment": ("[__recompiles] Recompiling function f in a.py:3",
                "    - 0/0: x" + " # :1 in" * 1000 + "(", "    - 0/0: x" + " " * BODY),
    "hint": ("[__recompiles] Recompiling function f in a.py:3", "    - 0/0: " + "(HINT: )" * 990),
    "limit": ("torch._dynamo hit config.recompile_limit (8)", "   function: '" + "' (:1)" * 1300),
    "sizes": ("[__cudagraphs] CUDAGraph supports dynamic shapes" + "1" * BODY,),
    "suppressed": ("WON'T CONVERT " + "f g" * 2600,),
    "node of a partition": ("[__cudagraphs] " + "op" * 30_000,),
    "skipped frame": ("[__graph_breaks] Graph break in user code at a.py:1",
                      *["frame skipped: a (" * 440] * 30),
    "stack": ("WON'T CONVERT f a.py line 1", "torch._dynamo.exc.E: x", *[" " * BODY] * 60),
}  # fmt: skip

CODE = {
    "source": "# Source Nodes: [" * 30_000,
    "handle": "#" + " " * N + "# [Provenance debug handles] " * 3000,
    "triton": "a.run(" * 30_000,
    "library": "aten.mm(" * 30_000,
    "cpp": "cpp_a(" * 30_000,
    "empty": "_strided " + "a" * N,
    "empty of no end": "a = empty_strided((" * 10_000,
    "random": "a = rand_strided((1), (1), " * 8000,
}
GRAPHS = {
    "file": "    # File: " + "a:1 in b" * 20_000 + ", x",
    "value": "    a = f(" + "a" * N + ")",
    "type": '    a: "f' + "3" * N + '" = f(b)',
    "placeholder": 'a: "f' + "3" * N + '"',
    "signature": "def forward(" * 20_000,
    "written parts": "  a[0] = b;  setitem = a\n" * 20_000 + "  a[" + "] = " * N,
}
MODULES = {
    "definition": "a = async_compile.triton(\n" * 20_000,
    "fragment": "# %a : Tensor"
    + '""Place' * 10_000
    + "\nk = async_compile.triton('k', '''\n''')\n",
}
KERNELS = {
    "definition": "def a(\n" * 20_000,
    "store": "def triton_a(x):\n    tl.store(" + " " * N,
    "load": "tl.load(" + " " * N,
    "signature": "'signature': {" * 10_000,
    "types": "async_compile.cpp_pybinding([" * 10_000,
    "kernel": "async_compile.cpp_pybinding(['a*'], kernel(" + "kernel(" * 20_000,
    "atomic": "async_compile.cpp_pybinding(['a*'], kernel()" + "atomic_add" * 20_000,
}


@contextmanager
def within_cpu_time() -> Iterator[None]:
    """A pattern looks for signals while it is at work, and only then."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"more than {MOST_CPU_S} s of a core")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", RECORDS)
def test_a_log(tmp_path: Path, name: str) -> None:
    first, *more = RECORDS[name]
    artifact = first[: first.find("] ") + 2] if first.startswith("[__") else ""
    lines = []
    for record in range(20):
        head = HEAD.format(record)
        lines += [head + first, *(head + artifact + line for line in more)]
    (tmp_path / "torch_logs.txt").write_text("\n".join(lines) + "\n")
    with within_cpu_time():
        read_torch_logs([tmp_path / "torch_logs.txt"])


@pytest.mark.parametrize("name", CODE)
def test_generated_code(name: str) -> None:
    with within_cpu_time():
        code = "def call(args):\n    " + CODE[name] + "\n"
        read_calls(code)
        read_buffers(code)


@pytest.mark.parametrize("name", MODULES)
def test_a_generated_module(name: str) -> None:
    with within_cpu_time():
        read_kernels(MODULES[name])


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph(name: str) -> None:
    read: tuple[Callable[[str], object], ...] = (
        read_graph, placeholder_names, placeholder_shapes, written_parts,
    )  # fmt: skip
    with within_cpu_time():
        for reader in read:
            reader(GRAPHS[name])


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel(name: str) -> None:
    with within_cpu_time():
        pointer_roles(KERNELS[name])
        _pointers(KERNELS[name])


def test_kernels_are_no_longer_than_their_module() -> None:
    """Each began anew within the text of the one before: 100 kB of code were 200 MB of kernels."""
    code = "a{} = async_compile.triton(\n"
    code = "".join(code.format(n) for n in range(4000)) + "\n''')\n"
    kernels = read_kernels(code)
    assert sum(len(kernel.source) for kernel in kernels.values()) <= len(code)


def test_a_parameter_an_identifier_a_name_and_an_error() -> None:
    node = GraphNode(name="a", target="f", arguments=("l_" + "_modules_a_parameters_a" * 3000,))
    with within_cpu_time():
        _own_module(node, {})
        _identifier("1" * N + "x")
        breakable("a" + "." * 10_000 + " ")
        diagnose("E", "\n" * 100_000)


@pytest.mark.parametrize("text", ["-eyJ" * N, "-eyJ" * N + ".", "eyJ-" * N + "x.y", "&a[" * N])
def test_a_line_of_the_servers_own_log(text: str) -> None:
    """The runs in the address of a page stand in each line that it logs as JSON."""
    with within_cpu_time():
        without_secrets(text)


@pytest.mark.parametrize("before", ["", "token-", "a.", '"', "=", "-"])
def test_a_token_is_hidden_wherever_it_stands(before: str) -> None:
    assert without_secrets(f"{before}eyJhbGc.eyJzdWI.sig") == f"{before}***"
    assert without_secrets("honeyJar.py eyJhbGc.") == "honeyJar.py eyJhbGc."
