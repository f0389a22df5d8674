"""Name -> model and inputs, built on the CPU from a seed, so that every variant gets the same.

A workload's keyword options come as text (`--option layers=2`); an unknown one is an error that
lists the known ones.
"""

from __future__ import annotations

import importlib
import random
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .failures import CannotRunError

Shape = Tuple[int, ...]
Inputs = Tuple[Tuple[Any, ...], Dict[str, Any]]  # args and kwargs of one call


class Request(NamedTuple):
    """What the launcher asked for."""

    workload: str
    batch_size: Optional[int]
    shapes: Tuple[Shape, ...]
    options: Dict[str, str]
    training: bool
    seed: int
    device: str = "cpu"
    as_is_beside: bool = False  # a variant of the capture runs as the script compiles it


class Built(NamedTuple):
    """A model with its inputs, one entry for each shape of the cycle, or a step callable.

    inputs: of a training loop its batches, as the one argument of a call each.
    loss: (output, inputs) -> a scalar; None: see `step.default_loss`.
    step: a callable that makes one whole step; its model is None where nobody knows it.
    loop: the user's own training loop or decoding (`protocols`).
    moved: gives a batch that was fetched later the place and precision of the inputs.
    compiles_itself: the function was handed torch.compile, and decides what it compiles.
    """

    model: Any
    inputs: List[Inputs]
    labels: List[str]
    loss: Optional[Callable[[Any, Inputs], Any]] = None
    step: Optional[Callable[[], Any]] = None
    loop: Any = None
    moved: Callable[[Inputs], Inputs] = lambda call: call
    compiles_itself: bool = False
    parallel: Optional[str] = None  # "ddp", "fsdp", "tp" or "pp": see `parallel.wrap`
    exchange: Tuple[Tuple[str, int], ...] = ()  # how ranks do it, arguments of `parallel.wrap`
    pipeline: Any = None  # of "pp": a `pipeline.Pipeline`


def seed_everything(seed: int) -> None:
    """Python's, numpy's (where there) and torch's generators."""
    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        return
    numpy.random.seed(seed % 2**32)


def build(request: Request, compile_function: Callable[..., Any]) -> Built:
    """Build the named workload, or load the user's function, under the seed.

    Args:
        request: what was asked for.
        compile_function: what a user's function gets as its argument `compile`.
    """
    seed_everything(request.seed)
    if ".py:" in request.workload or request.workload.endswith(".py"):
        from . import user_code

        return user_code.build(request, compile_function)
    options = Options(request)
    builder = _builders().get(request.workload)
    built = builder(request, options) if builder else _torchvision(request, options)
    options.check_all_used()
    return built


def check_name(name: str) -> None:
    """Raise CannotRunError where nobody builds a workload of this name; it is not built."""
    if name in _builders():
        return
    names = getattr(_torchvision_models(name), "list_models", None)  # since torchvision 0.14
    if names is not None and name.lower() not in names():
        raise _unknown(name)


