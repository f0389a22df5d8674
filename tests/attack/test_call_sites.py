"""Every place that starts a process, found in the syntax trees: the door, or on the list below."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The only module that starts processes for pages, routes and agents.
STARTER = "profiler_core/worker/process.py"
# Who may call what starts them on behalf of a person: see `test_pages_go_through_the_door`.
DOOR = "profiler_core/door/deeds.py"
EXPERIMENTS = "profiler_core/door/experimenting.py"
SERVERS = "profiler_core/door/servers.py"
# Which hands it what submits a job.
SUBMITS = "profiler_core/jobs/service.py"

# Where else a process is started, and why no request reaches it.
ELSEWHERE = {
    "app.py": "`python app.py` becomes `streamlit run app.py`, before there is a server",
    "profiler_core/cli/open.py": "the dashboard, from a shell",
    "profiler_core/operate/workers.py": "the servers themselves, by `serve`, from a shell",
    "profiler_core/store/browser_links.py": "the owner's browser, when the server starts",
    "profiler_core/capture/elsewhere/far_files.py": "ssh, inside `server-profile`",
    "profiler_core/capture/elsewhere/kubernetes.py": "kubectl, inside `capture`",
    "profiler_core/capture/elsewhere/slurm.py": "sbatch and squeue, inside `capture`",
    "profiler_core/capture/interpreter.py": "inside `doctor` and `capture`, which the door starts",
    "profiler_core/capture/process.py": "inside `capture`, which the door starts",
    "profiler_core/jobs/supervisor.py": "forks itself off; the door starts it",
    "profiler_core/jobs/command.py": "inside the supervisor or `capture`, which the door starts",
    "profiler_core/jobs/runner_side.py": "as another user, started by the supervisor",
    "profiler_core/capture/provenance.py": "git, inside `capture` or a user's own script",
    "profiler_core/capture/patched.py": "git apply, inside `capture`, which the door starts",
    "profiler_core/capture/versions.py": "git, inside `capture`, which the door starts",
    "profiler_core/capture/script/launch.py": "`record`, from a shell",
    "profiler_core/ranks/local.py": "copies of itself that read ranks, inside a child or a shell",
}
# Of these no module that the web server or the agents' server imports may be one.
NEVER_IN_A_SERVER = ELSEWHERE.keys() - {
    "app.py",
    "profiler_core/ranks/local.py",
    "profiler_core/store/browser_links.py",
}

MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess", "pexpect", "webbrowser"}
FUNCTIONS = {
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "anyio": {"open_process", "run_process", "to_process"},
    "concurrent.futures": {"ProcessPoolExecutor"},
    "os": {"system", "popen", "startfile", "posix_spawn", "posix_spawnp", "fork", "forkpty"}
    | {f"exec{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")}
    | {f"spawn{end}" for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")},
    "runpy": {"run_path", "run_module"},
}
# Naming these starts nothing: a type, or a word for a standard stream.
HARMLESS = {"subprocess": {"Popen", "PIPE", "DEVNULL", "TimeoutExpired", "CompletedProcess"}}


def starts_in(text: str) -> set[str]:
    """What of a module's text may start a process: names, as they are written."""
    tree = ast.parse(text)
    alias = {name: name for name in (*MODULES, *FUNCTIONS)}
    names: set[str] = set()
    typed = {id(n) for node in ast.walk(tree) for n in _annotations(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for imported in node.names:
                alias[imported.asname or imported.name] = imported.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            root = node.module.split(".")[0]
            for imported in node.names:
                if root in MODULES and imported.name not in HARMLESS.get(root, ()):
                    names.add(f"{node.module}.{imported.name}")
                if imported.name in FUNCTIONS.get(node.module, ()):
                    names.add(f"{node.module}.{imported.name}")
                if f"{node.module}.{imported.name}" in (*FUNCTIONS, *MODULES):
                    alias[imported.asname or imported.name] = f"{node.module}.{imported.name}"
        elif isinstance(node, ast.Constant) and node.value in MODULES:
            names.add(f"{node.value!r}")  # __import__ and import_module take it
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "Popen":  # imported for annotations
                names.add("Popen()")
        elif isinstance(node, ast.Attribute) and id(node) not in typed:
            root = alias.get(ast.unparse(node.value), "")
            if root.split(".")[0] in MODULES and node.attr not in HARMLESS.get(root, {"X"}) - {
                "Popen"
            }:
                names.add(f"{root}.{node.attr}")
            if node.attr in FUNCTIONS.get(root, ()):
                names.add(f"{root}.{node.attr}")
    return names


def _annotations(node: ast.AST) -> list[ast.AST]:
    """All nodes below what annotates a name, an argument or a result."""
    tops = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    return [inner for top in tops if top is not None for inner in ast.walk(top)]


def _modules() -> list[Path]:
    return [
        ROOT / "app.py",
        *sorted((ROOT / "pages").rglob("*.py")),
        *sorted((ROOT / "profiler_core").rglob("*.py")),
    ]


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_processes_are_started_at_the_listed_places_only() -> None:
    places = {_relative(path) for path in _modules() if starts_in(path.read_text("utf-8"))}
    assert places == {STARTER, *ELSEWHERE}


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['x'])",
        "import subprocess as s\ns.Popen(['x'])",
        "from subprocess import run",
        "from subprocess import Popen\nPopen(['x'])",
        "import os\nos.system('x')",
        "import os as o\no.execv('x', [])",
        "from os import posix_spawn",
        "import asyncio\nasyncio.create_subprocess_exec('x')",
        "from anyio import open_process",
        "from concurrent.futures import ProcessPoolExecutor",
        "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()",
        "from concurrent import futures\nfutures.ProcessPoolExecutor()",
        "import multiprocessing\nmultiprocessing.Process()",
        "from multiprocessing import get_context",
        "import importlib\nimportlib.import_module('subprocess').run('x')",
        "__import__('subprocess').run('x')",
        "def f():\n    import pty\n    pty.spawn('x')",
        "import runpy\nrunpy.run_path('x')",
    ],
)
def test_a_planted_start_is_seen(text: str) -> None:
    assert starts_in(text)


