"""Writes a workload's file: the definitions of a live model, and its state beside them."""

import io
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

from fusionscope.handing.source import MAIN, REMEDY, Definitions, is_local
from profiler_core.errors import BadInput

_STATE = "state.pt"

_HEAD = '''"""Written by fusionscope.capture: the definitions of what it was given."""
import pickle as _pickle
import sys as _sys
from functools import reduce as _reduce
from pathlib import Path as _Path
from types import SimpleNamespace as _Namespace

for _folder in {path!r}:
    if _folder not in _sys.path:
        _sys.path.append(_folder)
'''

_TAIL = """

class _Unpickler(_pickle.Unpickler):
    def find_class(self, module, name):
        if module != {main!r}:
            return super().find_class(module, name)
        return _reduce(getattr, name.split(".")[1:], globals()[name.split(".")[0]])


def build(device="cpu"):
    import torch

    state = torch.load(
        _Path(__file__).with_name({state!r}), map_location=device, weights_only=False,
        pickle_module=_Namespace(Unpickler=_Unpickler, load=None, __name__="handed"),
    )
    globals().update(state["values"])
    return {returned}
"""


def write_workload(
    folder: Path,
    model: Any,
    inputs: Any,
    loss: Callable[[Any], Any] | None,
) -> str:
    """Write what `capture` can run as `<file>:build`.

    Args:
        folder: of this process alone; nothing else is in it.
        model: a module, or a callable; without inputs it makes one whole step.
        inputs: a tensor, a tuple of all arguments, or a dict of them by name.
        loss: of the model's output, a scalar.

    Raises:
        BadInput: something of it has no source that is known, or cannot be saved.
    """
    definitions = Definitions()
    saved: dict[str, Any] = {"inputs": inputs}
    called = {"model": model, "loss": loss}
    returned = []
    for name, value in called.items():
        if value is None:
            continue
        if isinstance(value, FunctionType) and is_local(value):
            returned.append(definitions.add(value))
        else:
            saved[name] = value
            returned.append(f'state["{name}"]')
    makes_whole_step = isinstance(inputs, tuple) and not inputs
    if isinstance(model, torch.nn.Module) or not makes_whole_step:
        returned.insert(1, 'state["inputs"]')
    state = _saved(saved, definitions)
    (folder / _STATE).write_bytes(state)
    path = [str(Path(part or Path.cwd()).absolute()) for part in sys.path]
    parts = (
        _HEAD.format(path=path),
        definitions.text,
        _TAIL.format(main=MAIN, state=_STATE, returned=", ".join(returned)),
    )
    file = folder / f"handed_{_file_name(title_of(model))}.py"
    file.write_text("\n".join(parts), encoding="utf-8")
    return f"{file}:build"


def uncompiled(model: Any) -> Any:
    """The module or function that was given to torch.compile; itself where it was not."""
    module = getattr(model, "_orig_mod", model)
    return getattr(module, "_torchdynamo_orig_callable", module)


def title_of(model: Any) -> str:
    """What a model is called: its class, or a function's name."""
    if isinstance(model, FunctionType):
        return "step" if model.__name__ == "<lambda>" else model.__name__
    return type(getattr(model, "__self__", model)).__name__


def device_of(model: Any, inputs: Any) -> str | None:
    """Where the model's parameters lie, or else the inputs; None: neither has a tensor."""
    tensors = [*model.parameters()] if isinstance(model, torch.nn.Module) else []
    values = inputs.values() if isinstance(inputs, Mapping) else inputs
    if not isinstance(inputs, Mapping | tuple | list):  # the only argument
        values = (inputs,)
    tensors += [value for value in values if isinstance(value, torch.Tensor)]
    return str(tensors[0].device) if tensors else None


def _saved(saved: dict[str, Any], definitions: Definitions) -> bytes:
    """All values in one file; what they bring of classes of a cell is defined too."""

    class Pickler(pickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            if is_local(value):
                if "<" in value.__qualname__:
                    raise _not_saved(f"{value.__qualname__} is defined inside of a function")
                definitions.add(value)
            return NotImplemented

    module = SimpleNamespace(Pickler=Pickler, __name__="handed", dump=None)
    while True:
        n_values = len(definitions.values)
        file = io.BytesIO()
        try:
            torch.save({**saved, "values": definitions.values}, file, pickle_module=module)
        except BadInput:
            raise
        except Exception as error:  # whatever an object's own __reduce__ or __getstate__ raises
            raise _not_saved(f"{type(error).__name__}: {error}") from error
        if len(definitions.values) == n_values:  # saving found no definition that needs more
            return file.getvalue()


def _not_saved(why: str) -> BadInput:
    reason = " ".join(why.split()).rstrip(".")
    return BadInput(
        f"The model cannot be handed to the processes that measure it: {reason}.", remedy=REMEDY
    )


def _file_name(title: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in title.lower()) or "model"
