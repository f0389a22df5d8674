"""What each lever changes in the work of host and device."""

from collections.abc import Callable

import numpy as np

from profiler_core.analysis.compilation.two_queues import unprofiled
from profiler_core.analysis.what_if.change import Change, Lever
from profiler_core.analysis.what_if.scene import Load, Scene, Three

# The host's work of one replay beyond its entry: copies of inputs into the graph's memory, its
# launch, its outputs. In threes: least saved, expected, most saved (docs/what_if.md).
REPLAY_NS: Three = (90_000.0, 32_000.0, 12_000.0)
# Of them, one input: what each further one takes the host, and its launch the device.
COPY_NS: Three = (10_000.0, 7_000.0, 4_000.0)
COPY_ON_DEVICE_NS = 1_000.0
# What the profiler costs the host for an event inside of generated code, as a part of the average:
# its short calls of the driver cost less than operators with shapes.
CALL_EVENTS: Three = (1.0, 0.85, 0.7)
# What goes of the host's work at a break where a value or a shape is read: shapes that depend on
# data are still worked out on the host (a mixture of experts, docs/what_if.md).
READS_GO = (0.2, 0.55)
# What goes of a lookup of compiled code when its guards are not evaluated.
GUARDS_GO: Three = (0.5, 0.85, 1.0)
# A long evaluation leaves the processor's caches cold, so that what follows takes longer by this
# part of its time, at most by half: 1 500 settings of modules take 150 µs on the host of an H200,
# and what follows 90 µs more. A short one touches no more than the caches hold.
COLD_AFTER_GUARDS: Three = (0.0, 0.3, 0.6)
CACHES_HOLD_NS, CACHES_EMPTIED_NS = 50_000.0, 100_000.0
_MOST_COLD = 0.5
# From kernel to kernel inside of a replayed graph.
REPLAYED_GAP_NS: Three = (800.0, 300.0, 50.0)
# A copy from or to pinned memory: what its call takes, and what part of the device's time stays.
PINNED_CALL_NS = 6_000.0
PINNED_STAYS: Three = (0.9, 0.4, 0.2)

# Autocast looks at the arguments of every operator that runs, and casts some; what is compiled has
# it in its graph.
AUTOCAST_HOST: Three = (1.5, 1.1, 1.0)
AUTOCAST_COMPILED: Three = (1.2, 1.04, 1.0)
_MOST_OF_IT = 0.5  # of an item's device time: its launch is theirs
# Their kernels are launched inside of operators that run all the same: only the call itself goes.
_OPERATOR_STAYS: tuple[Lever, ...] = ("channels_last",)

Effect = Callable[[Load, Change, Scene, int], Load]


def no_breaks(load: Load, _: Change, scene: Scene, case: int) -> Load:
    """Without the host's work for breaks. What waits for data keeps waiting, but for the most.

    Operators between two compiled calls are launched all the same, but for the most.

    The ranges of a break carry neither tensors nor a call of the driver, so that the profiler takes
    less for them than for the average event: something between all of that and nothing.
    """
    if not scene.crossings:
        return load
    every = scene.without_breaks
    event_ns = scene.events_ns[case] * (1.0, 0.5, 0.0)[case]
    waits = load.waits & (every.waits | (scene.forced & (case < 2)))
    if case == 2:
        gone = unprofiled(every.removable_ns, every.removable_events, event_ns)
    else:
        plain, reading = (
            unprofiled(cut.removable_ns, cut.removable_events, event_ns)
            for cut in scene.with_operators
        )
        gone = plain + READS_GO[case] * reading
    return Load(load.host_ns - gone, load.device_ns, waits)


def lighter_guards(load: Load, _: Change, scene: Scene, case: int) -> Load:
    """Without the evaluation of guards, but for a part: looking the code up stays.

    What follows a long evaluation finds its caches warm.
    """
    cut = scene.without_guards
    gone = GUARDS_GO[case] * unprofiled(
        cut.removable_ns, cut.removable_events, scene.events_ns[case]
    )
    host = load.host_ns - gone
    n_lookups = len(scene.lookups)
    follows_ns = float(np.maximum(0.0, host).sum())
    if n_lookups and follows_ns:
        went_ns = float(gone.sum()) / GUARDS_GO[case]
        each_ns = np.clip(went_ns / n_lookups, CACHES_HOLD_NS, CACHES_EMPTIED_NS)
        emptied = (each_ns - CACHES_HOLD_NS) / (CACHES_EMPTIED_NS - CACHES_HOLD_NS)
        cold_ns = COLD_AFTER_GUARDS[case] * emptied * went_ns
        host = host * (1 - min(_MOST_COLD, cold_ns / follows_ns))
    return Load(host, load.device_ns, load.waits)


