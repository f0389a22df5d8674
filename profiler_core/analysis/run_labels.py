"""What runs are called beside each other, and what was run, in a few words."""

import re
from collections.abc import Sequence

from profiler_core.model.run import RunRecord

_SEPARATORS = "_-. /"
_WORDS = re.compile(r"[^_\-. /]+[_\-. /]*|[_\-. /]+")


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


def _n_shared(words: Sequence[Sequence[str]], most: int) -> int:
    """How many first words all of them have in common."""
    n = 0
    while n < most and len({name_words[n].strip(_SEPARATORS) for name_words in words}) == 1:
        n += 1
    return n


def run_facts(record: RunRecord) -> list[str]:
    """What was run, as far as run.json says: workload, mode, options, batch, device, torch."""
    spec, environment = record.spec, record.environment
    facts = [record.workload or record.name]
    if isinstance(spec.get("training"), bool):
        facts.append("training" if spec["training"] else "inference")
    if spec.get("precision") is not None:
        facts.append(str(spec["precision"])[:40])
    if spec.get("batch_size") is not None:
        facts.append(f"batch {str(spec['batch_size'])[:40]}")
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
