"""The runs of a capture before anything is measured: each variant of each version, in turn."""

from collections.abc import Sequence
from pathlib import Path

from profiler_core.capture.run_writer import RunWriter
from profiler_core.capture.sweep.points import Point
from profiler_core.capture.variant_run import VariantRun
from profiler_core.capture.versions import Version


def runs_of(
    versions: Sequence[Version],
    capture_id: str,
    directory: Path,
    point: tuple[str, Point] | None,
    experiment: str = "",
) -> list[VariantRun]:
    """Their run directories, with what is known of them; the first is the baseline of all.

    Args:
        versions: of the code; the one that others are compared with first.
        capture_id: of the capture.
        directory: its folder.
        point: the sweep that it belongs to, by its id, and the place in it.
        experiment: the id of the one that it is a trial of; empty: of none.
    """
    runs: list[VariantRun] = []
    for version in versions:
        spec = version.spec
        spec_fields = {
            k: value for k, value in spec.to_dict().items() if k not in ("variants", "sweep")
        }
        if experiment:
            spec_fields["experiment"] = experiment
        if version.label:
            spec_fields.update(version=version.label, is_against=version.is_against)
        for number, variant in enumerate(spec.variants):
            slug = "-".join(filter(None, (version.slug, variant.slug)))
            title = ", ".join(filter(None, (version.label, variant.label)))
            writer = RunWriter(
                directory / slug,
                {
                    "run_id": f"{capture_id}.{slug}",
                    "capture_id": capture_id,
                    "role": "candidate" if runs else "baseline",
                    "baseline_run_id": runs[0].writer.record["run_id"] if runs else None,
                    "name": f"{spec.title} {title}",
                    "workload": spec.workload_name,
                    "variant": variant.label,
                    "world_size": spec.n_ranks,
                    "spec": {**spec_fields, **variant.to_dict(), "training": spec.trains},
                    "sweep": point[1].record(point[0], len(runs)) if point is not None else None,
                },
            )
            writer.record["environment"].update(version.code)
            runs.append(VariantRun(variant, writer, version.label, is_first=not number))
    return runs
