"""Checks the candidate's outputs: fresh models, same weights, inputs and seed (docs/measuring.md).

`make_reference` runs eager only, in the baseline's child, and writes plain tensors;
`compare` runs in the candidate's second child (the one with the warm cache), so that neither its
compilations nor its steps touch what was measured.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

from . import engines
from .step import Step
from .tf32 import may_round_like_tf32
from .tolerance import Judgement, Named, judge, same
from .variants import Variant, apply_inductor, place
from .workloads import Request, build, seed_everything

# A CUDA graph is recorded at the second call and replayed from the third on: look at these too.
N_PASSES = 3


class Bench(NamedTuple):
    """What is needed to build the same model and inputs again."""

    request: Request
    device: Any

    def step(self, variant: Variant) -> Step:
        """A fresh model in the variant's precision and layout, compiled if it says so."""
        built = place(build(self.request), variant, self.device)
        return Step(built, variant, self.device, self.request.training)

    def fp64_step(self, variant: Variant) -> Step:
        """A fresh eager model in double precision."""
        import torch

        plain = variant.eager()._replace(precision="fp32", channels_last=False)
        built = place(build(self.request), plain, self.device)
        if built.step is not None:
            raise TypeError("a step callable keeps its own precision")
        inputs = [
            (tuple(_double(v) for v in args), {k: _double(v) for k, v in kwargs.items()})
            for args, kwargs in built.inputs
        ]
        model = built.model.to(torch.float64)
        return Step(
            built._replace(model=model, inputs=inputs), plain, self.device, self.request.training
        )


def make_reference(bench: Bench, variant: Variant, path: str) -> Dict[str, Any]:
    """Run eager in fp64 and in the variant's own precision, and write the tensors to `path`.

    Returns:
        What the launcher puts into the log: kind of the reference, random or not.
    """
    import torch

    own_variant = variant.eager()
    step = bench.step(own_variant)
    first = _answers(bench, step)
    draws = _drew_random_numbers(bench.request.seed + 1)
    again = _answers(bench, step)
    fresh = _answers(bench, bench.step(own_variant))
    random = not all(same(a, b, variant.precision) for a, b in zip(first, fresh))
    repeatable = all(same(a, b, variant.precision) for a, b in zip(first, again))
    tf32 = may_round_like_tf32(bench.device, lambda: _answers(bench, step))
    kind, note = "fp64", ""
    try:
        reference = _answers(bench, bench.fp64_step(variant))
        if not all(_is_double(answer) for answer in reference):
            raise TypeError("its answer is not fp64")
    except Exception as error:  # any model may refuse fp64, each in its own way; the note says how
        kind, note = "fp32", "no fp64 reference ({})".format(_line(error))
        plain = own_variant._replace(precision="fp32", channels_last=False)
        reference = first if plain == own_variant else _answers(bench, bench.step(plain))
    torch.save(
        {
            "reference": [dict(answer) for answer in reference],
            "baseline": [dict(answer) for answer in first],
            "kind": kind,
            "note": note,
            "precision": _numeric_key(variant),
            "random": random,
            "repeatable": repeatable,
            "draws": draws,
            "tf32": tf32,
            "compared": step.kind,
        },
        path,
    )
    return {"reference": kind, "random": random}


