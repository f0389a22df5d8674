"""The mutants: which rule is broken, how, and which tests are to notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change to one module of profiler_core/analysis.

    Attributes:
        module: Path below profiler_core/analysis.
        rule: What the changed line decides, in a few words.
        old: Text that stands there exactly once.
        new: What it is replaced by.
        tests: Files or folders below tests/analysis.
        survives: Why no test notices; "" for a mutant that must be killed.
    """

    module: str
    rule: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""


_COMPARE = ("test_compare.py", "test_verdict.py")
_COST = ("compilation/test_costs.py", "test_compare.py", "compilation/test_report.py")
_EARNED = ("test_verdict.py", "test_measures.py", "test_compare.py")
_MEMORY = ("memory/test_curve.py", "test_compare.py", "test_summary.py")
_TELEMETRY = ("telemetry/test_run.py",)
_NOISE = ("test_noise.py",)
_GATE = ("gate/test_gate.py",)

MUTANTS = (
    # compare.py
    Mutant(
        "compare.py", "different workloads earn no compile time back",
        "    if not workloads_differ:\n        of_baseline", "    if True:\n        of_baseline",
        _COMPARE,
    ),
    Mutant(
        "compare.py", "a GPU and a CPU have no common step time",
        "    if on_different_devices(baseline, candidate):\n        # A host",
        "    if False:\n        # A host", _COMPARE,
    ),
    Mutant(
        "side.py", "an empty trace's zeros are no measurements",
        "steps = per_step(summary) if summary and not is_empty(summary) else None",
        "steps = per_step(summary) if summary else None", _COMPARE,
    ),
    Mutant(
        "compare.py", "categories are per step",
        "else getattr(by_category[key], field) / n\n", "else getattr(by_category[key], field)\n",
        _COMPARE,
    ),
    # verdict_kind.py and wording/verdict.py
    Mutant(
        "verdict_kind.py", "wrong results come before any speed",
        'if numerics is not None and numerics.verdict == "wrong":', "if False:", _COMPARE,
    ),
    Mutant(
        "verdict_kind.py", "an interval below 1 is a judgement",
        "if low > 1 or high < 1:", "if low > 1:", _COMPARE,
    ),
    Mutant(
        "verdict_kind.py", "an interval above 1 is faster",
        '"faster" if low > 1', '"faster" if low < 1', _COMPARE,
    ),
    Mutant(
        "verdict_kind.py", "a wide interval around 1 proves nothing",
        "low < 1 / _LARGEST_ALIKE or high > _LARGEST_ALIKE", "high > _LARGEST_ALIKE", _COMPARE,
    ),
    Mutant(
        "wording/verdict.py", "the interval of a slowdown is turned over",
        "low, high = 1 / high, 1 / low", "low, high = low, high", _COMPARE,
    ),
    # step_time.py
    Mutant(
        "step_time.py", "only rounds of one capture were timed in turns",
        "return same_capture and all(m.interleaved", "return all(m.interleaved", _COMPARE,
    ),
    Mutant(
        "step_time.py", "an interval that holds 1 is not significant",
        "not judged.interval[0] <= 1 <= judged.interval[1]", "not judged.interval[0] <= 1",
        ("test_step_time.py",),
    ),
    # noise.py
    Mutant(
        "noise.py", "rounds timed in turns are drawn in pairs",
        "turns = _turns(*runs) if interleaved else None", "turns = None", _NOISE,
    ),
    Mutant(
        "noise.py", "too few rounds give no interval",
        "if min(map(len, runs)) < MIN_ROUNDS:", "if False:", _NOISE,
    ),
    Mutant(
        "noise.py", "rounds that depend on their neighbours are drawn in blocks",
        "    if correlation <= 0:", "    if True:", _NOISE,
    ),
    Mutant(
        "noise.py", "few rounds move the quantiles out",
        "normal.cdf(-t * math.sqrt((freedom + 1) / freedom))", "normal.cdf(-z)", _NOISE,
    ),
    Mutant(
        "noise.py", "drift counts where runs were not timed in turns",
        "drift = _drift(*runs)", "drift = 0.0", _NOISE,
    ),
    Mutant(
        "noise.py", "a drift is carried on over the time between the runs",
        "min(_LONGEST_DRIFT, max(1.0, 2 * _distance(baseline, candidate)))", "1.0", _NOISE,
    ),
    Mutant(
        "noise.py", "a run that waited for a CPU may be as fast as its fastest steps",
        "return bool(waited_too_long(measurement.host_load)) or bool(slow / fast > _SCATTERED)",
        "return bool(slow / fast > _SCATTERED)", _NOISE,
    ),
    Mutant(
        "noise.py", "the fastest steps tell no difference on the side that the rounds deny",
        "    low, high = min(low, centre), max(high, centre)\n", "", _NOISE,
    ),
    Mutant(
        "noise.py", "the fastest steps of a quiet host decide nothing",
        "    if not any(map(_is_disturbed, measurements, times)):", "    if False:", _NOISE,
    ),
    Mutant(
        "noise.py", "the fastest steps say only that there is a difference",
        "    return None if low <= 0 <= high else (low, high)", "    return low, high", _NOISE,
    ),
    Mutant(
        "noise.py", "turns on cores that are not alike are one draw",
        "*of_repeats, of_cores)", "*of_repeats, 0.0)", _NOISE,
    ),
    Mutant(
        "noise.py", "turns that scatter by a tenth were on cores that are alike",
        "_SCATTERED_CORES = 1.1", "_SCATTERED_CORES = 1.15", _NOISE,
    ),
    Mutant(
        "noise.py", "two processes of one code differ",
        "beside = math.hypot(processes, drift or 0.0)", "beside = drift or 0.0", _NOISE,
    ),
    # steps.py
    Mutant(
        "steps.py", "a step ends with its last device event",
        'pl.max_horizontal("end_ns", "device_end", pl.lit(start)).cum_max()',
        'pl.max_horizontal("end_ns", pl.lit(start)).cum_max()', ("test_steps.py",),
    ),
    Mutant(
        "steps.py", "the window begins after the left-over work",
        'start = max(steps["ts_ns"][0], left_over_end)', 'start = steps["ts_ns"][0]',
        ("test_steps.py",),
    ),
    Mutant(
        "steps.py", "work launched after the last step is in no total",
        'n_launched_after=int(is_after.sum())', "n_launched_after=0", ("test_steps.py",),
    ),
    Mutant(
        "steps.py", "a trace without steps counts as one",
        "return max(1, len(self.steps))", "return len(self.steps)",
        ("test_steps.py", "test_summary.py", "test_waterfall.py"),
    ),
    # idle.py
    Mutant(
        "idle.py", "a gap before the next launch's end is the host's",
        '(pl.col("launch_end_ns") <= pl.col("ts_ns"))',
        '(pl.col("launch_end_ns") >= pl.col("ts_ns"))', ("test_idle.py",),
    ),
    Mutant(
        "idle.py", "waiting for another stream is a dependency",
        'waited = ~pl.col("continues") & pl.col("other_stream")',
        'waited = pl.col("continues") & pl.col("other_stream")', ("test_idle.py",),
    ),
    Mutant(
        "idle.py", "the end of a step is its tail",
        "pieces = _without_tails(_gaps_with_launch(events, window), cuts)",
        "pieces = _without_tails(_gaps_with_launch(events, window), [])", ("test_idle.py",),
    ),
    Mutant(
        "idle.py", "beyond 10 µs a gap is launch latency",
        '.clip(0, BETWEEN_KERNELS_NS)', '.clip(0, 10 * BETWEEN_KERNELS_NS)', ("test_idle.py",),
    ),
    Mutant(
        "idle.py", "a launch that waits for over a millisecond waits for the device",
        "MOST_WAY_NS = 1_000_000", "MOST_WAY_NS = 2_000_000", ("test_idle.py",),
    ),
    # modules.py
    Mutant(
        "modules.py", "a run of which half is unknown tells no module's change",
        "_MOST_UNKNOWN = 0.5", "_MOST_UNKNOWN = 0.6", ("test_modules.py",),
    ),
    # what_if, experiment
    Mutant(
        "compilation/edge_steps.py", "steps of another device time do other work",
        "SAME_DEVICE_TIME = 0.05", "SAME_DEVICE_TIME = 0.06", ("compilation/test_edge_steps.py",),
    ),
    Mutant(
        "what_if/effects.py", "what one replay hands the next is not copied",
        "return bool((scene.two.launch_row[first:last] >= 0).any())", "return True",
        ("what_if/test_effects.py",),
    ),
    Mutant(
        "what_if/effects.py", "short guards leave the caches as they are",
        "CACHES_HOLD_NS, CACHES_EMPTIED_NS = 50_000.0", "CACHES_HOLD_NS, CACHES_EMPTIED_NS = 0.0",
        ("what_if/test_effects.py",),
    ),
    Mutant(
        "finding_rules/host.py", "of copies that are joined one is left",
        "gone = (n - 1) / n * int(", "gone = int(", ("test_findings.py",),
    ),
    Mutant(
        "experiment/halving.py", "no setting stops because eager is faster",
        " and label != baseline}", "}", ("experiment/test_halving.py",),
    ),
    # launches.py
    Mutant(
        "launches.py", "a graph launch is one call",
        'calls = linked.filter(pl.col("launch_row").is_first_distinct())', "calls = linked",
        ("test_launches.py",),
    ),
    Mutant(
        "launches.py", "the delay counts from the end of the call",
        '(calls["ts_ns"] - calls["launch_ts_ns"] - calls["launch_dur_ns"])',
        '(calls["ts_ns"] - calls["launch_ts_ns"])', ("test_launches.py",),
    ),
    Mutant(
        "launches.py", "what starts at the moment of a launch is still queued then",
        'side="left")', 'side="right")', ("test_launches.py",),
    ),
    # categories.py
    Mutant(
        "categories.py", "the lower of the rules of kernel and operators holds",
        "np.minimum(refined[inside], number)", "np.maximum(refined[inside], number)",
        ("test_categories.py",),
    ),
    Mutant(
        "threads.py", "a range ends before what is launched at its end",
        'closed = np.searchsorted(self.starts, outermost["end"].to_numpy(), side="left")',
        'closed = np.searchsorted(self.starts, outermost["end"].to_numpy(), side="right")',
        ("test_categories.py",),
    ),
    Mutant(
        "categories.py", "a copy is a copy whatever launched it",
        '        pl.when(pl.col("cat") == MEMCPY)\n'
        '        .then(pl.lit("memcpy", CATEGORY))\n        .when(',
        "        pl.when(", ("test_categories.py",),
    ),
    # compilation/cost.py
    Mutant(
        "compilation/cost.py", "a first call counts beyond a later step",
        "max(0.0, call_ns - step_ns) / 1e9", "max(0.0, call_ns) / 1e9", _COST,
    ),
    Mutant(
        "compilation/cost.py", "a part of a step is a whole step to break even",
        "math.ceil(seconds * 1e9 / saved_ns)", "math.floor(seconds * 1e9 / saved_ns)", _COST,
    ),
    Mutant(
        "compilation/cost.py", "a loss is never earned back",
        'verdict in ("slower", "no_difference")', 'verdict == "no_difference"', _EARNED,
    ),
    Mutant(
        "compilation/cost.py", "a ratio without a difference earns no compile time back",
        'verdict in ("slower", "no_difference")', 'verdict == "slower"', _EARNED,
    ),
    Mutant(
        "compilation/cost.py", "beside a compiled baseline only the difference is earned back",
        "replace(cost, beyond_baseline_seconds=beyond), beyond\n",
        "replace(cost, beyond_baseline_seconds=beyond), seconds\n", _EARNED,
    ),
    Mutant(
        "compilation/cost.py", "the first call of an eager baseline is no compile time",
        'compiled = cost.source == "logs" and bool(cost.seconds)',
        "compiled = cost.seconds is not None", _EARNED,
    ),
    Mutant(
        "compilation/cost.py", "a backend with an engine compiles in its first call",
        "if engine is not None and first is not None:", "if False:",
        (*_COST, "test_engines.py"),
    ),
    Mutant(
        "compilation/compile_time.py", "a backward inside a forward counts once",
        "uncovered[n] = max(0, end - max(start, covered_until))", "uncovered[n] = end - start",
        _COST,
    ),
    Mutant(
        "compilation/compile_time.py", "ranks compile at the same time",
        "return max(ranks.values(), key=lambda", "return min(ranks.values(), key=lambda", _COST,
    ),
    # memory
    Mutant(
        "memory/curve.py", "the level before the first event comes first",
        'first["total_allocated_bytes"] - first["bytes"]', 'first["total_allocated_bytes"]',
        _MEMORY,
    ),
    Mutant(
        "memory/curve.py", "the host's memory counts only where there is no GPU",
        "if c.is_of_cpu != beside_gpu", "if True", _MEMORY,
    ),
    Mutant(
        "memory/curve.py", "thinning a curve loses no peak",
        "            first + int(allocated.argmax()),\n", "",
        _MEMORY,
    ),
    Mutant(
        "memory/curve.py", "only events of the profiled steps count",
        'pl.col("ts_ns").is_between(steps["ts_ns"][0], steps["end_ns"].max())',
        'pl.col("ts_ns") >= 0', _MEMORY,
    ),
    Mutant(
        "memory/peak.py", "a measured peak comes before the trace's",
        "if measurement is not None and measurement.peak_reserved_bytes is not None:", "if False:",
        _MEMORY,
    ),
    Mutant(
        "memory/allocations.py", "on a CPU a buffer is of the operator that it lies in",
        'pl.col("ts_ns") + pl.col("dur_ns") - 1', 'pl.col("ts_ns")', _MEMORY,
    ),
    Mutant(
        "memory/allocations.py", "without names of generated kernels none follows a buffer",
        "if not trace.has_device_events and not names_generated_code(trace):", "if False:",
        _MEMORY,
    ),
    Mutant(
        "memory/report.py", "the parts of a peak are those of a snapshot taken at it",
        "segments.reserved_bytes != reserved or", "reserved < 0 or", ("memory/test_report.py",),
    ),
    # gate
    Mutant(
        "gate/judgement.py", "one regression fails the gate",
        '(_NOT_COMPILED, "regression", _CANNOT)', '(_NOT_COMPILED, _CANNOT, "regression")', _GATE,
    ),
    Mutant(
        "gate/judgement.py", "wrong results are a regression",
        'comparison.numerics.verdict == "wrong":', 'comparison.numerics.verdict == "never":',
        _GATE,
    ),
    Mutant(
        "gate/judgement.py", "a change below the noise is no regression",
        "    if low > largest_change:", "    if change > largest_change:", _GATE,
    ),
    Mutant(
        "gate/judgement.py", "a pass needs rounds that would have shown the limit",
        "if limit.is_change and high > largest_change + abs(largest_change):", "if False:", _GATE,
    ),
    Mutant(
        "gate/judgement.py", "a limit met exactly is met",
        "slack = 1e-9 * max(abs(bound), 1.0)", "slack = -1e-9 * max(abs(bound), 1.0)", _GATE,
    ),
    Mutant(
        "gate/judgement.py", "rounds with a compilation judge nothing",
        "for role, n in zip((\"baseline\", \"candidate\"), n_compilations, strict=True):",
        "for role, n in ():", _GATE,
    ),
    # telemetry
    Mutant(
        "telemetry/energy.py", "a counter that went back gives no power",
        "if any(b[1] < a[1] for a, b in pairwise(ticks)):", "if False:", _TELEMETRY,
    ),
    Mutant(
        "telemetry/energy.py", "a second between ticks is the least",
        "if span_ns < MIN_ENERGY_S * 1e9:", "if False:", _TELEMETRY,
    ),
    Mutant(
        "telemetry/energy.py", "only moments at which the counter moved count",
        "if energy != before and phase.holds(t)", "if phase.holds(t)", _TELEMETRY,
    ),
    Mutant(
        "telemetry/clock_events.py", "a bit in single samples is no throttling",
        "self.kind in THROTTLING and self.is_lasting", "self.kind in THROTTLING",
        _TELEMETRY,
    ),
    Mutant(
        "telemetry/run.py", "energy is per step of the phase",
        "power.power_w * self.phase.length_ns / 1e9 / steps",
        "power.power_w * self.phase.length_ns / 1e9", _TELEMETRY,
    ),
    Mutant(
        "telemetry/run.py", "averages of the driver settle first",
        "settled = [s for s in self.inside if s.t_ns >= settled_ns]", "settled = list(self.inside)",
        _TELEMETRY,
    ),
    Mutant(
        "telemetry/run.py", "the run's own GPU is looked at",
        "if isinstance(index, int) and index in gpus.indexes:", "if False:", _TELEMETRY,
    ),
    # waterfall.py
    Mutant(
        "waterfall.py", "overlapping kernels count once",
        "parts[OVERLAP] = busy - sum(parts.values())", "parts[OVERLAP] = 0.0",
        ("test_waterfall.py",),
    ),
    Mutant(
        "summary.py", "a CPU's profiled times are brought to its unprofiled step",
        "return step_ns * self.n_steps / self.window_ns", "return 1.0",
        ("test_waterfall.py", "test_measures.py"),
    ),
    Mutant(
        "step_parts.py", "the overview's bar has a CPU's times as the waterfall has them",
        "summary.per_step(pace * summary", "summary.per_step(summary", ("test_measures.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "what is expanded is read once",
        "prod(n for n, stride in zip(shape, strides, strict=True) if stride)", "prod(shape)",
        ("ledger/test_bytes_of_results.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "zeros before a gradient count where a replay fills them",
        "not 0 < len(fills) < len(unit.events)", "True", ("ledger/test_bytes_by_call.py",),
    ),
    Mutant(
        "lines.py", "a line has its part by what it took in the baseline",
        "after = _divided(group.candidate, labels, before, group.adds)",
        "after = _divided(group.candidate, labels, {}, group.adds)", ("test_lines.py",),
    ),
    Mutant(
        "modules.py", "a bias that a kernel adds is its convolution's work",
        "own = added.baseline_ns / len(added.modules) if times else 1.0", "own = 0.0",
        ("test_added_biases.py",),
    ),
    Mutant(
        "operators.py", "a bias that a kernel adds is its convolution's time",
        "weights.get(added.op, 0) + added.baseline_ns", "weights.get(added.op, 0)",
        ("test_added_biases.py",),
    ),
    Mutant(
        "ledger/results.py", "attention writes a row for each query, not keys and values",
        "prod((*query[:-1], *value[-1:]))", "prod(query)", ("ledger/test_bytes_of_call.py",),
    ),
    Mutant(
        "ledger/results.py", "an elementwise result is as large as its arguments together",
        "prod(shape) * _item_of_elements(call, call.tensors)",
        "max(map(call.size, call.tensors))",
        ("ledger/test_bytes_of_call.py",),
    ),
    Mutant(
        "ledger/results.py", "a comparison writes truth values",
        "return 1\n    # A tensor of one value", "pass\n    # A tensor of one value",
        ("ledger/test_bytes_of_call.py",),
    ),
    Mutant(
        "ledger/results.py", "the overload of a reduction says what its second argument is",
        "if len(call.concrete) >= n_arguments else None\n    if along is None and call.shape",
        "\n    if along is None and call.shape",
        ("ledger/test_bytes_of_call.py",),
    ),
    Mutant(
        "ledger/bytes_of_call.py", "a lookup reads what it takes out of the table",
        "return min(call.size(0), n_bytes) + others, n_bytes",
        "return call.size(0) + others, n_bytes",
        ("ledger/test_bytes_of_call.py",),
    ),
    Mutant(
        "ledger/bytes_of_call.py", "values put into a tensor leave the rest of it alone",
        "n_bytes = min(prod(values) * call.item(0), call.size(0))", "n_bytes = call.size(0)",
        ("ledger/test_bytes_of_call.py",),
    ),
    Mutant(
        "sliding_windows.py", "a convolution's backward computes the gradients that are asked for",
        "(asked[0], asked[1], asked[2]) if", "(True, True, True) if",
        ("test_sliding_windows.py",),
    ),
    Mutant(
        "sliding_windows.py", "no window of a pooling begins in the padding behind",
        "starts - ((starts - 1) * s >= length + p)", "starts", ("test_sliding_windows.py",),
    ),
    Mutant(
        "finding_rules/op_work.py", "a transposed convolution slides its window over its input",
        "values if is_transposed(self.name, self.concrete) else out", "out",
        ("test_sliding_windows.py",),
    ),
    Mutant(
        "ledger/work_units.py", "the last call inside says which window slides how",
        "if row.name in WITH_WINDOWS:", "if row.name in WITH_WINDOWS and not unit.window:",
        ("test_sliding_windows.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "under autocast a result is as wide as what computes it",
        "written = written * inside // own", "pass", ("ledger/test_bytes_of_results.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "calls inside an operator that launch have bytes of their own",
        "if parts[0] is not unit:", "if False:", ("ledger/test_bytes_by_call.py",),
    ),
    Mutant(
        "ledger/work_units.py", "what autocast keeps cast is read as it is kept",
        " or _is_cast_inside(unit)", "", ("ledger/test_bytes_by_call.py",),
    ),
    Mutant(
        "ledger/results.py", "a cast's result has the type that it names",
        "prod(shape) * (named[0] or", "prod(shape) * (", ("ledger/test_bytes_of_results.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "a maximum is written with its indices",
        'if call.name.endswith("_with_indices") else 0', "if False else 0",
        ("test_sliding_windows.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "the gradient of a weight reads what the weight was applied to",
        "gradient + of_weight * values", "gradient + values", ("test_sliding_windows.py",),
    ),
    Mutant(
        "ledger/library_kernels.py", "a memset goes with the kernel that follows it",
        "min(options)", "min(options, key=lambda each: (each[0], -each[1]))",
        ("ledger/test_library_kernels.py",),
    ),
    Mutant(
        "ledger/library_kernels.py", "a split product is added up by the call that split it",
        "_PARTED * finishes(name)", "0", ("ledger/test_library_kernels.py",),
    ),
    Mutant(
        "ledger/library_kernels.py", "a helper costs little beside the kernel that it helps",
        "cost - main", "cost - min(extra[i : i + k])", ("ledger/test_library_kernels.py",),
    ),
    Mutant(
        "ledger/replay_overhead.py", "seed and offset are integers",
        'unit.dtypes[:1] in ((), ("long int",))', "True", ("ledger/test_replay_overhead.py",),
    ),
    Mutant(
        "ledger/graph_calls.py", "a fill is a replay's where it comes directly before it",
        "(is_before_replay and is_seed(step.units[piece.unit]))",
        "is_seed(step.units[piece.unit])", ("ledger/test_replay_overhead.py",),
    ),
    Mutant(
        "ledger/replay_overhead.py", "what both runs copy for replays is the same work",
        "if mine and theirs", "if False", ("ledger/test_replay_overhead.py",),
    ),
    Mutant(
        "ledger/bytes_moved.py", "a fill beside a library call does not write the call's result",
        "unit.common in _FILLS and", "False and", ("ledger/test_bytes_moved.py",),
    ),
    Mutant(
        "ledger/host_rows.py", "steps with other strides are no steps of one form",
        " ^ scalars.hash(3)", "", ("test_sliding_windows.py",),
    ),
    Mutant(
        "memory/curve.py", "shared memory is none of the allocator's",
        "events.filter(~(is_mapping | is_unmapping))", "events.filter(~is_mapping)",
        ("memory/test_curve.py",),
    ),
    Mutant(
        "compilation/by_script.py", "a region inside of another counts once",
        "starts[1:] >= ends[:-1]", "starts[1:] >= 0", ("compilation/test_by_script.py",),
    ),
    Mutant(
        "ranks/host_collectives.py", "a GPU's ranks are told by its kernels",
        "if trace.has_device_events:", "if False:", ("ranks/test_job.py",),
    ),
    Mutant(
        "waterfall.py", "a device busier than the step is the clocks' difference",
        "    if idle < 0:  # the clock", "    if False:  # the clock", ("test_waterfall.py",),
    ),
    Mutant(
        "unprofiled_idle.py", "the device's own pace is not scaled",
        "_host_shares(path, measured, idle_ns - own_pace_ns)",
        "_host_shares(path, measured, idle_ns)",
        ("test_waterfall.py",),
    ),
    Mutant(
        "waterfall.py", "a gap that the profiler made costs the device's own gap",
        "gaps_ns = summary.per_step(summary.n_late_gaps) * summary.own_gap_ns", "gaps_ns = 0.0",
        ("test_waterfall.py",),
    ),
    Mutant(
        "waterfall.py", "what the ledger does not have is a part of its own",
        "foreign = abs(total - owned_ns) > len(parts)", "foreign = False",
        ("test_waterfall.py", "test_opened_bar.py"),
    ),
    # finding_rules
    Mutant(
        "finding_rules/facts.py", "no kernel takes longer than the step",
        "return min(1.0, self.step_ns / busy_ns) if busy_ns else 1.0", "return 1.0",
        ("test_findings.py",),
    ),
    Mutant(
        "finding_rules/tf32.py", "a product with a vector is no matter of TF32",
        "if not _VECTORS.search(kernel.name)\n        and not", "if not", ("test_findings.py",),
    ),
    Mutant(
        "finding_rules/max_autotune.py", "gradients of convolutions have no template",
        ' - _without_template_ns(facts)', "", ("test_findings.py",),
    ),
    Mutant(
        "finding_rules/regressions.py", "a group that the ledger is not sure of is no regression",
        'all(group.confidence in _SURE for group in line.groups)', "True",
        ("test_regressions.py",),
    ),
    # unfused
    Mutant(
        "ledger/buffers.py", "a view of a buffer is as large as it is",
        "if name not in otherwise}", "if False}", ("unfused", "ledger/test_bytes_moved.py"),
    ),
    Mutant(
        "ledger/buffers.py", "a buffer handed over beside its view is handed over as a whole",
        "if name not in otherwise}", "}", ("unfused",),
    ),
    Mutant(
        "ledger/buffers.py", "what a stride of 0 repeats counts once",
        "for size, stride in sizes if stride)", "for size, stride in sizes)", ("unfused",),
    ),
    Mutant(
        "unfused/handovers.py", "views of a buffer count no more than it",
        "min(n_read, size)", "n_read", ("unfused",),
    ),
    Mutant(
        "unfused/handovers.py", "what another call reads has to be written all the same",
        "is_kept = is_returned or len(by_reader) > 1", "is_kept = is_returned",
        ("unfused",),
    ),
    Mutant(
        "unfused/handovers.py", "what the graph returns has to be written all the same",
        "is_kept = is_returned or len(by_reader) > 1", "is_kept = len(by_reader) > 1",
        ("unfused",),
    ),
    Mutant(
        "unfused/report.py", "neither call becomes shorter than nothing",
        "return min(max(at_peak_ns, at_pace_ns), self.time_ns)",
        "return max(at_peak_ns, at_pace_ns)", ("unfused",),
    ),
    # kernel_sides.py
    Mutant(
        "kernel_sides.py", "a kernel of two categories is in the one with most time",
        "weights[name].most_common(1)[0][0]", "weights[name].most_common()[-1][0]",
        ("test_kernel_sides.py",),
    ),
    Mutant(
        "kernel_sides.py", "times are per step",
        "time_ns=kernel.time_ns / n_steps", "time_ns=kernel.time_ns", ("test_kernel_sides.py",),
    ),
    Mutant(
        "kernel_sides.py", "the shortest call of both rows is kept",
        "min_ns=min(first.min_ns, second.min_ns)", "min_ns=first.min_ns", ("test_kernel_sides.py",),
    ),
    # gpu_time.py, intervals.py
    Mutant(
        "gpu_time.py", "communication that compute covers is not exposed",
        "exposed_communication_ns=compute_or_communication - compute,",
        "exposed_communication_ns=compute_or_communication,", ("test_gpu_time.py",),
    ),
    Mutant(
        "intervals.py", "overlapping intervals add only what is new",
        "np.maximum(starts, covered)", "starts", ("test_intervals.py",),
    ),
    Mutant(
        "intervals.py", "overlapping intervals of equal keys add only what is new",
        'pl.max_horizontal("ts_ns", covered)', 'pl.col("ts_ns")', ("test_intervals.py",),
    ),
    # ranks
    Mutant(
        "ranks/job.py", "two even ranks have no straggler",
        "if late.share < 0.5 + 0.5 / of_group:", "if late.share < 0.5:", ("ranks/test_job.py",),
    ),
    Mutant(
        "ranks/job.py", "a missing rank leaves bandwidths unknown",
        "if 0 < shared.height == complete.height", "if shared.height", ("ranks/test_job.py",),
    ),
    Mutant(
        "ranks/job.py", "imbalance is over the mean",
        "return max(row.compute_ns for row in rows) / mean - 1",
        "return max(row.compute_ns for row in rows) / mean", ("ranks/test_job.py",),
    ),
    Mutant(
        "ranks/slow_clock.py", "a clock costs no more than its ratio takes",
        "cost_ns = min(longer_ns, ", "cost_ns = max(longer_ns, ", ("ranks/test_slow_clock.py",),
    ),
    Mutant(
        "ranks/slow_clock.py", "clocks within three percent are alike",
        "(1 - MOST_APART) * others_mhz:", "others_mhz:", ("ranks/test_slow_clock.py",),
    ),
    Mutant(
        "ranks/rank_work.py", "kernels that one rank runs more often are other work",
        'on=["key", "n"], suffix', 'on=["key"], suffix', ("ranks/test_slow_clock.py",),
    ),
    Mutant(
        "telemetry/rank_clocks.py", "samples of other variants' turns are left out",
        "(phase_of(sample.t_ns, among) is not None or", "(True or", ("ranks/test_slow_clock.py",),
    ),
    Mutant(
        "telemetry/rank_clocks.py", "the clocks of the profiled steps go first",
        "chosen = profiled if is_profiled else", "chosen = profiled if False else",
        ("ranks/test_slow_clock.py",),
    ),
    Mutant(
        "ranks/job_summary.py", "work that fills the bubble is no waiting",
        "of_work_ns = max(0.0, min(late_work_ns, left_ns - of_idle_ns))", "of_work_ns = 0.0",
        ("ranks/test_groups.py",),
    ),
    Mutant(
        "ranks/pipeline.py", "the last stage is through before the others",
        "of_tail_ns = max(0.0, min(ns - waited_ns - of_hosts_ns, left.get(\"tail\", 0.0)))",
        "of_tail_ns = 0.0", ("ranks/test_pipeline.py",),
    ),
    Mutant(
        "ranks/claim.py", "a late rank need not stand out of the waiting",
        "named in (None, path.late.rank):", "named == path.late.rank:", ("ranks/test_claim.py",),
    ),
    Mutant(
        "ranks/claim.py", "what the bubble hides is no claim",
        "costs_ns = path.late.total_ns - path.late_in_bubble_ns", "costs_ns = path.late.total_ns",
        ("ranks/test_claim.py",),
    ),
    Mutant(
        "unprofiled_idle.py", "long pauses of a host stay without the profiler",
        "        fixed[_LATE_IDLE] = min(stalled_ns, rest_ns)\n", "",
        ("ranks/test_critical_path.py", "ranks/test_claim.py"),
    ),
    Mutant(
        "unprofiled_idle.py", "a bubble is as long without the profiler",
        "    if path is not None and measured.get(_BUBBLE):", "    if False:",
        ("ranks/test_pipeline.py",),
    ),
    Mutant(
        "unprofiled_idle.py", "no waiting is longer than under the profiler",
        "    elif path is None or rest_ns <= total_ns:", "    elif True:",
        ("ranks/test_critical_path.py",),
    ),
    Mutant(
        "ranks/job.py", "a rank waits once for all collectives that are under way",
        'waiting_by(shared, "rank", "step").iter_rows()',
        'shared.group_by("rank", "step").agg(pl.col("wait_ns").sum()).iter_rows()',
        ("ranks/test_job.py",),
    ),
    Mutant(
        "ranks/awaited.py", "a group waits once for all collectives that are under way",
        'waiting_by(shared, "group", "rank", "last_rank")',
        'shared.rename({"wait_ns": "union_ns"})', ("ranks/test_job.py",),
    ),
    Mutant(
        "work.py", "what runs while a function is compiled is no work of a CPU",
        "    if compiling.height == 0:", "    if True:", ("test_work.py",),
    ),
    Mutant(
        "ranks/critical.py", "waiting is no exposed transfer",
        "chosen.exposed_communication_ns - sum(waited_ns.values())",
        "chosen.exposed_communication_ns", ("ranks/test_critical_path.py",),
    ),
    Mutant(
        "ranks/exchanges.py", "an instant of two transfers is of the first",
        'pl.max_horizontal("since", taken)', 'pl.col("since")', ("ranks/test_exchanges.py",),
    ),
    Mutant(
        "ranks/exchanges.py", "a transfer that the host follows late holds nothing up",
        'pl.max_horizontal("since", pl.col("ts_ns") + pl.col("next_queued_ns"))',
        'pl.col("since")', ("ranks/test_exchanges.py",),
    ),
    Mutant(
        "ranks/links.py", "a link is held against groups that do the same",
        'pl.col("n_groups") > 1, ', "", ("ranks/test_many_ranks.py",),
    ),
    Mutant(
        "ranks/alike.py", "no time of ranks that behave alike differs",
        "np.abs(values[i] - values[centre]).max()", "np.abs(values[i] - values[centre]).min()",
        ("ranks/test_many_ranks.py",),
    ),
    Mutant(
        "ranks/rank_compiling.py", "a rank makes wait only those that wait for it",
        "        if wait.last_rank == awaited\n", "", ("ranks/test_rank_compiling.py",),
    ),
    Mutant(
        "ranks/kernel_times.py", "calls alone of two sizes are not compared",
        '(pl.col("most_alone_ns").max() <= _ONE_SIZE * pl.col("least_alone_ns").min())',
        '(pl.col("most_alone_ns").max() > 0)', ("ranks/test_exchanges.py",),
    ),
    # ledger
    Mutant(
        "ledger/worth.py", "a kernel of the operator's size goes before one without shapes",
        "OF_ITS_SIZE = 2", "OF_ITS_SIZE = 0", ("ledger/test_worth.py",),
    ),
    Mutant(
        "ledger/worth.py", "a kernel of both sides is itself",
        "SAME_KERNEL = 12", "SAME_KERNEL = 4", ("ledger/test_worth.py",),
    ),
    Mutant(
        "ledger/worth.py", "a kernel that lays out a weight is no operator before the product",
        "if name.only_copies and plain.op not in name.fresh:", "if False:",
        ("ledger/test_worth.py",),
    ),
    Mutant(
        "ledger/worth.py", "rows are taken where their numbers are",
        "not {size, *plain.index_sizes} <= sizes", "size not in sizes", ("ledger/test_worth.py",),
    ),
    Mutant(
        "ledger/worth.py", "a convolution is a product where its weight is 1x1",
        "return POINTWISE if is_pointwise else 0", "return POINTWISE", ("ledger/test_worth.py",),
    ),
    Mutant(
        "ledger/worth.py", "a part of another operator comes after the operator itself",
        "value - PART if a.is_part or b.is_part else value", "value",
        ("ledger/test_parts_of_operators.py",),
    ),
    Mutant(
        "ledger/worth.py", "a generated kernel is not what a library computes beside it",
        "if plain.is_anchor and name.inner - ANCHORS - COPYING:", "if False:",
        ("ledger/test_fused_neighbours.py",),
    ),
    Mutant(
        "ledger/worth.py", "a node goes to the operator that it was decomposed from",
        "return ONLY_THE_LINE if operator.op in node.part_of else PART_OF_ANOTHER",
        "return ONLY_THE_LINE", ("ledger/test_fused_neighbours.py",),
    ),
    Mutant(
        "ledger/filling.py", "what an alignment leaves goes to the operator that it is part of",
        "for x in _wholes(gap, y) or here or beside:", "for x in here or beside:",
        ("ledger/test_fused_neighbours.py",),
    ),
    Mutant(
        "ledger/fused_neighbours.py", "neighbours join where one of their kernels reduces",
        "        and any(each.is_reduction for each in (kernel, *near))\n", "",
        ("ledger/test_fused_neighbours.py",),
    ),
    Mutant(
        "ledger/fused_neighbours.py", "an operator with a node of its own name joins no other",
        " and not is_whole", "", ("ledger/test_fused_neighbours.py", "ledger/test_accuracy.py"),
    ),
    Mutant(
        "ledger/matching.py", "what libraries compute is left over in order",
        "    reach_libraries(a, b, match)\n", "", ("ledger/test_accuracy.py",),
    ),
    Mutant(
        "ledger/split_reductions.py", "chunks that a library is handed too are none",
        "if chunks is None or chunks in of_libraries:", "if chunks is None:",
        ("ledger/test_split_reductions.py",),
    ),
    Mutant(
        "ledger/split_reductions.py", "a first half reduces",
        "return item.is_reduction and item.shapes[-1:]", "return item.shapes[-1:]",
        ("ledger/test_split_reductions.py",),
    ),
    Mutant(
        "ledger/anchors.py", "casts that are fused elsewhere too are left to the order",
        " and key[:2] not in fused", "", ("ledger/test_anchors.py",),
    ),
    Mutant(
        "ledger/anchors.py", "gradients of one layer may change places without a doubt",
        "any(max(layer) > min(following) for", "any(True for", ("ledger/test_undecidable.py",),
    ),
    Mutant(
        "ledger/attention_parts.py", "a loss's softmax is no attention",
        ' and "log_softmax" not in item.inner', "", ("ledger/test_anchors.py",),
    ),
    Mutant(
        "ledger/layers.py", "the last layer is not judged",
        "if 0 < copy < stretch.copies - 1", "if 0 < copy", ("ledger/test_layers.py",),
    ),
    Mutant(
        "ledger/layers.py", "a layer unlike the others is marked",
        "inner if content != usual", "inner if False", ("ledger/test_layers.py",),
    ),
    Mutant(
        "ledger/layers.py", "what reaches beyond the layers is not judged",
        "    if any(unit not in places for unit in own):\n        return None\n", "",
        ("ledger/test_layers.py",),
    ),
    Mutant(
        "wording/notes.py", "what rounds differ by is not noted of a step alone on the GPU",
        "_LEAST_ALONE = 0.02", "_LEAST_ALONE = 0.01", ("test_alone.py",),
    ),
    Mutant(
        "finding_rules/half_precision.py", "products below three tenths of the step are no lever",
        "_LEAST = 0.3", "_LEAST = 0.15", ("test_findings.py",),
    ),
    Mutant(
        "finding_rules/zero_tangents.py", "fills below two thousandths of the step are no news",
        "_LEAST = 0.002", "_LEAST = 0.001", ("test_regressions.py",),
    ),
    Mutant(
        "finding_rules/compiler.py", "guards are told from a twentieth of the step on",
        "_LEAST_GUARDS = 0.05", "_LEAST_GUARDS = 0.1", ("test_findings.py",),
    ),
    Mutant(
        "finding_overlaps.py", "idle time that a bound holds counts once",
        "_busy_ns(finding) if has_idle else _amount_ns(finding)", "_amount_ns(finding)",
        ("test_finding_overlaps.py",),
    ),
    Mutant(
        "finding_rules/facts.py", "a slowed host makes no faster kernel gain nothing",
        "if is_slowed and saved.expected_ns <= 0 < otherwise_ns:", "if False:",
        ("test_findings.py",),
    ),
    Mutant(
        "what_if/engine.py", "beside a slowed host all that the device saves may be saved",
        "min(low_ns, *alone), max(high_ns, *alone)", "low_ns, high_ns", ("test_findings.py",),
    ),
    Mutant(
        "host_activity.py", "a value on the CPU is read without waiting",
        'at.search_sorted(ranges["start"]) < at.search_sorted(ranges["end"])', "pl.lit(True)",
        ("test_idle.py",),
    ),
    Mutant(
        "trace_notes.py", "steps that differ by a fifth are even",
        "_EVEN = 1.2", "_EVEN = 1.3", ("test_summary.py",),
    ),
    Mutant(
        "ledger/folding.py", "a group of further lines joins only those that are more",
        "and len(others) > len(numbers)", "", ("ledger/test_folding.py",),
    ),
    Mutant(
        "ledger/folding.py", "a group joins those whose lines it has, too",
        "if other and set(other) < set(lines)", "if other", ("ledger/test_folding.py",),
    ),
    Mutant(
        "ledger/bandwidth.py", "a group fits by its largest call",
        "largest = max(mean, largest_bytes)", "largest = mean", ("ledger/test_bandwidth.py",),
    ),
    Mutant(
        "ledger/bandwidth.py", "fewer bytes outpace nothing",
        "other_moved >= bytes_moved and ", "", ("ledger/test_bandwidth.py",),
    ),
    Mutant(
        "dossier/kernel_products.py", "a kernel among others of one product has no time of its own",
        "if len(computing) == n:", "if computing:", ("test_kernel_products.py",),
    ),
    Mutant(
        "dossier/kernel_products.py", "calls that do not tell kernels apart count whole, as all do",
        "are_told_apart = all(", "are_told_apart = any(", ("test_kernel_products.py",),
    ),
    Mutant(
        "finding_rules/op_work.py", "a bias beside a product's kernel is no part of the product",
        'BESIDE_PRODUCTS, "elementwise", ', "BESIDE_PRODUCTS, ", ("test_op_work.py",),
    ),
    Mutant(
        "finding_rules/op_work.py", "the sum of a bias's gradient is no part of the product",
        '"elementwise", "reduction")', '"elementwise")', ("test_op_work.py",),
    ),
    Mutant(
        "finding_rules/op_work.py", "calls whose kernels tell no product count whole",
        "if known and all(known) else self.time_ns", "if known else self.time_ns",
        ("test_op_work.py",),
    ),
    Mutant(
        "dossier/launches.py", "a replay is not handed what its whole graph is",
        'around.filter(~per_name(around["name"], is_around_graph, pl.Boolean))', "around",
        ("../session/test_group_arguments.py",),
    ),
    Mutant(
        "dossier/roofline.py", "a group's operations are over the kernels that compute them",
        "sum(op.time_ns if kernel else op.product_ns for op in counted)",
        "sum(op.time_ns for op in counted)", ("../session/test_dossier.py",),
    ),
    Mutant(
        "handed_more.py", "an expanded tensor of another rank is no larger one",
        "elif len(was) == len(shape) and kind in", "elif kind in", ("test_handed_more.py",),
    ),
    Mutant(
        "handed_more.py", "an operator that takes no longer is no cause",
        "if 0 < _LEAST_SHARE * group.delta_ns <= longer_ns:", "if True:", ("test_handed_more.py",),
    ),
)  # fmt: skip
