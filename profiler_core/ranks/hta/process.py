"""Starts the process that runs HTA, and caches its answer."""

from pathlib import Path

import msgspec

from profiler_core.errors import BadInput
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.hta.answer import HtaAnswer
from profiler_core.ranks.job_cache import cache_path, write
from profiler_core.typed import ready
from profiler_core.worker.environment import Need
from profiler_core.worker.process import DidNotRun
from profiler_core.worker.worker import ask

_LIMIT_S = 300.0  # HTA takes seconds on a trace of 20 MB and minutes on one of a GB
_NEEDS: tuple[Need, ...] = ("remote",)  # a place may be a URL


def hta_answer(
    location: str, rank_files: RankFiles, baseline: tuple[str, RankFiles] | None = None
) -> HtaAnswer:
    """HTA's answers, from the cache where these files were asked about before.

    Raises:
        BadInput: the process was ended, took too long, or could not read a trace.
    """
    cached = _cache_path(rank_files, baseline)
    if cached is not None and cached.is_file():
        try:
            return msgspec.json.decode(cached.read_bytes(), type=ready(HtaAnswer))
        except msgspec.DecodeError:
            cached.unlink(missing_ok=True)
    answer = _run_hta([location, *([baseline[0]] if baseline else [])])
    if cached is not None and answer.version is not None:  # installed later, it is asked again
        write(cached, msgspec.json.encode(answer))
    return answer


def _cache_path(rank_files: RankFiles, baseline: tuple[str, RankFiles] | None) -> Path | None:
    baseline_path = cache_path(baseline[1], "x") if baseline else None
    return cache_path(
        rank_files, f"{baseline_path.stem[:12] if baseline_path else 'alone'}.hta.json"
    )


def _run_hta(locations: list[str]) -> HtaAnswer:
    try:
        return ask(
            "profiler_core.ranks.hta",
            *locations,
            kind=HtaAnswer,
            needs=_NEEDS,
            within_s=_LIMIT_S,
            ended="The process that asks HTA ended with {status}.",
            remedy="Use Fusionscope's own numbers above.",
        )
    except DidNotRun as error:
        raise BadInput(
            f"HTA had not answered after {_LIMIT_S:.0f} s and was ended."
            if error.took_too_long
            else f"HTA could not be asked: {error}.",
            remedy="Use Fusionscope's own numbers above: HTA is slow on large traces.",
        ) from error
