"""Tolerances of outputs: RMS errors against a reference, as PyTorch's own benchmarks judge.

The rule (`torch._dynamo.utils.same` is its model): a candidate is right when its RMS error is at
most three times eager's own, plus a slack, and in no case more than LARGEST. Errors are relative
to the RMS of the reference, tensor by tensor. The slack is the rounding unit of the dtype; in fp32
it is what those benchmarks allow, a tenth of 1e-4, because one unit (1.2e-7) is less than the order
of a sum makes: the mean over 56 x 56 pixels of the custom CNN is 8e-7 off in Inductor's C++ and
2e-7 in eager.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

Named = List[Tuple[str, Any]]

FACTOR = 3.0
# TF32 and fp16 keep ten bits, bf16 seven.
SLACK = {"fp32": 1e-5, "tf32": 2.0**-10, "fp16": 2.0**-10, "bf16": 2.0**-7}
# Without an fp64 reference there is no error of eager's own to compare with: the tolerances of
# torch._dynamo.utils.same for that case.
WITHOUT_REFERENCE = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2, "bf16": 3e-2}
WITHOUT_REFERENCE_TRAINING_FP32 = 1e-3
# Two eager runs may differ by atomic additions and by the library's choice of an algorithm; a model
# that draws other random numbers differs by far more.
_SAME = 100.0
# A tensor that is zero in exact arithmetic (the bias of a convolution before a batch norm has such
# a gradient) holds rounding noise only: its error is measured on the scale of the largest tensor.
_ZERO = {"fp64": 1e-9, "fp32": 1e-6}


# Where eager itself is further from the reference than this allows, "three times as far" proves
# nothing: an output of the wrong sign would pass.
LARGEST = 0.05

RIGHT, NOT_COMPARABLE, WRONG = "right", "not comparable", "wrong"
_BY_BADNESS = (RIGHT, NOT_COMPARABLE, WRONG)


class Judgement(NamedTuple):
    """The tensor that came nearest to its tolerance, or went furthest beyond it."""

    verdict: str  # RIGHT, NOT_COMPARABLE or WRONG
    tensor: str
    rms_error: Optional[float]
    baseline_rms_error: Optional[float]
    tolerance: Optional[float]
    problem: str  # empty when right

    @property
    def right(self) -> bool:
        """Is it within the tolerance?"""
        return self.verdict == RIGHT

    @property
    def badness(self) -> Tuple[int, float]:
        """What to order judgements by: the verdict, then the error by its tolerance."""
        has_ratio = self.rms_error is not None and self.tolerance
        ratio = self.rms_error / self.tolerance if has_ratio else 0.0  # type: ignore[operator]
        return _BY_BADNESS.index(self.verdict), ratio


def slack_of(precision: str) -> float:
    """What is allowed beside eager's own error, "bf16-autocast" included."""
    return SLACK[precision.split("-")[0]]


def judge(
    reference: Named,
    baseline: Named,
    candidate: Named,
    precision: str,
    reference_kind: str,
    kind: str,
    least_yardsticks: Dict[str, float],
) -> Judgement:
    """Compare one call's named tensors.

    Args:
        reference: the eager answer in fp64, or in fp32.
        baseline: the eager answer in the candidate's own precision.
        candidate: what is to be judged.
        precision: the candidate's.
        reference_kind: "fp64" or "fp32".
        kind: "outputs", "loss and gradients" or "returned tensors".
        least_yardsticks: errors of eager's own that are to be expected, by tensor, where the
            baseline's may be less by luck.
    """
    answers, baseline_answers = dict(candidate), dict(baseline)
    for name, tensor in reference:
        if name not in answers:
            return _wrong(name, "{} is missing".format(name))
        if tuple(answers[name].shape) != tuple(tensor.shape):
            return _wrong(
                name,
                "{} has the shape {}, not {}".format(
                    name, _sizes(answers[name].shape), _sizes(tensor.shape)
                ),
            )
    if len(answers) != len(reference):
        extra = next(name for name in answers if name not in dict(reference))
        return _wrong(extra, "{} is there, and should not be".format(extra))
    scales = _scales(reference, reference_kind)
    baseline_errors = {
        name: _error(baseline_answers[name], tensor, scales[name]) for name, tensor in reference
    }
    finite = [error for error in baseline_errors.values() if error == error]
    pooled = (sum(error * error for error in finite) / len(finite)) ** 0.5 if finite else 0.0
    judgements = []
    for name, tensor in reference:
        if not bool(_finite(tensor)):
            continue  # infinities of the model itself, masks for example
        error = _error(answers[name], tensor, scales[name])
        if error != error:
            return _wrong(name, "{} has values that are not finite".format(name))
        yardstick = max(baseline_errors[name], pooled, least_yardsticks.get(name, 0.0))
        tolerance = FACTOR * yardstick + slack_of(precision)
        if reference_kind == "fp32":
            tolerance = max(tolerance, _without_reference(precision, kind))
        judgements.append(_within(name, error, yardstick, tolerance))
    if not judgements:
        return Judgement(RIGHT, "", None, None, None, "")
    return max(judgements, key=lambda judgement: judgement.badness)