class Options:
    """The keyword options of a request, read with a default each."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._option_names: List[str] = []

    def number(self, name: str, default: int) -> int:
        """An option that is a whole number."""
        self._option_names.append(name)
        text = self._request.options.get(name)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            raise CannotRunError(
                "Option {}={} is not a whole number.".format(name, text),
                "Write it like {}={}.".format(name, default),
            ) from None

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """An option that is one of some words, the first by default."""
        self._option_names.append(name)
        text = self._request.options.get(name, choices[0])
        if text not in choices:
            raise CannotRunError(
                "Option {}={} is not known.".format(name, text),
                "Use one of: {}.".format(", ".join(choices)),
            )
        return text

    def check_all_used(self) -> None:
        """Refuse a misspelt option instead of ignoring it."""
        for name in self._request.options:
            if name not in self._option_names:
                raise CannotRunError(
                    "Workload {} has no option '{}'.".format(self._request.workload, name),
                    "Use one of: {}.".format(
                        ", ".join(self._option_names) or "none, it takes no options"
                    ),
                )


def label_of(values: Sequence[Any]) -> str:
    """Sizes of the first tensor: `8x3x224x224`; no tensor gives an empty text."""
    for value in values:
        if hasattr(value, "shape"):
            return "x".join(str(size) for size in value.shape)
    return ""


def shapes_of(request: Request, batch: int, item_shape: Shape) -> List[Shape]:
    """The shapes that were asked for, or the one of this batch.

    Raises:
        CannotRunError: one that was asked for has another number of sizes.
    """
    if request.shapes:
        for shape in request.shapes:
            if len(shape) != 1 + len(item_shape):
                raise CannotRunError(
                    "Shape {} has {} sizes, {} takes {}.".format(
                        "x".join(map(str, shape)), len(shape), request.workload, 1 + len(item_shape)
                    ),
                    "Write shapes like {}.".format("x".join(map(str, (batch, *item_shape)))),
                )
        return list(request.shapes)
    return [(request.batch_size or batch, *item_shape)]


def tensors(shapes: List[Shape]) -> List[Inputs]:
    """A call of one random tensor for each shape."""
    import torch

    return [((torch.randn(*shape),), {}) for shape in shapes]


def _classifier(model: Any, shapes: List[Shape], n_classes: int) -> Built:
    """A model over images whose training loss is cross-entropy against fixed random classes."""
    import torch

    inputs = tensors(shapes)
    targets = {
        shape[0]: torch.randint(0, n_classes, (shape[0],)) for shape in dict.fromkeys(shapes)
    }

    def loss(output: Any, call: Inputs) -> Any:
        logits = output if hasattr(output, "dtype") else _first_tensor(output)
        n = call[0][0].shape[0]
        if targets[n].device != logits.device:
            targets[n] = targets[n].to(logits.device)
        return torch.nn.functional.cross_entropy(logits, targets[n])

    return Built(model, inputs, [label_of(args) for args, _ in inputs], loss)


def _first_tensor(output: Any) -> Any:
    # Inception and GoogLeNet return a named tuple with auxiliary heads, segmentation a dict.
    values = output.values() if hasattr(output, "values") else output
    return next(iter(values))


def _customcnn(request: Request, options: Options) -> Built:
    from . import models

    size = options.number("size", 224)
    return _classifier(models.CustomCNN(), shapes_of(request, 1, (3, size, size)), 10)


def _simplecnn(request: Request, options: Options) -> Built:
    from . import models

    size = options.number("size", 32)
    return _classifier(models.SimpleCNN(), shapes_of(request, 64, (3, size, size)), 10)


def _transformer(request: Request, options: Options) -> Built:
    import torch

    from . import models

    width, length = options.number("width", 512), options.number("length", 256)
    blocks = [models.TransformerBlock(width) for _ in range(options.number("layers", 1))]
    inputs = tensors(shapes_of(request, 8, (length, width)))
    model = torch.nn.Sequential(*blocks)
    return Built(model, inputs, [label_of(args) for args, _ in inputs])


def _distributed(request: Request, options: Options) -> Built:
    from . import parallel_workloads

    return parallel_workloads.build(request, options)


def _unet(request: Request, options: Options) -> Built:
    import torch

    from . import models

    channels, size = options.number("channels", 320), options.number("size", 64)
    model = models.UNetBlock(channels)
    inputs: List[Inputs] = []
    for shape in shapes_of(request, 2, (channels, size, size)):
        latent, time = torch.randn(*shape), torch.randn(shape[0], 1280)
        inputs.append(((latent, time, torch.randn(shape[0], 77, 768)), {}))
    return Built(model, inputs, [label_of(args) for args, _ in inputs])


def _breaky(request: Request, options: Options) -> Built:
    from . import models

    width = options.number("width", 256)
    inputs = tensors(shapes_of(request, 32, (width,)))
    return Built(models.Breaky(width), inputs, [label_of(args) for args, _ in inputs])


def _dynshape(request: Request, options: Options) -> Built:
    from . import models

    n_shapes = options.number("n_shapes", 12)
    batch = request.batch_size or 4
    shapes = list(request.shapes) or [
        (batch + i % 3, 3, 32 + 8 * i, 32 + 8 * i) for i in range(n_shapes)
    ]
    return _classifier(models.DynShape(), shapes, 10)


def _bert(request: Request, options: Options) -> Built:
    import torch

    try:
        transformers = importlib.import_module("transformers")
    except ImportError:
        raise CannotRunError(
            "Workload bert needs transformers, which this interpreter does not have.",
            "Install it with: pip install transformers.",
        ) from None
    length = options.number("length", 128)
    config = transformers.BertConfig(num_hidden_layers=options.number("layers", 12))
    kind = transformers.BertForMaskedLM if request.training else transformers.BertModel
    model = kind(config)
    inputs: List[Inputs] = []
    for shape in shapes_of(request, 8, (length,)):
        call: Dict[str, Any] = {"input_ids": torch.randint(0, config.vocab_size, shape)}
        if request.training:
            call["labels"] = torch.randint(0, config.vocab_size, shape)
        inputs.append(((), call))
    labels = [label_of(list(kwargs.values())) for _, kwargs in inputs]
    return Built(
        model, inputs, labels, (lambda output, _: output.loss) if request.training else None
    )


def _torchvision(request: Request, options: Options) -> Built:
    name = request.workload
    models = _torchvision_models(name)
    try:
        model = models.get_model(name, weights=None, **_without_downloads(name))
    except ValueError:
        raise _unknown(name) from None
    size = options.number("size", 299 if name == "inception_v3" else 224)
    return _classifier(model, shapes_of(request, 8, (3, size, size)), 1000)


def _torchvision_models(name: str) -> Any:
    try:
        return importlib.import_module("torchvision.models")
    except ImportError:
        raise CannotRunError(
            "Workload {} is not built in, and torchvision is not installed here.".format(name),
            "Install torchvision, or use one of: {}.".format(", ".join(sorted(_builders()))),
        ) from None


def _unknown(name: str) -> CannotRunError:
    return CannotRunError(
        "Workload '{}' is neither built in nor a torchvision model.".format(name),
        "Use {}, a torchvision model, or path/to/file.py:function.".format(
            ", ".join(sorted(_builders()))
        ),
    )


def _without_downloads(name: str) -> Dict[str, Any]:
    # Segmentation models fetch a backbone unless told not to; Inception's slow scipy initialisation
    # is not needed for timing.
    if name.startswith(("deeplabv3", "fcn", "lraspp")):
        return {"weights_backbone": None}
    return {"init_weights": False} if name in ("inception_v3", "googlenet") else {}


_BUILDERS: Dict[str, Callable[[Request, Options], Built]] = {
    "customcnn": _customcnn,
    "simplecnn": _simplecnn,
    "transformer": _transformer,
    "unet": _unet,
    "breaky": _breaky,
    "dynshape": _dynshape,
    "bert": _bert,
    "ddp": _distributed,
    "fsdp": _distributed,
    "tp": _distributed,
    "pp": _distributed,
}


def _builders() -> Dict[str, Callable[[Request, Options], Built]]:
    from . import more_workloads  # which needs the names above

    return {**_BUILDERS, **more_workloads.BUILDERS}
