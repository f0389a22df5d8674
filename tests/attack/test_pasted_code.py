"""Code that people and agents take into their own scripts says names of modules, and runs none.

The names are those of a model that somebody else captured; dots in them are modules in modules.
"""

import ast
import shlex
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.experiments.pasted import code_of
from profiler_core.store import history
from profiler_core.store.history import database
from tests.store.history.samples import redated_copy

CALL = "__import__('os').system('id')"
HEADS = [f"{{{CALL}}}", f'"+{CALL}+f"', f'h"\n{CALL}\n#', "h{0}", 'h"', "h\\", "h{", "h\u2028x"]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("argument", ["modules", "regions"])
def test_a_name_is_a_text(head: str, n: int, argument: str) -> None:
    names = [f"{head}.{number}" for number in range(n)]
    setting = (("regions", "regions=nested"),) if argument == "regions" else ()
    code = code_of(setting, on_gpu=True, trains=False, **{argument: names})
    (loop,) = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.For)]
    assert list(ast.literal_eval(loop.iter)) == names
    assert "__import__" not in {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}


def test_plain_names_stay_short() -> None:
    code = code_of((), on_gpu=True, trains=False, modules=["model.h_1.0", "model.h_1.1"])
    assert 'for path in (f"model.h_1.{n}" for n in range(2)):' in code


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
