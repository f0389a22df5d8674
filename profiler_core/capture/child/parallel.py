"""Several ranks of one step: joining their process group, and wrapping a model for it.

Sources: torch.distributed.init_process_group; DistributedDataParallel; fully_shard (FSDP2: in
torch.distributed.fsdp from 2.6 on, in torch.distributed._composable.fsdp before);
torch.distributed.tensor.parallel.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, Mapping, Optional

from . import exchange
from .failures import CannotRunError
from .workloads import Built


def join(ranks: Optional[Dict[str, Any]], device: Any) -> None:
    """Join the process group; nothing for one rank.

    Args:
        ranks: rank, world_size, and store, a file that all ranks meet at.
        device: this rank's.
    """
    if ranks is None:
        return
    import torch

    distributed: Any = torch.distributed
    if not distributed.is_available():
        raise CannotRunError(
            "This torch was built without torch.distributed.", "Use another build of torch."
        )
    # What torchrun sets: user code and libraries look here.
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(ranks["rank"])
    os.environ["WORLD_SIZE"] = os.environ["LOCAL_WORLD_SIZE"] = str(ranks["world_size"])
    distributed.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        init_method="file://" + ranks["store"],
        rank=ranks["rank"],
        world_size=ranks["world_size"],
    )


def wrap(
    model: Any, kind: Optional[str], device: Any, bucket_cap_mb: int = 0, prefetch: int = 0
) -> Any:
    """The model wrapped for several ranks, by "ddp", "fsdp" or "tp"; None leaves it as it is.

    A pipeline's stage ("pp") is left as it is: its step sends and receives.

    Args:
        model: whose children are blocks.
        kind: of parallelism.
        device: of this rank.
        bucket_cap_mb: of DDP's gradients; 0: torch's own.
        prefetch: how many blocks ahead FSDP2 gathers the weights; 0: as it does by itself.
    """
    if kind is None:
        return model
    import torch

    if not torch.distributed.is_initialized():
        raise CannotRunError(
            "Workload {} needs several ranks.".format(kind), "Pass --ranks 2 or more."
        )
    if kind == "pp":
        return model
    if kind == "ddp":
        device_ids = [device] if device.type == "cuda" else None
        sizes = {"bucket_cap_mb": bucket_cap_mb} if bucket_cap_mb else {}
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=device_ids, **sizes)
    mesh = torch.distributed.device_mesh.init_device_mesh(
        device.type, (torch.distributed.get_world_size(),)
    )
    if kind == "tp":
        return tensor_parallel(model, mesh)
    shard = fully_shard()
    for block in model.children():
        shard(block, mesh=mesh)
    whole = shard(model, mesh=mesh)
    if prefetch:
        exchange.gather_ahead(list(model.children()), prefetch)
    return whole


def wrapped(built: Built, device: Any, settings: Mapping[str, str]) -> Built:
    """The workload with its model wrapped, which exchanges as the variant's settings say."""
    model = wrap(built.model, built.parallel, device, **dict(built.exchange))
    exchange.obey(model, settings)
    return built._replace(model=model)


def on_any_rank(flag: bool) -> bool:
    """Whether it is so on one of the ranks; the flag itself where there is no process group.

    What ranks decide alone may part them, and then they wait for each other for ever.
    """
    import torch

    distributed: Any = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return flag
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    flags = torch.tensor([int(flag)], device=device)
    distributed.all_reduce(flags, distributed.ReduceOp.MAX)
    return bool(flags.item())


def local(tensor: Any) -> Any:
    """This rank's part of a tensor that is shared out over ranks (DTensor), else the tensor."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


def tensor_parallel(model: Any, mesh: Any) -> Any:
    """The blocks of `models.ShardableBlock` with heads and hidden features shared out over ranks.

    Two all-reduces per block and direction, as in Megatron-LM.
    """
    styles: Any = importlib.import_module("torch.distributed.tensor.parallel")
    plan = {name: styles.ColwiseParallel() for name in ("query", "key", "value", "up")}
    plan.update({name: styles.RowwiseParallel() for name in ("out", "down")})
    for block in model.children():
        styles.parallelize_module(block, mesh, dict(plan))
    return model


def fully_shard() -> Any:
    """FSDP2's function, wherever this torch keeps it.

    Raises:
        CannotRunError: it has none.
    """
    for name in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
        try:
            return importlib.import_module(name).fully_shard
        except (ImportError, AttributeError):
            continue
    raise CannotRunError(
        "This torch has no fully_shard (FSDP2).", "Use torch 2.4 or newer, or the workload ddp."
    )