def test_a_type_is_no_start() -> None:
    text = (
        "import subprocess\nfrom subprocess import Popen\n"
        "def f(p: subprocess.Popen[bytes], q: 'Popen[str]') -> Popen[bytes]:\n"
        "    try:\n        p.wait(subprocess.DEVNULL)\n"
        "    except subprocess.TimeoutExpired:\n        pass\n"
    )
    assert starts_in(text) == set()


def test_pages_go_through_the_door() -> None:
    """Who draws or answers calls `door.deeds`, which asks who it is; the server's own start is
    nobody's deed. A job is submitted by the door alone."""
    for path in _modules():
        name, text = _relative(path), path.read_text("utf-8")
        tree = ast.parse(text)
        called = {
            node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)
        }
        if name.startswith(("profiler_core/ui/", "profiler_core/agents/", "pages/")):
            starts = called & {"start_module", "run_module", "run_program", "run_detached"}
            allowed = {"start_module"} if name == "profiler_core/ui/startup.py" else set()
            assert starts <= allowed, f"{name} starts a process past the door"
        if "jobs.submit(" in text or "import submit" in text:
            assert name in (DOOR, EXPERIMENTS, SERVERS, SUBMITS), (
                f"{name} submits a job past the door"
            )


def test_the_servers_import_no_module_that_starts_processes_past_the_door() -> None:
    """Followed from app.py, the pages and the agents, imports inside of functions included."""
    reached = _reached([ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))])
    reached |= _reached([ROOT / "profiler_core/agents/serve.py"])
    assert STARTER in reached and DOOR in reached
    assert reached & NEVER_IN_A_SERVER == set()


def _reached(roots: list[Path]) -> set[str]:
    waiting, seen = list(roots), set()
    while waiting:
        path = waiting.pop()
        name = _relative(path)
        if name in seen:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                modules = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            else:
                continue
            for module in modules:
                below = ROOT / Path(*module.split("."))
                files = (below.with_suffix(".py"), below / "__init__.py")
                waiting += [file for file in files if file.is_file()]
    return seen
