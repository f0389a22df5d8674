"""What runs are called beside each other, and what was run, in a few words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

from profiler_core.analysis.compilation.by_script import of_record
from profiler_core.analysis.wording.script_compilation import name_with
from profiler_core.analysis.wording.sentence import clipped, listed
from profiler_core.dates import minute, second
from profiler_core.model.run import RunRecord

_MOST_TOGETHER = 3  # names of runs in one title
_LONG_LABEL = 28  # characters: longer ones lose what all of them share
_LONGEST_LABEL = 60  # characters; several stand side by side above tables
_BY_ITSELF = "where its function says"  # a function that calls torch.compile itself
_TARGET = re.compile(r"\+target=[^+]*")
_SEPARATORS = "_-. /"
# Words that say nothing of what a file is of.
_OF_ANY_TRACE = ("", "trace", "traces", "run", "profile", "profiler", "torch", "pytorch", "pt")
_WORDS = re.compile(r"[^_\-. /]+[_\-. /]*|[_\-. /]+")


@dataclass(frozen=True)
class Labelled:
    """A run as far as its label goes; `key` is no other run's."""

    record: RunRecord
    path: Path
    key: str

    @property
    def variant(self) -> str:
        """What to call it inside its comparison, without what its script compiles."""
        return _given_name(self.record, self.path)

    @property
    def is_unnamed(self) -> bool:
        """Is nothing known of it but the name of its file or folder?"""
        record = self.record
        return not record.variant and not record.workload and record.name in ("", self.path.name)


def own_name(record: RunRecord, path: Path) -> str:
    """What a run is called on its own: its variant, its name, else its file's; never empty.

    A run that is called eager and is not by its record says so: "eager, with 12 blocks compiled
    by the script".
    """
    return name_with(_given_name(record, path), of_record(record))


def variant_name(record: RunRecord) -> str:
    """The run's variant as `own_name` says it; "" where the record has none."""
    variant = _with_compiled(_plain_variant(record), record)
    return name_with(variant, of_record(record)) if record.variant else ""


def _given_name(record: RunRecord, path: Path) -> str:
    return _with_compiled(_plain_variant(record) or record.name or path.name, record)


def _plain_variant(record: RunRecord) -> str:
    """The variant without its compile target, where it is known what that was."""
    return _TARGET.sub("", record.variant) if _compiled(record) else record.variant


def _with_compiled(label: str, record: RunRecord) -> str:
    return ", ".join(filter(None, (label, _compiled(record))))


def _compiled(record: RunRecord) -> str:
    """What of the model was compiled: "12 blocks and optimizer"; "" for the model and for eager."""
    compiled = record.measurement.compiled if record.measurement else None
    if compiled is None:
        return ""
    n = len(compiled.modules)
    of_place = {
        "modules": f"{n} blocks" if "blocks" in compiled.target else f"{n} modules",
        "loss": "forward and loss",
        "step": "whole step",
        "as-is": "" if compiled.target else _BY_ITSELF,
        "whole": "whole model" if "whole" in compiled.target else "",
    }
    phrase = of_place.get(compiled.where, "")
    if compiled.where == "modules" and n == 1:
        phrase = compiled.modules[0]
    if compiled.optimizer:
        phrase = f"{phrase.replace(' and ', ', ') or 'model'} and optimizer"
    return phrase


def run_labels(runs: Sequence[Labelled]) -> tuple[str, ...]:
    """The shortest names that tell the runs apart: variants, with more where these repeat.

    Options that all of them share are left out (`short_variants`). What is added, the first that
    tells them apart: the workload, the name that somebody gave, the commit, torch, the seed, the
    folder, the time, the key.
    """
    compiled = [of_record(run.record) for run in runs]
    for parts in _longer_and_longer(runs):
        labels = tuple(map(name_with, (clipped(part, _LONGEST_LABEL) for part in parts), compiled))
        if len(set(labels)) == len(labels):
            return labels
    return tuple(map(name_with, (f"{run.variant} ({run.key})" for run in runs), compiled))


