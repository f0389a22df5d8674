"""The contracts of pyproject.toml: the code keeps them, and each catches a planted violation.

ARCHITECTURE.md shows them in words. All violations are planted at once, into a copy of the code.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import grimp
import pytest
from radon.complexity import cc_visit
from radon.visitors import Class, Function

from profiler_core.capture.elsewhere import bundle

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "profiler_core", ROOT / "fusionscope"


@dataclass(frozen=True)
class Violation:
    """Source text that breaks one contract, the file it is added to, and what is then reported."""

    contract: str
    file: str
    source: str
    reported: str


def _imports(contract: str, file: str, name: str, imported: str | None = None) -> Violation:
    """A violation that consists in one absolute import."""
    module = file.removesuffix(".py").replace("/", ".")
    return Violation(contract, file, f"import {name}\n", f"{module} -> {imported or name} (l.")


def _uses(contract: str, file: str, source: str, name: str) -> Violation:
    module = file.removesuffix(".py").replace("/", ".")
    return Violation(contract, file, source, f"{module} uses {name} (l.")


_STAGES = "Stages import in one direction"
_COMPUTE = "Analysis and figures compute"
_PURE = "Analysis and figures use no file, clock, network or chance"
_JSON = "Pages parse no JSON and read no columns"
_TORCH = "torch stays in the child, the Recorder, the pytest plugin and the Python API"
_PLOTLY = "Plotly stays with the figures"
_STREAMLIT = "Streamlit and its server stay with the pages"
_CHILD = "The child needs nothing of ours"
_RECORDER = "The Recorder needs nothing but torch"
_TRAINERS = "Trainers' callbacks need nothing but the Recorder"

VIOLATIONS = (
    Violation(
        _STAGES,
        "profiler_core/ingest/planted_relative.py",
        "from ..figures.theme import LIGHT\n",
        "profiler_core.ingest.planted_relative -> profiler_core.figures.theme (l.1)",
    ),
    Violation(
        _STAGES,
        "profiler_core/model/planted_relative.py",
        "def f():\n    from .. import analysis\n",
        "profiler_core.model.planted_relative -> profiler_core.analysis (l.2)",
    ),
    Violation(
        _STAGES,
        "profiler_core/units.py",
        "from profiler_core.ui.menu import menu\n",
        "profiler_core.units -> profiler_core.ui.menu (l.",
    ),
    Violation(_STAGES, "profiler_core/unlisted.py", "", "profiler_core.unlisted"),
    _imports(_STAGES, "profiler_core/cli/planted_page.py", "profiler_core.ui.style"),
    _imports(_STAGES, "profiler_core/analysis/planted_figure.py", "profiler_core.figures.theme"),
    _imports(
        "Reading runs and making them are apart",
        "profiler_core/store/planted_capture.py",
        "profiler_core.capture.spec",
    ),
    _imports(
        "Figures are drawn for pages and reports",
        "profiler_core/cli/planted_figure.py",
        "profiler_core.figures.theme",
    ),
    _imports(
        "Pages stand at the end", "profiler_core/agents/planted_page.py", "profiler_core.ui.style"
    ),
    _imports(
        "The Python API stands on all others",
        "profiler_core/cli/planted_api.py",
        "fusionscope.opening",
    ),
    _imports(
        "Kineto is read in one place", "pages/kernels.py", "profiler_core.ingest.kineto.reader"
    ),
    _imports(
        "Kineto is read in one place",
        "profiler_core/ui/kernels/planted_kineto.py",
        "profiler_core.ingest.kineto.reader",
    ),
    _imports(_TORCH, "profiler_core/capture/planted_torch.py", "torch.nn", "torch"),
    _imports(_PLOTLY, "pages/memory.py", "plotly.graph_objects", "plotly"),
    _imports("Markup is made of templates", "profiler_core/ui/planted_template.py", "jinja2"),
    _imports("Markup is made of templates", "profiler_core/report/planted_markup.py", "markupsafe"),
    _imports(_STREAMLIT, "profiler_core/report/planted_streamlit.py", "streamlit"),
    _imports(_STREAMLIT, "profiler_core/store/planted_starlette.py", "starlette"),
    _imports("pytest stays with its plugin", "profiler_core/session/planted_pytest.py", "pytest"),
    _imports(
        "Metrics stay in one package",
        "profiler_core/store/planted_metrics.py",
        "prometheus_client",
    ),
    _imports(
        "pandas stays with HTA and the tables of pages",
        "profiler_core/analysis/planted_pandas.py",
        "pandas",
    ),
    _imports(
        "Databases stay with the history", "profiler_core/ui/planted_database.py", "sqlalchemy"
    ),
    _imports(
        "Remote files stay with the history and the ranks",
        "profiler_core/ranks/planted_remote.py",
        "fsspec",
    ),
    _imports(
        "DuckDB and Arrow stay with the readers",
        "profiler_core/timeline/planted_arrow.py",
        "pyarrow",
    ),
    _imports("Dask stays in one module", "profiler_core/ranks/planted_dask.py", "distributed"),
    _imports("HTA stays behind its adapter", "profiler_core/ranks/planted_hta.py", "hta"),
    _imports(
        "The protocol of agents stays in one module", "profiler_core/agents/planted_mcp.py", "mcp"
    ),
    _imports(_CHILD, "profiler_core/capture/child/planted_ours.py", "profiler_core.errors"),
    _imports(_CHILD, "profiler_core/capture/child/planted_numpy.py", "numpy"),
    Violation(
        _CHILD,
        "profiler_core/capture/child/planted_relative.py",
        "from ..spec import Spec\n",
        "profiler_core.capture.child.planted_relative -> profiler_core.capture.spec (l.1)",
    ),
    _imports(_RECORDER, "profiler_core/record/planted_polars.py", "polars"),
    Violation(
        _RECORDER,  # what the Recorder imports counts too
        "profiler_core/capture/run_writer.py",
        "import msgspec\n",
        "profiler_core.capture.run_writer -> msgspec (l.",
    ),
    _imports(_TRAINERS, "fusionscope/integrations/planted_polars.py", "polars"),
    _imports(_COMPUTE, "profiler_core/analysis/planted_time.py", "time"),
    _imports(_COMPUTE, "profiler_core/figures/planted_net.py", "urllib.request", "urllib"),
    _imports(_COMPUTE, "profiler_core/analysis/planted_process.py", "subprocess"),
    _imports(_COMPUTE, "profiler_core/analysis/planted_random.py", "random"),
    _imports(_COMPUTE, "profiler_core/figures/planted_os.py", "os.path", "os"),
    _imports(_COMPUTE, "profiler_core/analysis/planted_settings.py", "profiler_core.settings"),
    _uses(
        _PURE, "profiler_core/figures/planted_file.py", "X = open('a').read()\n", "builtins.open"
    ),
    _uses(
        _PURE,
        "profiler_core/figures/planted_path.py",
        "from pathlib import Path as P\nX = P('a').read_text()\n",
        ".read_text",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_exists.py",
        "def f(run):\n    return run.folder.exists()\n",
        ".exists",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_parquet.py",
        "import polars as pl\nX = pl.scan_parquet\n",
        "polars.scan_parquet",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_clock.py",
        "from datetime import datetime as D\nX = D.now()\n",
        "datetime.datetime.now",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_today.py",
        "import datetime\nX = datetime.date.today()\n",
        "datetime.date.today",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_seed.py",
        "import numpy as np\nX = np.random.default_rng()\n",
        "numpy.random.default_rng",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_chance.py",
        "from numpy import random\nX = random.rand(3)\n",
        "numpy.random.rand",
    ),
    _uses(
        _PURE,
        "profiler_core/model/planted_load.py",
        "from numpy import load\nX = load('a')\n",
        "numpy.load",
    ),
    _uses(
        "Our sentences are not read again",
        "profiler_core/analysis/wording/planted_split.py",
        "def f(sentence):\n    return sentence.split(': ')[0]\n",
        ".split",
    ),
    _uses(
        "Our sentences are not read again",
        "profiler_core/ui/overview/headline.py",
        "import re\nX = re.sub('a', 'b', 'c')\n",
        "re.sub",
    ),
    _uses(_JSON, "pages/fusion.py", "import json\nX = json.loads('1')\n", "json.loads"),
    _uses(
        _JSON,
        "profiler_core/ui/memory/planted_json.py",
        "from msgspec.json import decode\nX = decode(b'1')\n",
        "msgspec.json.decode",
    ),
    _uses(
        _JSON,
        "profiler_core/ui/memory/planted_pandas.py",
        "import pandas as pd\nX = pd.read_json('a')\n",
        "pandas.read_json",
    ),
    _uses(
        _PURE,
        "profiler_core/model/planted_deserialize.py",
        "import polars as pl\nX = pl.DataFrame.deserialize('a')\n",
        "polars.DataFrame.deserialize",
    ),
    _uses(
        _PURE,
        "profiler_core/figures/planted_show.py",
        "def f(figure):\n    figure.show()\n",
        ".show",
    ),
    _uses(
        _PURE,
        "profiler_core/figures/planted_plot.py",
        "from plotly.offline import plot\nX = plot({})\n",
        "plotly.offline.plot",
    ),
    _uses(
        _PURE,
        "profiler_core/analysis/planted_log.py",
        "import logging\nX = logging.FileHandler('a')\n",
        "logging.FileHandler",
    ),
    _uses(
        "No sentence decides",
        "profiler_core/cli/planted_problem.py",
        "def f(error):\n    return 'shape' in error.problem\n",
        "in error.problem",
    ),
    _uses(
        "No sentence decides",
        "profiler_core/ui/planted_pattern.py",
        "import re\ndef f(note):\n    return re.search('shape', note.text)\n",
        "in note.text",
    ),
    _uses(
        "No sentence decides",
        "profiler_core/ui/planted_variable.py",
        "def f(note):\n    words = note.text\n    return words.startswith('A shape')\n",
        "in note.text",
    ),
    _uses(
        "Steps are divided by in analysis",
        "pages/overview.py",
        "def planted(summary):\n    return summary.window_ns / summary.n_steps\n",
        "/ summary.n_steps",
    ),
    _uses(
        "Steps are divided by in analysis",
        "profiler_core/report/planted_division.py",
        "def f(time_ns, row):\n    time_ns //= max(1, row.n_steps[0])\n",
        "/ max(1, row.n_steps[0])",
    ),
    _uses(
        "Steps are divided by in analysis",
        "profiler_core/agents/planted_variable.py",
        "def f(summary):\n    n = summary.n_steps\n    return summary.window_ns / n\n",
        "/ summary.n_steps",
    ),
    _uses(
        "Pages divide no time by another",
        "profiler_core/ui/planted_ratio.py",
        "def f(before, after):\n    return after.step_ns / before.step_ns\n",
        "/ before.step_ns",
    ),
    _uses(
        "Imports are visible",
        "profiler_core/cli/planted_resolved.py",
        "import pkgutil\nX = pkgutil.resolve_name('torch:nn')\n",
        "pkgutil.resolve_name",
    ),
    _uses(
        "Imports are visible",
        "profiler_core/store/planted_hidden.py",
        "from importlib import import_module\nX = import_module('torch')\n",
        "importlib.import_module",
    ),
)


def _lint(root: Path) -> tuple[int, dict[str, str]]:
    """The exit status of `lint-imports` on a tree, and its report by broken contract."""
    lint_imports = Path(sys.executable).with_name("lint-imports")
    answer = subprocess.run(
        [str(lint_imports), "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "COLUMNS": "400", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert "\nContracts: " in answer.stdout, answer.stdout + answer.stderr
    broken = answer.stdout.partition("\nBroken contracts\n")[2]
    parts = re.split(r"^(.+)\n-+$", broken, flags=re.MULTILINE)
    return answer.returncode, dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def reported(tmp_path_factory) -> dict[str, str]:
    """What is reported of the code with every violation of the table added to it."""
    root = tmp_path_factory.mktemp("planted")
    for name in ("fusionscope", "profiler_core", "pages", "tests/contracts"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests" / "__init__.py").touch()
    shutil.copyfile(ROOT / "pyproject.toml", root / "pyproject.toml")
    for violation in VIOLATIONS:
        with (root / violation.file).open("a", encoding="utf-8") as file:
            file.write(violation.source)
    status, broken = _lint(root)
    assert status == 1
    return broken


def test_the_code_keeps_its_contracts():
    assert _lint(ROOT) == (0, {})


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda v: v.file)
def test_a_planted_violation_is_reported(reported, violation):
    assert violation.reported in reported[violation.contract]


def test_every_contract_has_a_planted_violation(reported):
    contracts = re.findall(r'^name = "(.+?)"', _contracts(), flags=re.MULTILINE)
    assert {violation.contract for violation in VIOLATIONS} == set(contracts) == set(reported)


def test_the_launcher_imports_only_what_starts_the_server():
    """app.py is in no package, so that no contract sees it.

    It alone joins the agents' protocol to the routes: pages stand below it, and import none of it.
    """
    imported = set()
    for node in ast.walk(ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(".".join((node.module or "").split(".")[:2]))
    assert imported == {
        "os", "sys", "streamlit", "profiler_core.agents", "profiler_core.resources",
        "profiler_core.ui",
    }  # fmt: skip


def test_what_is_sent_to_another_machine_holds_all_that_a_capture_imports():
    """There is nothing else of ours there, and a part that lacks shows only over a real ssh."""
    graph = grimp.build_graph("profiler_core")
    imported = graph.find_upstream_modules("profiler_core.capture.elsewhere.there")
    parts = ("capture", *bundle._OUR_PARTS)
    sent = {f"profiler_core.{Path(part).stem}" for part in parts}
    lacking = {name for name in imported if ".".join(name.split(".")[:2]) not in sent}
    assert lacking <= {"profiler_core"}  # its __init__.py, which is sent


def test_every_folder_is_a_package():
    """One without an __init__.py works in the checkout, and is missing from the wheel."""
    folders = {path.parent for package in PACKAGES for path in package.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_modules_stay_small():
    """Of 400 lines at the most: a longer one is split by question."""
    paths = [path for folder in (*PACKAGES, ROOT / "pages") for path in folder.rglob("*.py")]
    paths.append(ROOT / "app.py")
    n_lines = {str(path): path.read_text(encoding="utf-8").count("\n") for path in paths}
    assert {path: n for path, n in n_lines.items() if n > 400} == {}


def test_no_function_has_more_than_twenty_branches():
    """Ruff's count leaves out conditions, conditional expressions and comprehensions."""
    paths = [path for folder in (*PACKAGES, ROOT / "pages") for path in folder.rglob("*.py")]
    paths.append(ROOT / "app.py")
    branches = {
        f"{path.relative_to(ROOT)}: {function.name}": function.complexity
        for path in paths
        for function in _functions(cc_visit(path.read_text(encoding="utf-8")))
    }
    assert {name: n for name, n in branches.items() if n > 20} == {}


def test_branches_are_counted_in_conditions_too():
    source = "class A:\n    def f(self, a, b):\n        return [x for x in a if x or b and x > 1]\n"
    (function,) = _functions(cc_visit(source))
    assert (function.name, function.complexity) == ("f", 5)


def _functions(blocks: list[Class | Function]) -> list[Function]:
    """Functions and methods; a method stands in the list beside its class already."""
    return [block for block in blocks if isinstance(block, Function)]


def _contracts() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return text[text.index("[tool.importlinter]") :]