def _within(name: str, error: float, yardstick: float, tolerance: float) -> Judgement:
    """The verdict on one tensor.

    Args:
        name: of the tensor.
        error: the candidate's, relative to the tensor's size.
        yardstick: eager's own.
        tolerance: what eager's own error allows.
    """
    allowed = min(tolerance, LARGEST)
    if error <= allowed:
        verdict, problem = RIGHT, ""
    elif error <= tolerance:
        verdict = NOT_COMPARABLE
        problem = far_from_reference(name, error, yardstick)
    else:
        verdict, problem = WRONG, "{} is off by {:.1e} of its size".format(name, error)
    return Judgement(verdict, name, error, yardstick, allowed, problem)


def far_from_reference(name: str, error: float, yardstick: Optional[float]) -> str:
    """Why a tensor proves nothing: eager, too, is further from the reference than LARGEST.

    Args:
        name: of the tensor.
        error: the candidate's, relative to the tensor's size.
        yardstick: eager's own; None where a record has none.
    """
    of_eager = "" if yardstick is None else ", and so is eager itself by {:.1e}".format(yardstick)
    return "{} is off by {:.1e} of its size{}".format(name, error, of_eager)


def worst_errors(
    reference: List[Named], others: List[List[Named]], reference_kind: str, prefixes: Any
) -> Dict[str, float]:
    """The largest error in any of the others, of each tensor whose name begins so."""
    errors: Dict[str, float] = {}
    for expected, seen in [pair for other in others for pair in zip(reference, other)]:
        scales, answers = _scales(expected, reference_kind), dict(seen)
        for name, tensor in expected:
            if name.startswith(prefixes) and name in answers:
                error = _error(answers[name], tensor, scales[name])
                if error == error:
                    errors[name] = max(error, errors.get(name, 0.0))
    return errors


def without(answers: List[Named], left_out: List[str]) -> List[Named]:
    """The answers without the tensors of these names, and without an answer that had no others."""
    kept = [[(n, tensor) for n, tensor in answer if n not in left_out] for answer in answers]
    return [answer for answer, before in zip(kept, answers) if answer or not before]


def same(first: Named, second: Named, precision: str) -> bool:
    """Whether two eager runs give the same outputs, up to rounding (atomic additions)."""
    if [name for name, _ in first] != [name for name, _ in second]:
        return False
    limit = _SAME * slack_of(precision)
    scales = _scales(first, "fp32")
    return all(
        a.shape == b.shape and not _error(b, a, scales[name]) > limit
        for (name, a), (_, b) in zip(first, second)
    )


def _wrong(name: str, problem: str) -> Judgement:
    return Judgement(WRONG, name, None, None, None, problem)


def _without_reference(precision: str, kind: str) -> float:
    if kind == "loss and gradients" and precision == "fp32":
        return WITHOUT_REFERENCE_TRAINING_FP32
    return WITHOUT_REFERENCE[precision.split("-")[0]]


def _scales(reference: Named, kind: str) -> Dict[str, float]:
    sizes = {name: _rms(tensor) for name, tensor in reference}
    largest = max([size for size in sizes.values() if size == size], default=0.0)
    return {
        name: size if size > largest * _ZERO[kind] else (largest or 1.0)
        for name, size in sizes.items()
    }


def _error(tensor: Any, reference: Any, scale: float) -> float:
    """Relative RMS error; exact equality is 0 also where both are infinite, NaN where one is."""
    a, b = tensor.double(), reference.double()
    difference = (a - b).masked_fill(a == b, 0.0)
    return _rms(difference) / (scale or 1.0)


def _rms(tensor: Any) -> float:
    if tensor.numel() == 0:
        return 0.0
    return float(tensor.double().square().mean().sqrt())


def _finite(tensor: Any) -> Any:
    return tensor.isfinite().all()


def _sizes(shape: Any) -> str:
    return "x".join(str(size) for size in shape) or "scalar"
