"""The variables that torch, Triton and OpenMP read when they are imported."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

READ_AT_IMPORT = (
    "TORCH", "PYTORCH", "INDUCTOR", "TRITON", "OMP_", "MKL_", "KMP_", "LD_", "ATEN", "CXX",
)  # fmt: skip


@contextmanager
def kept() -> Iterator[None]:
    """Take back what is set of them within the block."""
    before = _set_now()
    yield
    after = _set_now()
    if after != before:
        for name in after:
            del os.environ[name]
        os.environ.update(before)


def _set_now() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(READ_AT_IMPORT)}
