"""Every operator that torch calls, as eager code calls it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Tuple

Answer = Callable[[Any, Tuple[Any, ...], Dict[str, Any]], Any]


@contextmanager
def intercepted(answer: Answer) -> Iterator[None]:
    """Let `answer(operator, args, kwargs)` give the result of each operator that is called inside.

    Raises:
        NotImplementedError: an operator of higher order is called, before torch 2.6.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Intercept(TorchDispatchMode):
        supports_higher_order_operators = True  # flex_attention

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """Let code be compiled inside: flex_attention does so in eager mode (torch 2.15)."""
            return True

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return answer(func, args, kwargs or {})

    with Intercept():
        yield


def operator_name(operator: Any) -> str:
    """Its name without namespace and overload, "add_" for aten::add_.Tensor."""
    return str(getattr(getattr(operator, "overloadpacket", operator), "__name__", ""))
