"""Ranks reduced on the workers of an existing Dask cluster; only this module knows Dask.

The workers need this package and must reach the traces: a shared folder, or a URL.
"""

from collections.abc import Iterator, Sequence

from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.errors import BadInput
from profiler_core.ranks.find import RankFile
from profiler_core.ranks.summary_of import summary_of

_CONNECT_S = 10


def summaries_on(address: str, files: Sequence[RankFile]) -> Iterator[RankSummary]:
    """The summary of each rank as it finishes, in no order; closing the iterator cancels the rest.

    Args:
        address: of the scheduler, "tcp://host:8786".
        files: the ranks, with locations that the workers can reach.

    Raises:
        BadInput: Dask is not installed, the scheduler does not answer, or a worker failed.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise BadInput(
            "--scheduler needs Dask, which is not installed.",
            remedy="Install it: pip install distributed.",
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        raise BadInput(
            f"No Dask scheduler answers at {address}: {error}.",
            remedy="Check the address; it is printed by `dask scheduler`, as tcp://host:8786.",
        ) from error
    with client:
        futures = client.map(summary_of, list(files), pure=False, retries=1)
        try:
            for future in as_completed(futures, loop=client.loop):
                try:
                    yield future.result()
                except Exception as error:  # whatever a worker raised is raised here again
                    raise BadInput(
                        f"A worker of {address} failed: {type(error).__name__}: {error}.",
                        remedy="Install this version of Fusionscope on every worker.",
                    ) from error
                future.release()
        finally:
            client.cancel(futures)
