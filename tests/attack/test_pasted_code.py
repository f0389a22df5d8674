"""Code that people and agents take into their own scripts says names of modules, and runs none.

The names are those of a model that somebody else captured; dots in them are modules in modules.
"""

import ast
import shlex
from pathlib import Path

import msgspec
import pytest

from profiler_core.errors import BadInput
from profiler_core.experiments.pasted import code_of, pasted
from profiler_core.model.run import Compiled
from profiler_core.store import history
from profiler_core.store.history import database
from tests.analysis.experiment.worlds import World, asked, choices_of, searched, with_few_rounds
from tests.store.history.samples import redated_copy

CALL = "__import__('os').system('id')"
HEADS = [f"{{{CALL}}}", f'"+{CALL}+f"', f'h"\n{CALL}\n#', "h{0}", 'h"', "h\\", "h{", "h\u2028x"]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("argument", ["modules", "regions"])
def test_a_name_is_a_text(head: str, n: int, argument: str) -> None:
    names = [f"{head}.{number}" for number in range(n)]
    setting = (("regions", "regions=nested"),) if argument == "regions" else ()
    where = "modules" if argument == "modules" else "whole"
    compiled = Compiled(where=where, **{argument: tuple(names)})
    code = code_of(setting, on_gpu=True, trains=False, compiled=compiled)
    (loop,) = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.For)]
    assert list(ast.literal_eval(loop.iter)) == names
    assert "__import__" not in {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("name", ["build\n__import__('os')", "b u", "", "a.b", "build"])
def test_the_name_of_a_function_is_a_name_or_is_not_said(name: str) -> None:
    compiled = Compiled(where="as-is", is_handed=True)
    code = code_of((), on_gpu=True, trains=False, compiled=compiled, function=name)
    assert "# your function compiles by its argument: build(compile=compile_as_tried)" in code
    assert "__import__" not in code


def test_plain_names_stay_short() -> None:
    compiled = Compiled(where="modules", modules=("model.h_1.0", "model.h_1.1"))
    code = code_of((), on_gpu=True, trains=False, compiled=compiled)
    assert 'for path in (f"model.h_1.{n}" for n in range(2)):' in code


@pytest.mark.parametrize("end_of_line", ["\n", "\r", "\r\n", "\x0c"])
def test_a_command_in_a_comment_stays_one(end_of_line: str) -> None:
    """The words of an experiment are another person's, and its code leads on by a command."""
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    words = ("net.py:build", f"--option=x=1{end_of_line}{CALL}{end_of_line}y")
    code = pasted(msgspec.structs.replace(with_few_rounds(experiment), words=words))
    assert "fusionscope try net.py:build" in code
    assert "__import__" in code
    assert ast.parse(code).body == []


def test_a_command_that_is_advised_has_an_id_as_one_word(home: Path) -> None:
    try:
        history.record(redated_copy(home, "c1;$(id)"))
        run_id = "c1;$(id).default"
        history.delete_run(run_id)
        with pytest.raises(BadInput) as told:
            history.run(run_id)
    finally:
        database.close_all()
    assert told.value.remedy.endswith(f" {shlex.quote(run_id)}.")
