"""All numbers of this process as a monitor reads them."""

from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from profiler_core.ui.metrics.counted import REGISTRY
from profiler_core.ui.metrics.moment import Moment

CONTENT_TYPE = CONTENT_TYPE_LATEST

_moment = Moment()
REGISTRY.register(_moment)


def metrics_text() -> bytes:
    """OpenMetrics 1.0; asks the database, the queue and the disk."""
    _moment.count_ended_jobs()
    return bytes(generate_latest(REGISTRY))  # type: ignore[no-untyped-call]
