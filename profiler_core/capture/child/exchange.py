"""How the ranks of a job exchange where a variant says so: `+bucket_cap_mb=100`, `+prefetch=2`.

Sources: DistributedDataParallel(bucket_cap_mb=…); FSDPModule.set_modules_to_forward_prefetch and
set_modules_to_backward_prefetch (torch.distributed.fsdp from 2.6 on, _composable.fsdp before);
NCCL's environment variables, which the launcher gives to each process.
"""

from __future__ import annotations

import importlib
import inspect
from functools import wraps
from typing import Any, Dict, List, Mapping, Optional, Set

from .failures import CannotRunError

BUCKETS, PREFETCH, NCCL = "bucket_cap_mb", "prefetch", "NCCL_"
_SINCE_NCCL = (2, 17)  # NCCL_MAX_CTAS and NCCL_MIN_CTAS
_OBEYED: Set[str] = set()  # settings of the variant that a model was made with


def known(key: str) -> Dict[str, Any]:
    """`{key: what torch does by itself}` of `ddp.…`, `fsdp.…` or `nccl.…`; {}: it has no such."""
    import torch

    kind, _, name = key.partition(".")
    if not torch.distributed.is_available():
        return {}
    if kind == "ddp":
        parameters = inspect.signature(torch.nn.parallel.DistributedDataParallel).parameters
        return {key: parameters[name].default} if name in parameters else {}
    if kind == "fsdp":
        return {} if fsdp_module() is None else {key: None}
    version: Any = torch.cuda.nccl.version() if torch.distributed.is_nccl_available() else ()
    return {key: None} if tuple(version[:2]) >= _SINCE_NCCL else {}


def fsdp_module() -> Optional[Any]:
    """The class of modules that FSDP2 shards; None: this torch has none."""
    for name in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
        try:
            return importlib.import_module(name).FSDPModule
        except (ImportError, AttributeError):
            continue
    return None


def apply(settings: Mapping[str, str]) -> None:
    """For the whole process: every DistributedDataParallel gets the buckets.

    Raises:
        CannotRunError: a variable of NCCL is set, and ranks do not talk by NCCL here.
    """
    for name in settings:
        if name.startswith(NCCL):
            _check_nccl(name, settings[name])
    if BUCKETS in settings:
        _set_buckets(int(settings[BUCKETS]))


def _check_nccl(name: str, value: str) -> None:
    import torch

    distributed: Any = torch.distributed
    is_job = distributed.is_available() and distributed.is_initialized()
    backend = distributed.get_backend() if is_job else None
    if backend != "nccl":
        raise CannotRunError(
            "{} is NCCL's, and {}.".format(
                name,
                "ranks talk by {} here".format(backend) if backend else "this is one process alone",
            ),
            "Leave {}={} out, or capture several ranks on GPUs.".format(name, value),
        )


def _set_buckets(size_mb: int) -> None:
    import torch

    kind: Any = torch.nn.parallel.DistributedDataParallel
    make, signature = kind.__init__, inspect.signature(kind.__init__)

    @wraps(make)
    def make_with_buckets(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        given.arguments.pop("bucket_cap_mb_list", None)
        given.arguments[BUCKETS] = size_mb
        make(*given.args, **given.kwargs)
        _OBEYED.add(BUCKETS)

    kind.__init__ = make_with_buckets


def obey(model: Any, settings: Mapping[str, str]) -> None:
    """Let each sharded block of the model ask for weights ahead, once all is wrapped.

    Raises:
        CannotRunError: nothing in the model exchanges in the way that a setting is of.
    """
    if BUCKETS in settings and BUCKETS not in _OBEYED:
        raise CannotRunError(
            "bucket_cap_mb is of DistributedDataParallel, in which nothing is wrapped here.",
            "Leave bucket_cap_mb={} out.".format(settings[BUCKETS]),
        )
    if PREFETCH in settings:
        blocks = sharded_blocks(model)
        if len(blocks) < 2:
            raise CannotRunError(
                "prefetch is of blocks that FSDP2 shards (fully_shard), and there are {} "
                "here.".format(len(blocks)),
                "Leave prefetch={} out, or shard each block by itself.".format(settings[PREFETCH]),
            )
        gather_ahead(blocks, int(settings[PREFETCH]))


def sharded_blocks(model: Any) -> List[Any]:
    """The modules inside of the model that FSDP2 shards by themselves, in their order."""
    kind = fsdp_module()
    if kind is None or not hasattr(model, "modules"):
        return []
    return [
        module for module in model.modules() if isinstance(module, kind) and module is not model
    ]


def gather_ahead(blocks: List[Any], n_blocks: int) -> None:
    """Each block asks for the weights of the ones that come next, in both directions."""
    for order, method in (
        (blocks, "set_modules_to_forward_prefetch"),
        (blocks[::-1], "set_modules_to_backward_prefetch"),
    ):
        for position, block in enumerate(order):
            getattr(block, method)(order[position + 1 : position + 1 + n_blocks])
