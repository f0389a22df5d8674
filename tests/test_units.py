import pytest

from profiler_core.units import (
    format_bytes,
    format_change,
    format_change_between,
    format_count,
    format_duration,
    format_operations,
    format_per_step,
    format_points,
    format_ratio,
    format_share,
    format_share_of,
    format_wait,
    rounded_bytes,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "–"), (0, "0 ns"), (954, "954 ns"), (5_220_000, "5.22 ms"), (52.2e6, "52.2 ms"),
        (522e6, "522 ms"), (10.7e9, "10.7 s"), (999_400, "999 µs"), (999_900, "1.00 ms"),
        (999.9, "1.00 µs"), (-33.8e6, "−33.8 ms"),
    ],
)  # fmt: skip
def test_durations_have_three_digits_and_the_unit_that_fits(ns, text):
    assert format_duration(ns) == text


@pytest.mark.parametrize(
    ("n", "text"), [(None, "–"), (0, "0 B"), (468e6, "468 MB"), (999_960_000, "1.00 GB")]
)
def test_sizes_are_decimal(n, text):
    assert format_bytes(n) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (None, "–"), (1.0, "±0 %"), (0.52, "−48 %"), (1.0815, "+8 %"), (1.002, "+0.2 %"),
        (0.9998, "±0 %"), (18.8, "×18.8"), (25.6 / 5850, "÷229"), (0.006, "−99 %"), (0.0, "−100 %"),
    ],
)  # fmt: skip
def test_changes_never_say_all_or_nothing_of_what_is_left(ratio, text):
    assert format_change(ratio) == text


def test_shares_differ_in_points_with_a_digit_where_they_look_alike():
    """Beside 75 % and 74 % "±0 pts" is read as a mistake."""
    texts = [format_points(points) for points in (0.46, -0.0235, -0.0044, 0.0001, 0.0)]
    assert texts == ["+46 pts", "−2 pts", "−0.4 pts", "±0 pts", "±0 pts"]


def test_counts_have_thin_spaces():
    assert format_count(12_408) == "12\u202f408"
    assert format_count(9.9) == "9.9"


def test_a_count_is_one_text_whatever_its_last_bits():
    """Seen in a large pair: 267 kernels per step on one page, 266.9 on the other."""
    assert {format_count(266.95 + bits) for bits in (-1e-11, 0.0, 1e-11)} == {"266.9"}


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.9671, "1.97×"), (0.104, "0.10×"), (0.0214, "0.021×"), (0.0021, "0.0021×"), (0.0, "0.00×")],
)
def test_a_small_ratio_keeps_digits(ratio, text):
    assert format_ratio(ratio) == text


def test_calls_per_step_keep_what_is_rare_and_group_what_is_many():
    assert [format_per_step(n) for n in (0.04, 0.8022, 3, 1.5, 12_408.2)] == [
        "0.04",
        "0.8",
        "3",
        "1.5",
        "12\u202f408",
    ]


def test_operations_have_a_unit_of_their_size():
    sizes = (8.2e9, 5e13, 0.9996e12, 12.0)
    assert [format_operations(n) for n in sizes] == [
        "8.20 GFLOP",
        "50.0 TFLOP",
        "1.00 TFLOP",
        "12 FLOP",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0 s"),
        (45, "45.0 s"),
        (125.4, "2 min 05 s"),
        (138, "2 min 18 s"),
        (1200, "20 min"),
        (4500, "75 min"),
    ],
)
def test_a_time_that_people_wait_is_in_minutes_and_seconds(seconds, text):
    assert format_wait(seconds) == text


@pytest.mark.parametrize(
    "size", [7, 512, 1023, 99_950, 999_600, 1_004_999, 123_456_789, 5 * 10**12]
)
def test_sizes_that_read_the_same_round_to_the_same_one(size):
    assert format_bytes(rounded_bytes(size)) == format_bytes(size)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (200.0, 100.0, "−50 %"),
        (100.0, 0.0, "−100 %"),
        (0.0, 5.0, ""),
        (None, 5.0, ""),
        (5.0, None, ""),
    ],
)
def test_what_a_value_became_needs_both_values(
    before: float | None, after: float | None, text: str
) -> None:
    assert format_change_between(before, after) == text


def test_a_share_of_nothing_is_a_dash() -> None:
    assert (format_share_of(1, 4), format_share_of(1, 0)) == ("25 %", "–")


@pytest.mark.parametrize(
    ("form", "value", "least", "most"),
    [
        (format_share, 0.0156, "1 %", "2 %"), (format_share, 0.365, "36 %", "37 %"),
        (format_share, 0.56, "56 %", "56 %"), (format_share, 0.0047, "0.4 %", "1 %"),
        (format_share, 0.00999, "0.9 %", "1 %"), (format_share, 0.999, "99 %", "100 %"),
        (format_share, 0.0, "0 %", "0 %"), (format_share, 1.0, "100 %", "100 %"),
        (format_duration, 999_400, "999 µs", "1.00 ms"),
        (format_duration, 999_900, "999 µs", "1.00 ms"),
        (format_duration, 5_224_000, "5.22 ms", "5.23 ms"), (format_duration, 8.4, "8 ns", "9 ns"),
        (format_duration, 800_000.0000000001, "800 µs", "800 µs"),
        (format_duration, 0, "0 ns", "0 ns"),
        (format_duration, -5_224_000, "−5.23 ms", "−5.22 ms"),
        (format_bytes, 45_150_000, "45.1 MB", "45.2 MB"), (format_bytes, -1.5, "-2 B", "-1 B"),
    ],
)  # fmt: skip
def test_a_bound_stays_true_as_it_is_written(form, value, least, most):
    """ "2 % or more" stood for 1.56 %."""
    assert form(value, "down") == least
    assert form(value, "up") == most


def test_a_bound_of_nothing_is_a_dash():
    assert {form(None, "up") for form in (format_duration, format_bytes, format_share)} == {"–"}
