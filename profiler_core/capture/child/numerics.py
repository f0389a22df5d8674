"""Checks the candidate's outputs: fresh models, same weights, inputs and seed (docs/measuring.md).

`make_reference` runs eager only, in the baseline's child, and writes plain tensors;
`compare` runs in the candidate's second child (the one with the warm cache), so that neither its
compilations nor its steps touch what was measured.
"""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from . import engines
from .accelerator import Accelerator, generator_states
from .double import double_call, is_double
from .draws import Draw, DrawsInsideError, recorded, replayed
from .parallel import on_any_rank, wrapped
from .protocols import modules_of
from .step import GRADIENT_OF, UPDATE, UPDATE_OF, Step
from .steps import step_of
from .tf32 import may_round_like_tf32, without_tf32
from .tolerance import (
    FACTOR,
    LARGEST,
    NOT_COMPARABLE,
    RIGHT,
    WRONG,
    Judgement,
    Named,
    judge,
    same,
    without,
    worst_errors,
)  # fmt: skip
from .variants import Variant, apply_inductor, build
from .workloads import Built, Request, seed_everything

# A CUDA graph is recorded at the second call and replayed from the third on: look at these too.
N_PASSES = 3
N_TRAINED_STEPS = 3
# Rounding flips a ReLU now and then, and with it a gradient's sums, in another tensor each time.
# How far that takes gradients, eager runs tell from weights that differ by a rounding unit of what
# they are multiplied in: half of one's, so that autocast rounds every other weight otherwise.
N_NUDGED = 4
_NUDGE = 2.0**-23
_NUDGE_OF = {"bf16": 2.0**-9, "fp16": 2.0**-12}
_DERIVED = (GRADIENT_OF, UPDATE_OF)


class State(NamedTuple):
    """What of a model's state is compared beside its answers, by name."""

    changing: List[str]  # buffers that a pass of eager changes
    moving: Optional[List[str]]  # parameters that training moves; None: not known yet


class Bench(NamedTuple):
    """What is needed to build the same model and inputs again.

    fed: the tokens with which a decoding model is called (`decoding`).
    """

    request: Request
    device: Any
    fed: Sequence[Any] = ()

    def step(self, variant: Variant) -> Step:
        """A fresh model in the variant's precision and layout, compiled if it says so."""
        return self._step_of(build(self.request, variant, self.device), variant)

    def fp64_step(self, variant: Variant) -> Step:
        """A fresh eager model in double precision."""
        import torch

        if not Accelerator(self.device).has_fp64:
            raise TypeError("{} has no double precision".format(self.device.type))
        plain = variant.eager()._replace(precision="fp32", channels_last=False)
        built = build(self.request, plain, self.device)
        if built.model is None:
            raise TypeError("a step callable keeps its own precision")
        if built.loop is None:
            built = built._replace(model=built.model.to(torch.float64))
        else:
            for module in modules_of(built.loop):
                module.to(torch.float64)
        inputs = [double_call(call) for call in built.inputs]
        moved = built.moved
        built = built._replace(inputs=inputs, moved=lambda call: double_call(moved(call)))
        return self._step_of(built, plain)

    def _step_of(self, built: Built, variant: Variant) -> Step:
        built = wrapped(built, self.device, variant.settings)
        step = step_of(built, variant, self.device, self.request.training)
        step.fed = list(self.fed)
        return step


def make_reference(bench: Bench, variant: Variant, path: str) -> Dict[str, Any]:
    """Run eager in fp64 and in the variant's own precision, and write the tensors to `path`.

    Returns:
        What the launcher puts into the log: kind of the reference, random or not.
    """
    import torch

    tf32 = may_round_like_tf32(
        bench.device, lambda: partial(_answers, bench, bench.step(variant.eager()))
    )
    tf32 = on_any_rank(tf32)
    with without_tf32(tf32):
        stored = _reference(bench, variant)
    torch.save(dict(stored, tf32=tf32, precision=_numeric_key(variant)), path)
    return {"reference": stored["kind"], "random": stored["random"]}


