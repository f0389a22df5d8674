"""A made-up eager trace with Python calls: two equal steps, times in whole microseconds."""

import json
from pathlib import Path

_STEP_US = 1000
# (name, begin, length) of thread 1 in a step; of two that begin together the outer one is first.
_CALLS = (
    ("/home/me/net.py(10): forward", 10, 490),
    ("/usr/lib/python3/site-packages/torch/nn/modules/module.py(1500): _call_impl", 20, 460),
    ("nn.Module: Rotary_0", 25, 275),
    ("/home/me/net.py(40): rotate", 30, 270),
    ("/home/me/net.py(60): half", 40, 60),
    ("<built-in method neg of type object at 0x7f>", 45, 30),
    ("/home/me/net.py(90): nothing", 130, 0),
    ("/home/me/impl.py(5): own", 355, 60),
    ("/home/me/net.py(95): late", 495, 8),  # ends after that which calls it, as clocks are rounded
)
# (name, thread, begin, length)
_OPERATORS = (
    ("aten::neg", 1, 50, 20),
    ("aten::mul", 1, 120, 20),
    ("aten::add", 1, 320, 20),
    ("net::own", 1, 350, 70),  # runs Python
    ("aten::mul", 1, 360, 20),
    ("aten::sum", 1, 690, 20),
    ("MulBackward0", 2, 600, 40),
    ("aten::mul", 2, 610, 20),
)
# (kernel, thread and time of its launch, length)
_KERNELS = (
    ("neg_kernel", 1, 60, 7),
    ("mul_kernel", 1, 130, 11),
    ("add_kernel", 1, 330, 13),
    ("mul_kernel", 1, 370, 17),
    ("sum_kernel", 1, 700, 23),  # outside of the user's code
    ("gradient_kernel", 2, 620, 19),
)


def write_trace(path: Path, *, times: int = 1, with_calls: bool = True) -> Path:
    """Write it.

    Args:
        path: of the file.
        times: longer that kernels take.
        with_calls: of Python.
    """
    events = []

    def add(category: str, name: str, thread: int, begin: float, length: float, **args: object):
        events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": thread,
             "ts": begin, "dur": length, "args": args}
        )  # fmt: skip

    for step in (0, 1):
        at = 10_000 + step * _STEP_US
        add("user_annotation", f"ProfilerStep#{step}", 1, at, _STEP_US)
        for name, begin, length in _CALLS if with_calls else ():
            add("python_function", name, 1, at + begin, length)
        for name, thread, begin, length in _OPERATORS:
            shapes = [[64, 64], [64, 64]]
            types = ["float", "float"]
            add("cpu_op", name, thread, at + begin, length,
                **{"Input Dims": shapes, "Input type": types})  # fmt: skip
        for n, (name, thread, begin, length) in enumerate(_KERNELS):
            correlation = 100 * (step + 1) + n
            add("cuda_runtime", "cudaLaunchKernel", thread, at + begin, 3, correlation=correlation)
            add("kernel", name, 7, at + begin + 50, length * times,
                correlation=correlation, device=0, stream=7)  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"deviceProperties": [{"id": 0, "name": "A"}], "traceEvents": events})
    )
    return path