def compare(bench: Bench, variant: Variant, path: str, step: Optional[Step]) -> Dict[str, Any]:
    """Judge the variant's answers against the file of `make_reference`.

    Args:
        bench: how to build again.
        variant: the candidate.
        path: where the reference lies; made here when the baseline could not make it.
        step: a compiled step that ran in this process already, to spare a compilation; used only
            where the model draws no random numbers and does not change from call to call.

    Returns:
        The keys of `numerics` in run.json.
    """
    import torch

    if not Path(path).exists():
        make_reference(bench, variant, path)
    stored = torch.load(path, weights_only=True)
    base = {
        "reference": stored["kind"], "compared": stored["compared"],
        "rms_error": None, "baseline_rms_error": None, "tolerance": None,
    }  # fmt: skip
    reference: List[Named] = [list(answer.items()) for answer in stored["reference"]]
    obstacle = _obstacle(stored, reference, variant)
    if obstacle is not None:
        return dict(base, verdict="not comparable", reason=obstacle)
    baseline: List[Named] = [list(answer.items()) for answer in stored["baseline"]]
    notes = [stored["note"]] if stored["note"] else []
    if stored["precision"] != _numeric_key(variant):
        baseline = _answers(bench, bench.step(variant.eager()))
        notes.append("measured against eager in {}".format(variant.precision))
    if step is None or stored["draws"] or not stored["repeatable"] or bench.request.training:
        step = _compiled_step(bench, variant, stored["draws"])
    precision = variant.precision
    if precision == "fp32" and stored["tf32"]:
        precision = "tf32"
        notes.append("convolutions or matrix products may use TF32, so its rounding is allowed")
    judgements = _judgements(bench, step, stored, precision, reference, baseline)
    if not judgements:
        return dict(base, verdict="not comparable", reason="there is nothing to compare")
    worst = max(judgements, key=_badness)
    if not worst.right:
        if stored["draws"]:
            notes.append("the model draws random numbers; fallback_random was on")
        notes.extend(engines.rounding(variant.backend, variant.precision))
    return dict(
        base,
        verdict="right" if worst.right else "wrong",
        reason="; ".join([part for part in [worst.problem, *notes] if part]),
        rms_error=worst.rms_error,
        baseline_rms_error=worst.baseline_rms_error,
        tolerance=worst.tolerance,
    )


def _obstacle(stored: Dict[str, Any], reference: List[Named], variant: Variant) -> Optional[str]:
    """Why no answer can be judged against this reference; None: it can be."""
    if stored["random"]:
        return "random: two eager runs of the same seed differ"
    if stored["draws"] and engines.draws_otherwise(variant.backend):
        return "the model draws random numbers, and {} draws others".format(variant.backend)
    if not reference[0]:
        return "the step returns no tensors"
    if any(not bool(t.isfinite().all()) for answer in reference for n, t in answer if n == "loss"):
        return "the reference's loss is not finite"
    return None


def _judgements(
    bench: Bench,
    step: Step,
    stored: Dict[str, Any],
    precision: str,
    reference: List[Named],
    baseline: List[Named],
) -> List[Judgement]:
    """A judgement for each shape in each pass; a model that changes between calls has one pass."""
    return [
        judge(
            reference[shape], baseline[shape], answer, precision, stored["kind"], stored["compared"]
        )
        for _ in range(N_PASSES if stored["repeatable"] else 1)
        for shape, answer in enumerate(_answers(bench, step))
    ]


def _compiled_step(bench: Bench, variant: Variant, draws: bool) -> Step:
    if draws and variant.compile:
        importlib.import_module("torch._dynamo").reset()
        apply_inductor(bench.device, fallback_random=True)
    return bench.step(variant)


def _answers(bench: Bench, step: Step) -> List[Named]:
    """One answer for each shape; every call starts from the same random numbers."""
    answers = []
    for shape in range(step.n_shapes):
        seed_everything(bench.request.seed + 1)
        answers.append(step.answer(shape))
    return answers


def _drew_random_numbers(seed: int) -> bool:
    """Whether the last call drew random numbers: the generators moved since they were seeded."""
    after = _generator_states()
    seed_everything(seed)
    return not all(a.equal(b) for a, b in zip(after, _generator_states()))


def _generator_states() -> List[Any]:
    import torch

    on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *on_gpu]


def _badness(judgement: Judgement) -> float:
    if judgement.rms_error is None or not judgement.tolerance:
        return 0.0 if judgement.right else float("inf")
    return judgement.rms_error / judgement.tolerance


def _numeric_key(variant: Variant) -> str:
    return "{}{}".format(variant.precision, "+channels_last" if variant.channels_last else "")


def _is_double(answer: Named) -> bool:
    import torch

    floating = [t for _, t in answer if t.is_floating_point()]
    return bool(floating) and all(t.dtype == torch.float64 for t in floating)


def _double(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    if type(value) in (list, tuple):
        return type(value)(_double(item) for item in value)
    if isinstance(value, dict):
        return {key: _double(item) for key, item in value.items()}
    return value


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
