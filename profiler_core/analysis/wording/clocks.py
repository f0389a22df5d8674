"""Why a share of the profiled step is not that of the step as it was timed."""

# Where both are shown, or a page shows the one and Overview the other.
SHARES_DIFFER = (
    "The profiler slows the host, so that shares of the profiled step are not those of the step "
    "as it was timed without the profiler."
)
