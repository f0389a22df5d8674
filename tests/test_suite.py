"""What the order of the suite and the start of its workers rest on."""

import os
import subprocess
import sys
from types import SimpleNamespace

import polars
import pytest

from tests.browser import chromium
from tests.conftest import COLLECTED, LONGEST, TESTS
from tests.lazily import Lazily
from tests.scheduling import BrowsersTogether


@pytest.mark.parametrize("name", LONGEST)
def test_a_file_that_is_ordered_exists(name):
    assert (TESTS / name).is_file()


def test_a_late_import_waits_for_its_first_use_when_pytest_looks_for_fixtures():
    late = Lazily("no_such_module")
    for asked in ("__bases__", "__test__", "__wrapped__", "_mock_name"):
        assert getattr(late, asked, None) is None
    with pytest.raises(ModuleNotFoundError):
        late.anything  # noqa: B018


def test_no_worker_imports_torch_to_collect(request):
    """Each of four spent four seconds of a core on it, and few of them run a test with torch."""
    assert not {"torch", "transformers", "openvino"} & request.config.stash[COLLECTED]


def test_a_librarys_threads_do_not_wait_for_each_other_by_spinning():
    assert polars.thread_pool_size() == int(os.environ["POLARS_MAX_THREADS"])
    assert "OMP_NUM_THREADS" in os.environ


def test_neither_a_worker_nor_its_children_compile_modules_that_another_has_compiled():
    assert not sys.dont_write_bytecode
    asked = [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]
    assert subprocess.check_output(asked, text=True).strip() == "False"


class _Node:
    """A worker, as far as the scheduler asks it."""

    shutting_down = False
    gateway = SimpleNamespace(id="gw")

    def __init__(self) -> None:
        self.ran: list[int] = []

    def send_runtest_some(self, indices):
        self.ran += indices

    def shutdown(self):
        self.shutting_down = True


def _worked_off(files, n_workers):
    """The files that each worker gets, whose tests all take the same time."""
    tests = [f"{file}::test_{number}" for file in files for number in range(4)]
    config = SimpleNamespace(option=SimpleNamespace(loadscopereorder=False))
    config.getvalue = {"tx": ["popen"] * n_workers}.get
    scheduler = BrowsersTogether(config)
    nodes = [_Node() for _ in range(n_workers)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, tests)
    scheduler.schedule()
    for turn in range(len(tests)):
        for node in nodes:
            if turn < len(node.ran):
                scheduler.mark_test_complete(node, node.ran[turn])
    assert sorted(index for node in nodes for index in node.ran) == list(range(len(tests)))
    return [list(dict.fromkeys(tests[i].partition("::")[0] for i in node.ran)) for node in nodes]


BROWSER = [f"tests/browser/test_{name}.py" for name in "abcdefg"]
OTHER = [f"tests/capture/test_{name}.py" for name in "abcdefg"]


def test_two_workers_of_three_take_the_browser_files_in_their_order():
    mixed = [file for pair in zip(BROWSER, OTHER, strict=True) for file in pair]
    first, second, third = _worked_off(mixed, 3)
    assert sorted(first[:3] + second[:3]) == BROWSER[:6]
    assert third[:3] == OTHER[:3]
    assert not set(third) & set(BROWSER)
    for files in (first, second):  # a browser starts once
        kinds = [file in BROWSER for file in files]
        assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("files", [BROWSER, OTHER, BROWSER + OTHER[:1]])
def test_no_worker_is_idle_where_only_files_of_the_other_kind_are_left(files, n_workers):
    assert all(_worked_off(files, n_workers))


def test_one_worker_takes_the_files_that_import_torch():
    with_torch = [f"tests/capture/test_{name}.py" for name in ("loops", "numerics", "examples")]
    with_torch.append("tests/testing/test_timing.py")
    mixed = [file for pair in zip(OTHER, BROWSER, strict=True) for file in pair]
    workers = _worked_off(mixed + with_torch, 4)
    assert [file for file in workers[2] if file in with_torch] == workers[2][:4] == with_torch
    assert all(not set(files) & set(with_torch) for files in (*workers[:2], workers[3]))


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Puts a program of this name, which says these words, into the only folder of programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)

    def put(name, says=""):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
        return str(program)

    return put


def test_browser_tests_take_the_shell_before_the_whole_browser(programs, monkeypatch):
    whole = programs("chromium")
    assert chromium.find() == whole
    shell = programs("chromium-headless-shell")
    assert chromium.find() == shell
    monkeypatch.setenv("CHROMIUM", whole)
    assert chromium.find() == whole


def test_the_shell_is_asked_for_in_the_version_of_the_browser_that_is_there(programs, monkeypatch):
    """Another version would take the browser with it; where none can be had, the browser does."""
    asked = []
    monkeypatch.setattr(chromium, "install_package", lambda package, _called: asked.append(package))
    whole = programs("chromium")
    assert chromium.install() == whole  # no dpkg
    programs("dpkg-query", "156.0-1")
    assert chromium.install() == whole
    shell = programs("chromium-headless-shell")
    assert chromium.install() == shell
    assert asked == ["chromium-headless-shell=156.0-1"]
