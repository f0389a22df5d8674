"""Starts the process that asks HTA, and keeps what it answered."""

from pathlib import Path

import msgspec

from profiler_core.errors import BadInput
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.hta.answer import HtaAnswer
from profiler_core.ranks.kept import place_of, write
from profiler_core.worker.environment import Need
from profiler_core.worker.process import DidNotRun
from profiler_core.worker.worker import ask

_LIMIT_S = 300.0  # HTA takes seconds on a trace of 20 MB and minutes on one of a GB
_NEEDS: tuple[Need, ...] = ("remote",)  # a place may be a URL


def hta_answer(
    place: str, found: RankFiles, baseline: tuple[str, RankFiles] | None = None
) -> HtaAnswer:
    """HTA's answers, from the cache where these files were asked about before.

    Raises:
        BadInput: the process was ended, took too long, or could not read a trace.
    """
    kept = _kept_at(found, baseline)
    if kept is not None and kept.is_file():
        try:
            return msgspec.json.decode(kept.read_bytes(), type=HtaAnswer)
        except msgspec.DecodeError:
            kept.unlink(missing_ok=True)
    answer = _asked([place, *([baseline[0]] if baseline else [])])
    if kept is not None and answer.version is not None:  # installed later, it is asked again
        write(kept, msgspec.json.encode(answer))
    return answer


def _kept_at(found: RankFiles, baseline: tuple[str, RankFiles] | None) -> Path | None:
    other = place_of(baseline[1], "x") if baseline else None
    return place_of(found, f"{other.stem[:12] if other else 'alone'}.hta.json")


def _asked(places: list[str]) -> HtaAnswer:
    try:
        return ask(
            "profiler_core.ranks.hta",
            *places,
            kind=HtaAnswer,
            needs=_NEEDS,
            within_s=_LIMIT_S,
            ended="The process that asks HTA ended with {status}.",
            remedy="Our own numbers above stand.",
        )
    except DidNotRun as error:
        raise BadInput(
            f"HTA had not answered after {_LIMIT_S:.0f} s and was ended."
            if error.took_too_long
            else f"HTA could not be asked: {error}.",
            remedy="Our own numbers above stand; HTA is slow on large traces.",
        ) from error
