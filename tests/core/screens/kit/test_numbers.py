import math

import pytest

from core.screens.kit import numbers

T = "\u202f"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (numbers.count(9083), "9,083"),
        (numbers.count(1234567), "1,234,567"),
        (numbers.weight(12), "12"),
        (numbers.weight(1234.53), "1,234.5"),
        (numbers.weight(199.9999999), "200"),
        (numbers.weight(0.01), "under 0.1"),
        (numbers.weight(0.0), "0"),
        (numbers.percent(0.97614), f"97.6{T}%"),
        (numbers.percent(0.9998), f"99.98{T}%"),  # one decimal would print 100.0
        (numbers.percent(0.0003), f"0.03{T}%"),
        (numbers.percent(1.0), f"100.0{T}%"),
        (numbers.percent(0.00001), f"under 0.01{T}%"),
        (numbers.percent(0.99999), f"over 99.99{T}%"),
        (numbers.percent(None), "–"),
        (numbers.percent(math.nan), "–"),
        (numbers.with_span(0.043, 0.038, 0.049), "4.3 (3.8 to 4.9)"),
        (numbers.with_span(0.001, 0.0002, 0.003), "0.10 (0.02 to 0.30)"),  # a bound would be 0.0
        (numbers.with_span(0.043, None, None), "4.3"),
        (numbers.points_span(0.001, 0.0002, 0.003), "0.02 to 0.30"),
        (numbers.points_span(0.043, None, 0.05), ""),
        (numbers.span(-0.013, 0.005, signed=True), "−1.3 to +0.5"),
        (numbers.points(-0.085, signed=True), "−8.5"),
        (numbers.points(0.0, signed=True), "0.0"),
        (numbers.three(0.25712), "0.257"),
        (numbers.three(12.345), "12.3"),
        (numbers.three(0.0), "0.00"),
        (numbers.three(3e-8), "under 0.000001"),
        (numbers.three(3e-8, 0.5), "0.000"),
        (numbers.three(6e-7), "0.000001"),
        (numbers.three_span(0.257, 0.2361, 0.276), "0.236 to 0.276"),
        (numbers.three_span(0.086, 0.0524, 0.1231), "0.052 to 0.123"),
        (numbers.two(-0.7249), "−0.72"),
        (numbers.two(0.25, signed=True), "+0.25"),
        (numbers.two(-0.004, signed=True), "0.00"),
        (numbers.two_span(-1.254, 1.451), "−1.25 to 1.45"),
        (numbers.two_span(-1.254, 1.451, signed=True), "−1.25 to +1.45"),
        (numbers.in_hundred(0.961), "96"),
        (numbers.in_hundred(161 / 280), "58"),  # 57.5 exactly
        (numbers.in_hundred(0.998), "almost 100"),
        (numbers.hundred_span(0.001, 0.008), "0 to 1"),
        (numbers.hundred_span(0.964, 0.998), "96 to 100"),
        (numbers.hundred_span(0.0106, 0.0143), "1.1 to 1.4"),
        (numbers.hundred_span(1.0, 1.0), "100 to 100"),
        (numbers.hundred_span(0.0001, 0.004), "0 to 1"),
        (numbers.hundred_span(0.0029, 0.0046, 0.0036), "0.3 to 0.5"),
        (numbers.hundred_span(0.0029, 0.0124, 0.0076), "0 to 1"),
        (numbers.in_hundred(0.001), "fewer than 1"),
        (numbers.in_hundred(0.023, 0.021, 0.025), "2.3"),  # 2 lies outside its own interval
        (numbers.about_hundred("12"), "about 12"),
        (numbers.about_hundred(numbers.in_hundred(0.998)), "nearly all"),
        (numbers.about_hundred(numbers.in_hundred(0.995, 0.97, 0.999)), "nearly all"),
        (numbers.about_count(11_458.2, 22_433), "11,500"),
        (numbers.about_count(316.4, 2_000), "316"),
        (numbers.about_count(11_376.0, 11_376), "11,376"),
        (numbers.about_hundred(numbers.in_hundred(0.001)), "fewer than 1"),
        (numbers.edges(0.8667, 0.9333), ("0.87", "0.93")),
        (numbers.edges(0.99912, 0.99987), ("0.9991", "0.9999")),
    ],
)
def test_numbers_are_written_as_people_read_them(said, expected):
    assert said == expected


def test_numbers_of_a_column_have_as_many_decimals_as_one_of_them_needs():
    assert numbers.points_alike([0.043, None, -0.0002, 1.0]) == ["4.30", "–", "−0.02", "100.00"]
    assert numbers.points_alike([0.043, 0.0], signed=True) == ["+4.3", "0.0"]
    assert numbers.three_alike([12.345, math.nan, -0.55]) == ["12.3", "–", "−0.6"]
    assert numbers.three_alike([None]) == ["–"]


@pytest.mark.parametrize(
    ("share", "singular"), [(0.01, True), (0.001, True), (0.0, False), (0.02, False), (1.0, False)]
)
def test_one_and_less_than_one_of_a_hundred_are_singular(share, singular):
    assert numbers.singular(numbers.in_hundred(share)) == singular
