"""Where the source lines of the ledger lie: it names them by the file alone."""

from collections.abc import Mapping

from profiler_core.model.inductor import InductorLog


def source_paths(*logs: InductorLog | None) -> Mapping[str, str]:
    """`modeling_bert.py:84` -> its full path as logged; where two share a name, the first.

    Args:
        logs: of runs, where they have any.
    """
    files: dict[str, str] = {}
    for log in logs:
        for graph in log.graphs if log is not None else ():
            for node in (*graph.dynamo_nodes, *graph.post_nodes, *graph.aot_nodes):
                if node.file:
                    files.setdefault(node.source, node.file)
    return files


def with_path(label: str, files: Mapping[str, str]) -> str:
    """`modeling_bert.py:84: code` with the file's full path; as it is where none is known."""
    line, colon, code = label.partition(": ")
    file = files.get(line)
    return label if file is None else f"{file}:{line.rpartition(':')[2]}{colon}{code}"