def _longer_and_longer(runs: Sequence[Labelled]) -> Iterator[Sequence[str]]:
    records = [run.record for run in runs]
    variants = _distinct_variants(runs)
    workloads = {record.workload for record in records}
    # A variant's name alone would hide that two runs are of different workloads.
    if len(workloads) == 1 or "" in workloads:
        yield variants
    yield _joined(" · ", [record.workload for record in records], variants)
    yield from _of_versions(records, variants)
    if all(record.variant and record.name for record in records):
        yield [record.name for record in records]
    if all(run.is_unnamed for run in runs):
        yield [run.path.parent.name for run in runs]  # bert.eager/trace.json.gz
    yield from _by_what_differs(runs, variants)


def _of_versions(records: Sequence[RunRecord], variants: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of `capture --against`: "main, default"."""
    versions = [str(record.spec.get("version") or "") for record in records]
    if all(versions):
        yield _joined(", ", versions, variants)


def _by_what_differs(runs: Sequence[Labelled], variants: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of one variant by their code, folder or time, the most telling first."""
    records, folders = [run.record for run in runs], [run.path.parent.name for run in runs]
    for facts in _telling_facts(records):
        yield _joined(", ", variants, facts)
    if not any(run.record.capture_id == folder for run, folder in zip(runs, folders, strict=True)):
        yield _joined("/", folders, variants)
    for moment in (minute, second):
        moments = [moment(record.created_at) if record.created_at else "" for record in records]
        yield _joined(", ", variants, moments)
    yield _joined("/", folders, [run.path.name for run in runs])


def _telling_facts(records: Sequence[RunRecord]) -> Iterator[Sequence[str]]:
    """What tells runs of one variant apart, where each run has it: code, torch, seed."""
    commits = [str(record.environment.get("git_commit") or "")[:7] for record in records]
    if all(commits):
        yield [
            f"commit {commit}{' with changes' if record.environment.get('git_dirty') else ''}"
            for commit, record in zip(commits, records, strict=True)
        ]
    versions = [str(record.environment.get("torch") or "") for record in records]
    if all(versions):
        yield [f"torch {version[:20]}" for version in versions]
    seeds = [record.spec.get("seed") for record in records]
    if None not in seeds:
        yield [f"seed {str(seed)[:20]}" for seed in seeds]


def _distinct_variants(runs: Sequence[Labelled]) -> tuple[str, ...]:
    """The variants without what all of them share, each with what of the model it compiled."""
    variants = short_variants([_plain_variant(run.record) or run.variant for run in runs])
    if max(map(len, variants), default=0) > _LONG_LABEL:
        variants = telling_parts(variants)
    records = [run.record for run in runs]
    if len(runs) > 1 and {_compiled(record) for record in records} == {_BY_ITSELF}:
        return tuple(variants)
    return tuple(starmap(_with_compiled, zip(variants, records, strict=True)))


def _joined(separator: str, first: Sequence[str], second: Sequence[str]) -> list[str]:
    return [separator.join(filter(None, parts)) for parts in zip(first, second, strict=True)]


def short_variants(variants: Sequence[str]) -> tuple[str, ...]:
    """Variants without the options that all of them have: `run_facts` says those once.

    ("eager+bf16", "default+bf16+dynamic") becomes ("eager", "default+dynamic"). A variant alone
    keeps its name, and so do all where the short ones would not differ.
    """
    parts = [variant.split("+") for variant in variants]
    shared = set.intersection(*(set(options[1:]) for options in parts)) if len(parts) > 1 else set()
    short = tuple(
        "+".join([head, *(option for option in options if option not in shared)])
        for head, *options in parts
    )
    return short if len(set(short)) == len(set(variants)) else tuple(variants)


def telling_parts(names: Sequence[str]) -> tuple[str, ...]:
    """Names without the words that all of them begin or end with; unchanged where none is left.

    ("my_model_eager_trace.json.gz", "my_model_compiled_trace.json.gz") becomes ("eager",
    "compiled"): words end at one of `_-. /`.
    """
    words = [_WORDS.findall(name) for name in names]
    shortest = min(map(len, words), default=0)
    if len(words) < 2 or not shortest:
        return tuple(names)
    head = _n_shared(words, shortest)
    tail = _n_shared([name_words[::-1] for name_words in words], shortest - head)
    parts = [
        "".join(name_words[head : len(name_words) - tail]).strip(_SEPARATORS)
        for name_words in words
    ]
    return tuple(parts) if all(parts) and len(set(parts)) == len(set(names)) else tuple(names)


def shared_part(names: Sequence[str]) -> str:
    """The words that all of several names begin with: what they are of; "" where they share none.

    ("my_model_eager_trace.json", "my_model_compiled_trace.json") gives "my_model".
    """
    words = [_WORDS.findall(name) for name in names]
    if len(words) < 2 or len(set(names)) < 2:
        return ""
    n = _n_shared(words, min(map(len, words)))
    tells = any(word.strip(_SEPARATORS).lower() not in _OF_ANY_TRACE for word in words[0][:n])
    return "".join(words[0][:n]).strip(_SEPARATORS) if tells else ""


def names_together(names: Sequence[str]) -> str:
    """What several runs are called as one: the name that all have, its shared words, else each.

    Of more than three the first two, and how many more there are.
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) <= _MOST_TOGETHER:
        each = distinct
    else:
        each = [*distinct[:2], f"{len(distinct) - 2} more"]
    return shared_part(distinct) or listed(each)


def _n_shared(words: Sequence[Sequence[str]], most: int) -> int:
    """How many first words all of them have in common."""
    n = 0
    while n < most and len({name_words[n].strip(_SEPARATORS) for name_words in words}) == 1:
        n += 1
    return n


def _mode(record: RunRecord) -> list[str]:
    """Training or inference: what the steps did, else what was asked for; nothing if unknown."""
    mode = record.measurement.mode if record.measurement is not None else None
    asked_for = record.spec.get("training")
    if mode is None and isinstance(asked_for, bool):
        mode = "training" if asked_for else "inference"
    return [mode] if mode in ("training", "inference") else []


def run_facts(record: RunRecord) -> list[str]:
    """What was run, as far as run.json says: workload, mode, options, batch, device, torch."""
    spec, environment = record.spec, record.environment
    facts = [record.workload or record.name]
    facts += _mode(record)
    if spec.get("precision") is not None:
        facts.append(str(spec["precision"])[:40])
    if spec.get("batch_size") is not None:
        facts.append(f"batch {str(spec['batch_size'])[:40]}")
    facts += _per_step(record)
    options = ["channels_last"] if spec.get("channels_last") is True else []
    # Names of uploads may hold a "+" that begins no option: only a capture's variants have them.
    # Options of a backend are said by its name alone.
    modifiers = record.variant.split("+")[1:] if record.spec else []
    options += [word for word in modifiers if "=" not in word]
    facts += [option for option in dict.fromkeys(options) if option not in facts]
    device = environment.get("gpu") or environment.get("cpu")
    if device:
        facts.append(str(device)[:80])
    if environment.get("torch"):
        facts.append(f"torch {str(environment['torch']).split('+')[0][:20]}")
    return [fact for fact in facts if fact]


def _per_step(record: RunRecord) -> list[str]:
    """What one step handles, where that is more than a batch."""
    measurement = record.measurement
    if measurement is None:
        return []
    n_batches, tokens = measurement.batches_per_step, measurement.tokens_per_step
    batches = [f"{n_batches} batches per step"] if n_batches > 1 else []
    return [*batches, f"{tokens} tokens per step"] if tokens is not None else batches