def _reference(bench: Bench, variant: Variant) -> Dict[str, Any]:
    """What `compare` reads: the tensors of the reference and of eager, and how they behave."""
    own_variant = variant.eager()
    step = bench.step(own_variant)
    buffers = step.buffers()
    first = _answers(bench, step)
    bench = bench._replace(fed=step.fed)
    draws = on_any_rank(_drew_random_numbers(bench.request.seed + 1))
    state = State(_changed(buffers, step.buffers()), None)
    again = _answers(bench, step)
    trained = bench.step(own_variant)
    baseline = _seen(bench, trained, state)
    state = state._replace(moving=trained.moving)
    random = on_any_rank(
        not all(same(a, b, variant.precision) for a, b in zip(first, baseline[: step.n_shapes]))
    )
    repeatable = not on_any_rank(
        not all(same(a, b, variant.precision) for a, b in zip(first, again))
    )
    kind, note, draws_inside = "fp64", "", False
    try:
        reference = _fp64_reference(bench, variant, state, draws and not random)
    except Exception as error:  # any model may refuse fp64, each in its own way; the note says how
        kind, note = "fp32", "no fp64 reference ({})".format(_line(error))
        draws_inside = isinstance(error, DrawsInsideError)
    if on_any_rank(kind == "fp32"):
        kind, note = "fp32", note or "no fp64 reference on another rank"
        plain = own_variant._replace(precision="fp32", channels_last=False)
        reference = baseline if plain == own_variant else _seen(bench, bench.step(plain), state)
    nearby = [
        _nearby(bench, own_variant, state, number)
        for number in range(N_NUDGED if step.trains else 0)
    ]
    # Adam moves each weight by as much, whatever its gradient: where that is rounding (the bias of
    # attention's keys has none in exact arithmetic), its update is no number to compare. Nor is one
    # of which eager leaves so little room below LARGEST that a clean variant can come out above it.
    updates = worst_errors(reference, [baseline, *nearby], kind, UPDATE_OF)
    noise = [name for name, error in updates.items() if FACTOR * error > LARGEST]
    left = [
        name for name in state.moving or () if UPDATE.format(name, N_TRAINED_STEPS) not in noise
    ]
    state = state._replace(moving=left)
    reference, baseline = without(reference, noise), without(baseline, noise)
    return {
        "steepness": max(worst_errors(reference, nearby, kind, _DERIVED).values(), default=0.0),
        "reference": [dict(answer) for answer in reference],
        "baseline": [dict(answer) for answer in baseline],
        "kind": kind,
        "note": note,
        "random": random,
        "repeatable": repeatable,
        "draws": draws,
        "draws_inside": draws_inside,
        "state": tuple(state),
        "fed": bench.fed,
        "compared": step.kind,
    }


def _nearby(bench: Bench, variant: Variant, state: State, number: int) -> List[Named]:
    """What an eager run from slightly other weights gives."""
    step = bench.step(variant)
    step.nudge(_NUDGE_OF.get(variant.precision.split("-")[0], _NUDGE), seed=number)
    return _seen(bench, step, state)


def _fp64_reference(bench: Bench, variant: Variant, state: State, draws: bool) -> List[Named]:
    """What eager answers in double precision, with the numbers that it draws in its own.

    Raises:
        TypeError: its answer is not in double precision, or it cannot be given those numbers.
        Exception: whatever the model raises in double precision.
    """
    drawn: List[Draw] = []
    if draws:
        own = bench.step(variant.eager())  # before: a model that is built draws its weights
        with recorded(drawn):
            _seen(bench, own, state)
    step = bench.fp64_step(variant)
    with replayed(drawn) if draws else nullcontext():
        reference = _seen(bench, step, state)
    if not all(is_double(answer) for answer in reference[: step.n_shapes]):
        raise TypeError("its answer is not fp64")
    return reference


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

    if on_any_rank(not Path(path).exists()):
        make_reference(bench, variant, path)
    stored = torch.load(path, weights_only=True)
    bench = bench._replace(fed=stored["fed"])
    if step is not None:
        step.fed = stored["fed"]
    base = {
        "reference": stored["kind"], "compared": stored["compared"],
        "rms_error": None, "baseline_rms_error": None, "tolerance": None,
    }  # fmt: skip
    reference: List[Named] = [list(answer.items()) for answer in stored["reference"]]
    obstacle = _obstacle(stored, reference, variant)
    if on_any_rank(obstacle is not None):
        reason = obstacle or "another rank cannot be compared"
        return dict(base, verdict="not comparable", reason=reason)
    with without_tf32(stored["tf32"] and variant.precision == "fp32"):
        return dict(base, **_comparison(bench, variant, stored, reference, step))


