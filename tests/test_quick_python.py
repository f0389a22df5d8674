"""The interpreter that forks does what a new one does."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from profiler_core.door import deeds
from profiler_core.worker.process import module_words
from tests.quick_python import compiler, environment, torch_variables, variables

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "tests" / "fixtures" / "captures" / "breaky.eager"


def asked(python, *words, cwd=ROOT, **more):
    return subprocess.run(
        [python, *map(str, words)], cwd=cwd, env={**os.environ, **more}, capture_output=True
    )


@pytest.mark.parametrize(
    "words",
    [("summary", CAPTURE, "--json"), ("summary", "no-such-run"), ("no-such-verb",)],
    ids=["an answer", "an error", "no verb"],
)
def test_a_verb_answers_as_in_a_new_interpreter(words, quick_python, home_with_columns):
    forked, new = (
        asked(python, "-m", "profiler_core", *words) for python in (quick_python, sys.executable)
    )
    assert (forked.returncode, forked.stdout) == (new.returncode, new.stdout)
    assert forked.stderr == new.stderr


def test_what_the_door_starts_is_forked_as_what_pages_start(quick_modules, quick_python):
    """It has imported `module_words` by its name."""
    for words in (deeds.module_words, module_words):
        assert words("profiler_core.store.history")[0] == str(quick_python)


def test_a_script_that_inherits_nothing_gets_the_compiler_of_the_session():
    """Over ssh; without it torch was imported again for each script."""
    assert environment().get("CXX") == os.environ.get("CXX")


def test_another_checkout_gets_an_interpreter_of_its_own(quick_python, tmp_path):
    (tmp_path / "profiler_core").mkdir()
    (tmp_path / "profiler_core" / "__main__.py").write_text("print('another')")
    assert asked(quick_python, "-m", "profiler_core", cwd=tmp_path).stdout == b"another\n"
    path = {"PYTHONPATH": str(tmp_path)}
    elsewhere = tmp_path.parent
    assert asked(quick_python, "-m", "profiler_core", cwd=elsewhere, **path).stdout == b"another\n"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="forks on Linux only")
def test_a_dashboard_hears_that_it_is_to_end(quick_python, tmp_path):
    process = subprocess.Popen(
        [quick_python, "-m", "streamlit", "run", ROOT / "app.py",
         "--server.headless=true", "--server.port=0"],
        cwd=tmp_path,
        env={**os.environ, **variables(quick_python), "FUSIONSCOPE_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    for line in process.stdout:
        if b"http://" in line:
            break
    announcement = tmp_path / "home" / "server.json"
    assert announcement.is_file()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == -signal.SIGTERM

    assert not announcement.exists()


def test_what_torch_sets_in_a_test_no_capture_inherits(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OF_NOBODY", "before")
    with torch_variables.kept():
        os.environ["TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"] = "1"
        os.environ["OMP_NUM_THREADS"] = "1"
        monkeypatch.setenv("OF_NOBODY", "after")
    assert "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE" not in os.environ
    assert (os.environ["OMP_NUM_THREADS"], os.environ["OF_NOBODY"]) == ("2", "after")


SOURCE = '#include <cstdio>\nextern "C" int answer() { return %d; }\n'


def built(folder, number, *options, source=SOURCE):
    """What the session's compiler makes of a source in this folder: the answer, and how it went."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.cpp").write_text(source % number)
    library = folder / "kernel.so"
    words = [folder / "kernel.cpp", "-shared", "-fPIC", *options, "-o", library]
    subprocess.run([os.environ["CXX"], *words], check=True)
    return ctypes.CDLL(str(library)).answer(), library.stat().st_mode & 0o111


@pytest.fixture
def own_compiler(tmp_path, monkeypatch):
    """A compiler with nothing kept, which writes down what the real one is asked for."""
    asked_for = tmp_path / "asked.txt"
    real = tmp_path / "bin" / "g++"
    real.parent.mkdir()
    real.write_text(f'#!/bin/sh\necho "$@" >> {asked_for}\nexec {shutil.which("g++")} "$@"\n')
    real.chmod(0o755)
    monkeypatch.setenv("PATH", str(real.parent), prepend=os.pathsep)
    monkeypatch.setenv("CXX", str(compiler(tmp_path / "kept")))
    return lambda: len(asked_for.read_text().splitlines())


@pytest.mark.skipif(shutil.which("g++") is None, reason="without g++ nothing is compiled")
def test_a_library_is_made_once_and_anew_for_another_source_or_option(own_compiler, tmp_path):
    assert built(tmp_path / "first", 1) == (1, 0o111)
    assert built(tmp_path / "second", 1) == (1, 0o111)
    assert own_compiler() == 1
    assert built(tmp_path / "third", 2)[0] == 2
    assert built(tmp_path / "fourth", 2, "-O1")[0] == 2
    assert own_compiler() == 3


@pytest.mark.skipif(shutil.which("g++") is None, reason="without g++ nothing is compiled")
def test_headers_are_compiled_for_the_second_library_with_the_same_options(own_compiler, tmp_path):
    prefix = tmp_path / "include" / "torch" / "csrc" / "inductor" / "cpp_prefix.h"
    prefix.parent.mkdir(parents=True)
    prefix.write_text("#pragma once\n#include <cstdint>\n")
    (prefix.parents[3] / "Python.h").write_text("")
    (prefix.parent / "first.h").write_text("#pragma once\nstatic int64_t of_the_prefix = 40;\n")
    text = (
        "\n#include <torch/csrc/inductor/cpp_prefix.h>\n#include <torch/csrc/inductor/first.h>\n"
        'extern "C" int64_t answer() { return of_the_prefix + %d; }\n'
    )
    include, asked_of_real = f"-I{prefix.parents[3]}", []
    for number, option in ((1, "-O1"), (2, "-O1"), (3, "-O1"), (4, "-O0")):
        before = own_compiler() if number > 1 else 0
        answer, _ = built(tmp_path / str(number), number, include, option, source=text)
        assert answer == 40 + number
        asked_of_real.append(own_compiler() - before)
    assert asked_of_real == [1, 2, 1, 1]  # twice: the header, and the second library


@pytest.mark.skipif(shutil.which("g++") is None, reason="without g++ nothing is compiled")
def test_headers_that_cannot_be_compiled_are_read_anew(own_compiler, tmp_path):
    prefix = tmp_path / "include" / "torch" / "csrc" / "inductor" / "cpp_prefix.h"
    prefix.parent.mkdir(parents=True)
    prefix.write_text("#define OF_THE_PREFIX 40\n")  # and there is no Python.h
    text = (
        "#include <torch/csrc/inductor/cpp_prefix.h>\n"
        'extern "C" int answer() { return OF_THE_PREFIX + %d; }\n'
    )
    include = ("-nostdinc", f"-I{prefix.parents[3]}")
    for number, most in ((1, 1), (2, 3), (3, 4)):
        assert built(tmp_path / str(number), number, *include, source=text)[0] == 40 + number
        assert own_compiler() == most


@pytest.mark.skipif(shutil.which("g++") is None, reason="without g++ nothing is compiled")
def test_the_compiler_fails_where_the_real_one_does(own_compiler, tmp_path):
    (tmp_path / "broken.cpp").write_text("broken")
    words = ["broken.cpp", "-shared", "-o", "broken.so"]
    for times in (1, 2):
        failed = asked(os.environ["CXX"], *words, cwd=tmp_path)
        assert failed.returncode == 1
        assert b"broken" in failed.stderr
        assert own_compiler() == times
    assert b"g++" in asked(os.environ["CXX"], "--version").stdout