def graph_replay(load: Load, change: Change, scene: Scene, case: int) -> Load:
    """One launch for each compiled call; a call that waits for the device inside stays as it is."""
    ids = set(change.compile_ids)
    begins = scene.two.begins
    called = [
        (number, first, last)
        for number, call in enumerate(scene.calls)
        if not ids or call.compile_id in ids
        for first, last in [np.searchsorted(begins, (call.start_ns, call.end_ns))]
        if last > first and not load.waits[first:last].any()
    ]
    if not called:
        return load
    cut = scene.without_launches(scene.calls[number] for number, _, _ in called)
    event_ns = scene.events_ns[case] * CALL_EVENTS[case]
    host = load.host_ns - unprofiled(cut.removable_ns, cut.removable_events, event_ns)
    device = load.device_ns.copy()
    inputs = {entry.compile_id: entry for entry in change.inputs}
    for number, first, last in called:
        pieces = device[first:last]
        n = int(np.count_nonzero(pieces))
        if not n:
            continue
        busy = pieces.sum() + (n - 1) * min(REPLAYED_GAP_NS[case], scene.two.gap_ns)
        copied = inputs.get(scene.calls[number].compile_id or "")
        if copied is not None and _takes_new_inputs(scene, number):
            host[first] += (copied.n - 1) * COPY_NS[case]
            busy += copied.n * (COPY_ON_DEVICE_NS + scene.two.gap_ns) + copied.copy_ns
        device[first:last] = 0.0
        device[first] = busy
        host[first] += REPLAY_NS[case]
    return Load(host, device, load.waits)


def _takes_new_inputs(scene: Scene, number: int) -> bool:
    """Was anything launched since the compiled call before it, or is it the first of its step?

    What one replay hands the next lies in the graphs' own memory, and is not copied.
    """
    call, before = scene.calls[number], scene.calls[max(0, number - 1)]
    if not number or before.step != call.step:
        return True
    first, last = np.searchsorted(scene.two.begins, (before.end_ns, call.start_ns))
    return bool((scene.two.launch_row[first:last] >= 0).any())


def no_syncs(load: Load, _: Change, scene: Scene, case: int) -> Load:
    """The host runs on; for the least only where no value or shape is what it waits for."""
    keep = scene.forced if case == 0 else np.zeros_like(load.waits)
    return Load(load.host_ns, load.device_ns, load.waits & keep)


def pinned_copies(load: Load, change: Change, scene: Scene, case: int) -> Load:
    """Copies that the host does not stage: their calls return at once, and nothing waits for them.

    The wait that follows such a copy on the host's side is the copy's own.
    """
    copied = scene.time_in(change.kernels) > 0
    after = np.append(False, copied[:-1]) & load.waits
    host = np.where(copied & (load.host_ns > PINNED_CALL_NS), PINNED_CALL_NS, load.host_ns)
    device = np.where(copied, load.device_ns * PINNED_STAYS[case], load.device_ns)
    return Load(host, device, load.waits & ~after if case else load.waits)


def faster_kernels(load: Load, change: Change, scene: Scene, case: int) -> Load:
    """Kernels of these names at what part of their time stays."""
    part = np.divide(
        scene.time_in(change.kernels), scene.two.device_ns,
        out=np.zeros_like(load.device_ns), where=scene.two.device_ns > 0,
    )  # fmt: skip
    # Where another change made one item of many, the first holds the device time of all.
    held = np.where((load.device_ns == 0) & (scene.two.device_ns > 0), 0.0, 1.0)
    if (held == 0).any():
        moved = np.maximum.accumulate(np.where(held > 0, np.arange(held.size), 0))
        own = np.zeros_like(load.device_ns)
        np.add.at(own, moved, scene.two.device_ns)
        sums = np.zeros_like(own)
        np.add.at(sums, moved, part * scene.two.device_ns)
        part = np.divide(sums, own, out=np.zeros_like(own), where=own > 0)
    device = load.device_ns * (1 - part * change.saves[case])
    host = load.host_ns * _more_host(change, scene)[case]
    if change.with_launches:
        gone = host if change.lever not in _OPERATOR_STAYS else scene.call_ns(case)
        saved = np.minimum(host, gone) * max(0.0, change.saves[case])
        host = np.where(part > _MOST_OF_IT, host - saved, host)
    return Load(host, device, load.waits)


def _more_host(change: Change, scene: Scene) -> Three:
    if change.lever != "half_precision":
        return (1.0, 1.0, 1.0)
    return AUTOCAST_COMPILED if scene.calls else AUTOCAST_HOST


EFFECTS: dict[Lever, Effect] = {
    "no_breaks": no_breaks,
    "graph_replay": graph_replay,
    "lighter_guards": lighter_guards,
    "no_syncs": no_syncs,
    "pinned_copies": pinned_copies,
}


def changed(load: Load, change: Change, scene: Scene, case: int) -> Load:
    """The work that is left under a change.

    Args:
        load: as it is, or under other changes.
        change: the next one.
        scene: what ran.
        case: 0 for the least that it may save, 1 for what is expected, 2 for the most.
    """
    effect = EFFECTS.get(change.lever, faster_kernels)
    return effect(load, change, scene, case)