def _comparison(
    bench: Bench,
    variant: Variant,
    stored: Dict[str, Any],
    reference: List[Named],
    step: Optional[Step],
) -> Dict[str, Any]:
    """Verdict, reason and errors of a variant that can be compared; arguments as `compare`'s."""
    state = State(*stored["state"])
    baseline: List[Named] = [list(answer.items()) for answer in stored["baseline"]]
    notes = [stored["note"]] if stored["note"] else []
    if stored["precision"] != _numeric_key(variant):
        baseline = _seen(bench, bench.step(variant.eager()), state)
        notes.append("measured against eager in {}".format(variant.precision))
    if stored["tf32"] and variant.precision == "fp32":
        step = None  # it may hold a recorded graph, or a template, that rounds like TF32
        notes.append("compared with TF32 switched off")
    is_worn = step is None or stored["draws"] or state.changing or not stored["repeatable"]
    if step is None or on_any_rank(bool(is_worn or step.trains)):
        step = _compiled_step(bench, variant, stored["draws"])
    judgements = _judgements(bench, step, stored, variant.precision, reference, baseline)
    if not judgements:
        return {"verdict": "not comparable", "reason": "there is nothing to compare"}
    worst = max(judgements, key=lambda judgement: judgement.badness)
    if worst.verdict == WRONG and stored["draws_inside"]:
        worst = worst._replace(verdict=NOT_COMPARABLE)  # it may have drawn other numbers
    if worst.verdict != RIGHT:
        if stored["draws"]:
            notes.append("the model draws random numbers; fallback_random was on")
        notes.extend(engines.rounding(variant.backend, variant.precision))
    return {
        "verdict": worst.verdict,
        "reason": "; ".join([part for part in [worst.problem, *notes] if part]),
        "rms_error": worst.rms_error,
        "baseline_rms_error": worst.baseline_rms_error,
        "tolerance": worst.tolerance,
    }


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
    """Judgements of each shape in each pass, and of what the first pass and training left behind.

    A model that changes between calls has one pass.
    """

    def judged(position: int, answer: Named) -> Judgement:
        expected = [(name, tensor) for name, tensor in reference[position] if step.shows(name)]
        answer = [(name, tensor) for name, tensor in answer if step.shows(name)]
        steep = {name: stored["steepness"] for name, _ in expected if name.startswith(_DERIVED)}
        return judge(
            expected, baseline[position], answer, precision, stored["kind"],
            stored["compared"], steep,
        )  # fmt: skip

    n_passes = N_PASSES if stored["repeatable"] else 1
    answers = _seen(bench, step, State(*stored["state"]), n_passes)
    n_shapes = step.n_shapes
    positions = [*list(range(n_shapes)) * n_passes, *range(n_shapes, len(reference))]
    # After the shapes of the last pass come the buffers and the updates.
    return [judged(position, answer) for position, answer in zip(positions, answers)]


def _seen(bench: Bench, step: Step, state: State, n_passes: int = 1) -> List[Named]:
    """All that is compared of a fresh step: answers, changed buffers, and what training does.

    Args:
        bench: how it was built.
        step: nothing was run of it yet.
        state: what of its state is compared.
        n_passes: how often it answers for each shape.

    Returns:
        The answers of each pass, one for each shape; the buffers after the first pass, if any
        change; the updates of the parameters by N_TRAINED_STEPS, in training.
    """
    answers = _answers(bench, step)
    buffers = step.buffers()
    for _ in range(n_passes - 1):
        answers += _answers(bench, step)
    if state.changing:
        answers.append([(name, buffers[name]) for name in state.changing if name in buffers])
    seed_everything(bench.request.seed + 1)
    updates = step.updates(N_TRAINED_STEPS, state.moving)
    if updates:
        answers.append(updates)
    return answers


def _changed(before: Dict[str, Any], after: Dict[str, Any]) -> List[str]:
    """Names of the buffers that differ."""
    return [
        name
        for name, tensor in after.items()
        if name not in before
        or before[name].shape != tensor.shape
        or not before[name].equal(tensor)
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
    after = generator_states()
    seed_everything(seed)
    return not all(a.equal(b) for a, b in zip(after, generator_states()))


def _numeric_key(variant: Variant) -> str:
    return "{}{}".format(variant.precision, "+channels_last" if variant.channels_last else "")


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
