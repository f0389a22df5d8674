"""One run's telemetry on made-up samples, whose numbers can be worked out by hand."""

import pytest
from msgspec.structs import replace as replace_struct

from profiler_core.analysis.telemetry.clock_events import clock_events
from profiler_core.analysis.telemetry.fairness import Fairness, fairness
from profiler_core.analysis.telemetry.jitter import jitter
from profiler_core.analysis.telemetry.phases import phase_of, phases, steady_phase
from profiler_core.analysis.telemetry.run import run_telemetry, without_samples
from profiler_core.analysis.wording.telemetry import (
    clock_sentence,
    fairness_statement,
    jitter_sentence,
    judged_lines,
    rank_rows,
    readings,
)
from profiler_core.model.run import Measurement, Round, RunRecord, Telemetry
from profiler_core.model.telemetry import (
    GpuSample,
    GpuSamples,
    HostSample,
    HostSamples,
    SamplerNote,
)

MS = 1_000_000
PHASE = Telemetry(started_ns=10_000 * MS, wall_ns=3_000 * MS, n_steps=600)


def samples(start_ms=9_500, end_ms=13_500, every_ms=50, **changed):
    """400 W: the counter moves by 40 J every 100 ms, in the middle between two samples."""
    made = []
    for at in range(start_ms, end_ms, every_ms):
        fields = {
            "utilization_gpu_pct": 90.0,
            "utilization_memory_pct": 30.0,
            "memory_used_bytes": 5_000,
            "power_w": 400.0,
            "energy_mj": 7_000_000 + (at // 100) * 40_000,
            "sm_clock_mhz": 1980.0,
            "memory_clock_mhz": 3201.0,
            "temperature_c": 50.0,
            "clocks_event_reasons": 0,
            "process_memory_bytes": {"7": 1_000, "8": 4_000},
        }
        made.append(GpuSample(t_ns=at * MS, gpu_index=0, **{**fields, **changed}))
    return GpuSamples(tuple(made))


def record(telemetry=PHASE, rounds=(), interleaved=None, **fields):
    measurement = Measurement(
        telemetry=telemetry, rounds=rounds, interleaved=interleaved, child_pid=7
    )
    return RunRecord(measurement=measurement, **{"spec": {"batch_size": 4}, **fields})


def test_numbers_of_the_steady_phase():
    telemetry = run_telemetry(record(), samples())
    assert telemetry.phase == "telemetry phase"
    assert (telemetry.phase_ns, telemetry.n_steps, telemetry.n_samples) == (3_000 * MS, 600, 61)
    assert telemetry.utilization_gpu_pct == 90
    assert telemetry.power_w == pytest.approx(400)
    assert telemetry.energy_per_step_j == pytest.approx(400 * 3 / 600)
    assert telemetry.energy_per_sample_j == pytest.approx(0.5)
    assert telemetry.energy_error_fraction == pytest.approx(0.05 / 3.0, rel=0.05)
    assert (telemetry.sm_clock_mhz, telemetry.temperature_c) == (1980, 50)
    assert telemetry.process_memory_bytes == 1_000  # its own entry, not 5 000
    assert telemetry.clock_events == ()
    assert set(telemetry.reasons) == {"pcie_tx_kbps", "pcie_rx_kbps"}


def test_what_was_read_before_the_average_settled_is_left_out():
    early = [
        s if s.t_ns >= 11_000 * MS else GpuSample(**{**_fields(s), "utilization_gpu_pct": 10.0})
        for s in samples().samples
    ]
    assert run_telemetry(record(), GpuSamples(tuple(early))).utilization_gpu_pct == 90


def _fields(sample):
    return {name: getattr(sample, name) for name in sample.__struct_fields__}


@pytest.mark.parametrize(
    ("wall_ms", "utilization", "energy"),
    [(3_000, True, True), (1_900, False, True), (1_150, False, True), (900, False, False)],
)
def test_too_short_says_so_and_gives_no_number(wall_ms, utilization, energy):
    short = Telemetry(started_ns=10_000 * MS, wall_ns=wall_ms * MS, n_steps=600)
    telemetry = run_telemetry(record(short), samples())
    assert (telemetry.utilization_gpu_pct is not None) == utilization
    assert (telemetry.energy_per_step_j is not None) == energy
    for key, is_known in (("utilization_gpu_pct", utilization), ("energy_per_step_j", energy)):
        assert ("Too short" in telemetry.reasons.get(key, "")) == (not is_known)
    assert telemetry.sm_clock_mhz == 1980  # a clock is no average


def test_power_is_measured_from_one_move_of_the_counter_to_another():
    longer = Telemetry(started_ns=10_000 * MS, wall_ns=3_050 * MS, n_steps=600)
    telemetry = run_telemetry(record(longer), samples())
    assert telemetry.power_w == pytest.approx(400)  # over 3.00 s: nothing moved in the last 50 ms


def test_numbers_are_of_the_gpu_that_run_json_names():
    own = [
        GpuSample(**{**_fields(s), "gpu_index": 1, "temperature_c": 70.0})
        for s in samples(10_000).samples
    ]
    both = GpuSamples((*samples().samples, *own))
    telemetry = run_telemetry(record(environment={"nvml_index": 1}), both)
    assert (telemetry.gpu_index, telemetry.temperature_c) == (1, 70)
    assert run_telemetry(record(), both).gpu_index == 0  # the one with most samples


def test_a_counter_that_went_back_gives_no_energy():
    back = [
        GpuSample(**{**_fields(s), "energy_mj": 5 if s.t_ns > 11_500 * MS else s.energy_mj})
        for s in samples().samples
    ]
    again = [*back, GpuSample(t_ns=12_900 * MS, gpu_index=0, energy_mj=90)]
    telemetry = run_telemetry(record(), GpuSamples(tuple(sorted(again, key=lambda s: s.t_ns))))
    assert telemetry.energy_per_step_j is None
    assert "went back" in telemetry.reasons["energy_per_step_j"]


def test_a_null_keeps_the_samplers_reason():
    none = samples(energy_mj=None, power_w=None)
    first = GpuSample(
        **{**_fields(none.samples[0]), "reasons": {"energy_mj": "Not Supported", "power_w": "No"}}
    )
    telemetry = run_telemetry(record(), GpuSamples((first, *none.samples[1:])))
    assert telemetry.power_w is None
    assert "Not Supported" in telemetry.reasons["energy_per_step_j"]
    assert telemetry.reasons["power_max_w"] == "No"
    assert "temperature_c" not in telemetry.reasons


def test_an_unknown_batch_gives_energy_a_step_alone():
    telemetry = run_telemetry(record(spec={}), samples())
    assert telemetry.energy_per_step_j is not None
    assert telemetry.energy_per_sample_j is None
    assert "batch" in telemetry.reasons["energy_per_sample_j"]


def test_samples_alone_have_power_and_no_steps():
    telemetry = run_telemetry(RunRecord(), samples())
    assert telemetry.phase == "whole file"
    assert telemetry.power_w == pytest.approx(400)
    assert "were not counted" in telemetry.reasons["energy_per_step_j"]
    assert telemetry.process_memory_bytes is None  # two processes, and nobody says which


def test_rounds_that_took_turns_are_no_phase():
    rounds = tuple(
        Round(index=n, order=0, n_steps=5, wall_ns=100 * MS, started_ns=(10_000 + 200 * n) * MS)
        for n in range(10)
    )
    turns = record(None, rounds, interleaved=True)
    telemetry = run_telemetry(turns, samples())
    assert telemetry.phase is None
    assert "took turns" in telemetry.reasons["phase"]
    alone = run_telemetry(record(None, rounds), samples())
    assert (alone.phase, alone.n_steps) == ("timed rounds", 50)
    assert alone.energy_per_step_j == pytest.approx(400 * 1.9 / 50)


def test_a_capture_with_several_ranks_says_that_it_has_no_telemetry_phase():
    rounds = (Round(index=0, order=0, n_steps=5, wall_ns=100 * MS, started_ns=10_000 * MS),)
    ranks = record(None, rounds, interleaved=True, world_size=2)
    assert "several ranks (2 here)" in run_telemetry(ranks, samples()).reasons["phase"]
    assert "several ranks (2 here)" in without_samples(ranks)
    assert without_samples(record(None, rounds)) is None
    assert without_samples(record(world_size=2)) is None  # it has a phase


def test_phases_are_told_apart_on_the_hosts_clock():
    rounds = (Round(index=0, order=0, n_steps=5, wall_ns=100 * MS, started_ns=1_000 * MS),)
    measurement = Measurement(
        rounds=rounds,
        telemetry=PHASE,
        profiled=Telemetry(started_ns=14_000 * MS, wall_ns=50 * MS, n_steps=5),
    )
    spans = phases(measurement)
    times = [999, 1_000, 1_100, 1_101, 10_500, 14_010]
    assert [phase_of(t * MS, spans) for t in times] == [
        None, "timing", "timing", None, "telemetry", "profiled",
    ]  # fmt: skip
    assert steady_phase(measurement, []).kind == "telemetry"
    assert steady_phase(None, []) is None


def test_bits_in_words():
    events = clock_events([0x4, 0x4, 0x24, 0x1000])
    assert [(e.name, e.share) for e in events] == [
        ("SwPowerCap", 0.75), ("SwThermalSlowdown", 0.25), ("0x1000", 0.25),
    ]  # fmt: skip
    assert [e.is_throttling for e in events] == [True, True, False]


def test_a_single_sample_of_throttling_is_no_state():
    (event,) = clock_events([0x8] + [0] * 39)
    assert event.share == 0.025
    assert not event.is_throttling
    (idle,) = clock_events([0x1] * 3)
    assert not idle.is_throttling


@pytest.mark.parametrize(("clock", "fair"), [(1980.0, True), (1921.0, True), (1920.0, False)])
def test_three_per_cent_is_the_bar(clock, fair):
    ours = run_telemetry(record(), samples())
    theirs = run_telemetry(record(), samples(sm_clock_mhz=clock))
    judged = fairness(ours, theirs, ("eager", "default"))
    assert judged.fair is fair
    assert judged.sm_clock_apart == pytest.approx(1 - clock / 1980)


def test_without_clocks_fairness_is_not_known():
    ours = run_telemetry(record(), samples())
    theirs = run_telemetry(record(), samples(sm_clock_mhz=None))
    judged = fairness(ours, theirs, ("eager", "default"))
    assert judged.fair is None
    assert "default" in fairness_statement(judged).sentence
    assert fairness(ours, None, ("eager", "default")).fair is None
    assert fairness(None, None, ("eager", "default")) is None


def test_throttling_is_unfair_even_without_a_difference_of_clocks():
    ours = run_telemetry(record(), samples())
    theirs = run_telemetry(record(), samples(clocks_event_reasons=0x4))
    judged = fairness(ours, theirs, ("eager", "default"))
    assert judged.fair is False
    assert "power limit" in fairness_statement(judged).sentence


def ticks(times_ms, period_s=None):
    note = SamplerNote(source="nvml", period_s=period_s) if period_s else None
    return [
        GpuSample(t_ns=round(at * MS), gpu_index=0, sampler=note if not n else None)
        for n, at in enumerate(times_ms)
    ]


def test_jitter_is_the_distance_from_the_grid():
    spread = jitter(ticks([0, 50, 101, 150, 200, 250, 300], 0.05))
    assert (spread.n, spread.period_ns, spread.median_ns, spread.max_ns) == (7, 50 * MS, 0, 1 * MS)
    assert spread.n_missed == 0


def test_a_missed_deadline_is_counted_and_is_no_jitter():
    spread = jitter(ticks([0, 50, 200, 250], 0.05))
    assert (spread.max_ns, spread.n_missed) == (0, 2)
    assert "2 were missed" in jitter_sentence(spread)


def test_two_sessions_have_a_grid_each():
    both = [*ticks([0, 50, 100], 0.05), *ticks([10_017, 10_117, 10_217], 0.1)]
    spread = jitter(both)
    assert (spread.n, spread.max_ns, spread.n_missed) == (6, 0, 0)


def test_without_a_note_the_period_is_guessed_and_does_not_drift():
    spread = jitter(ticks([n * 49.99 for n in range(400)]))
    assert spread.max_ns < 10_000
    assert jitter(ticks([0, 50])) is None


def hosts(**changed):
    """One core and a half: 75 ms of CPU time every 50 ms."""
    return HostSamples(
        tuple(
            HostSample(
                t_ns=at * MS, pid=7, cpu_ns=at * MS * 3 // 2, busiest_thread_ns=at * MS * 9 // 10,
                rss_bytes=at, n_threads=40, n_processes=1, host_busy_ns=at * MS * 2, n_cpus=16,
                **changed,
            )
            for at in range(9_500, 13_500, 50)
        )
    )  # fmt: skip


def test_the_process_and_the_rest_of_the_host():
    host = run_telemetry(record(), samples(), hosts()).host
    assert host.cpu_pct == pytest.approx(150)
    assert host.busiest_thread_pct == pytest.approx(90)
    assert host.others_cpu_pct == pytest.approx(50)
    assert (host.rss_bytes, host.n_threads, host.n_cpus) == (13_000, 40, 16)


def test_a_process_without_a_gpu_is_still_read():
    telemetry = run_telemetry(record(), None, hosts())
    assert telemetry.gpu_index is None
    assert telemetry.host.cpu_pct == pytest.approx(150)
    assert {r.label for r in readings(telemetry) if r.value} == {
        "CPU of the process", "Busiest thread", "Host memory of the process", "Threads",
    }  # fmt: skip


def test_every_reading_that_is_absent_says_why():
    for entry in (
        run_telemetry(record(), samples(energy_mj=None)),
        run_telemetry(record(), None, hosts()),
        run_telemetry(RunRecord(), None, None, {"gpu": "nvml.jsonl holds no sample."}),
    ):
        assert all(reading.note for reading in readings(entry) if reading.value is None)


def test_nothing_sampled_is_nothing():
    assert run_telemetry(record(), None) is None


def test_the_energy_of_a_job_is_that_of_all_its_gpus():
    """Rank 1's GPU, number 3, draws 300 W: waiting for rank 0 is no saving."""
    waiting = [
        replace_struct(
            sample, gpu_index=3, energy_mj=7_000_000 + (sample.t_ns // MS // 100) * 30_000
        )
        for sample in samples().samples
    ]
    both = GpuSamples(tuple(sorted((*samples().samples, *waiting), key=lambda s: s.t_ns)))
    job = record(world_size=2)
    job = replace_struct(job, measurement=replace_struct(job.measurement, rank_gpus=(0, 3)))
    telemetry = run_telemetry(job, both)
    assert [(r.rank, r.gpu_index) for r in telemetry.ranks] == [(0, 0), (1, 3)]
    assert [r.power_w for r in telemetry.ranks] == pytest.approx([400, 300])
    assert telemetry.energy_per_step_j == pytest.approx(700 * 3 / 600)
    assert telemetry.utilization_gpu_pct is None
    assert "waits for another rank" in telemetry.reasons["utilization_gpu_pct"]
    assert [row[0] for row in rank_rows(telemetry)] == ["rank 0, GPU 0", "rank 1, GPU 3"]
    alone = run_telemetry(job, samples())  # rank 1's was not sampled
    assert alone.energy_per_step_j is None
    assert "Not every rank" in alone.reasons["energy_per_step_j"]


def of_two_gpus(**second):
    """A job whose rank 1 has GPU 3, with samples of its own; GPU 0 is rank 0's."""
    own = [replace_struct(s, gpu_index=3, **second) for s in samples().samples]
    both = GpuSamples(tuple(sorted((*samples().samples, *own), key=lambda s: s.t_ns)))
    job = record(world_size=2)
    uuids = ("GPU-a", "GPU-b")
    measurement = replace_struct(job.measurement, rank_gpus=(0, 3), rank_gpu_uuids=uuids)
    return run_telemetry(replace_struct(job, measurement=measurement), both)


def test_a_further_ranks_gpu_that_is_too_hot_is_told_of_the_job():
    even, hot = of_two_gpus(), of_two_gpus(clocks_event_reasons=0x20, temperature_c=90.0)
    assert (even.clock_events, hot.temperature_max_c) == ((), 90)
    (event,) = hot.throttling
    assert (event.name, event.share, event.rank) == ("SwThermalSlowdown", 1, 1)
    assert "100 % of the samples of rank 1's GPU" in clock_sentence(hot)
    judged = fairness(even, hot, ("eager", "default"))
    assert judged.fair is False
    assert "of rank 1's GPU" in fairness_statement(judged).grounds
    assert [row[-1] for row in rank_rows(hot)] == ["nothing", "SwThermalSlowdown"]
    assert [of_rank.gpu_uuid for of_rank in hot.ranks] == ["GPU-a", "GPU-b"]


def test_a_further_ranks_clocks_make_a_comparison_of_jobs_unfair():
    judged = fairness(of_two_gpus(), of_two_gpus(sm_clock_mhz=1200.0), ("eager", "default"))
    (apart,) = judged.clocks_apart
    assert (apart.clock, apart.mhz) == ("SM clock of rank 1's GPU", (1980, 1200))
    assert fairness(of_two_gpus(), of_two_gpus(), ("eager", "default")).fair is True


def test_what_is_not_known_is_said_once():
    """Seen of jobs of ranks: the heading, and the same words below it."""
    unknown = Fairness(None, ("eager", "default"), without_clocks=("default",))
    (line,) = judged_lines((unknown,))
    assert line == "The clocks of default were not sampled for long enough."
    fair = Fairness(True, ("eager", "default"), (1980.0, 1980.0), throttled=(False, False))
    assert judged_lines((fair,))[0].startswith("eager and default: SM clock 1980 MHz for both")
