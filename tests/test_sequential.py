"""The sequential test of `gnav compare` errs as often as it says, stops early, and does without variance."""

import numpy as np
import pytest

from gnav_agents.arena.sequential import SequentialTest
from gnav_env.errors import GnavError

NUM_RUNS = 2000


def ordinary(rng, shape):
    """Six differences in {-1, 0, 1}, mostly 0, as six rotations give."""
    uniform = rng.random((*shape, 6), np.float32)
    return (uniform > 0.9).mean(axis=-1) - (uniform < 0.1).mean(axis=-1)


def skewed(rng, shape):
    """Often a little worse, seldom much better; the mean is 0."""
    return rng.choice([-1 / 6, 0, 5 / 6], p=[0.25, 0.7, 0.05], size=shape)


def heavy(rng, shape):
    """Nearly always level; three blocks in a hundred all one way."""
    return rng.choice([-1, -1 / 6, 0, 1 / 6, 1], p=[0.015, 0.05, 0.87, 0.05, 0.015], size=shape)


def run_many(differences, test, look_every):
    """(better [R], worse [R], blocks at the verdict [R]) for runs [R, N]: the test's definition, for all at once."""
    num_runs, longest = differences.shape
    number = np.arange(1, longest + 1)
    mean = differences.cumsum(axis=1) / number
    variance = (differences**2).cumsum(axis=1) / number - mean**2 + 2 / number
    is_look = (number % look_every == 0) & (number >= test.min_blocks)
    found, ends = [], []
    for delta in (test.delta, -test.delta):
        ratio = number / 2 * np.log((variance + mean**2) / (variance + (mean - delta) ** 2))
        is_end = is_look & ((ratio >= test.upper) | (ratio <= test.lower))
        end = np.where(is_end.any(axis=1), is_end.argmax(axis=1), longest)
        last = np.minimum(end, longest - 1)
        found.append((end < longest) & (ratio[np.arange(num_runs), last] >= test.upper))
        ends.append(end + 1)
    better, worse = found
    blocks = np.where(better, ends[0], np.where(worse, ends[1], np.maximum(*ends)))
    return better, worse, blocks


def play(test, differences, look_every):
    for start in range(0, len(differences), look_every):
        if test.add(differences[start : start + look_every]) != "undecided":
            break
    return test


@pytest.mark.parametrize("look_every", [1, 8, 64])
@pytest.mark.parametrize("shift", [0, 0.02, -0.05])
def test_the_test_does_to_a_run_what_it_does_to_many_at_once(look_every, shift):
    differences = ordinary(np.random.default_rng(3), (12, 1024)) + shift
    differences = np.clip(differences, -1, 1)
    better, worse, blocks = run_many(differences, SequentialTest(0.05), look_every)
    for run in range(len(differences)):
        test = play(SequentialTest(0.05), differences[run], look_every)
        wanted = "better" if better[run] else "worse" if worse[run] else "level"
        assert (test.verdict, test.num_blocks) == (wanted, blocks[run])


@pytest.mark.parametrize("delta", [0.03, 0.06])
@pytest.mark.parametrize("make", [ordinary, skewed, heavy])
def test_over_two_thousand_runs_without_a_difference_the_error_stays_at_its_level(make, delta):
    differences = make(np.random.default_rng(11), (NUM_RUNS, 1600))
    for look_every in (1, 8, 64):
        better, worse, blocks = run_many(differences, SequentialTest(delta, alpha=0.05), look_every)
        error = (better | worse).mean()
        print(f"looks every {look_every}: error {error:.4f}, {blocks.mean():.0f} blocks expected")
        assert error <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / NUM_RUNS)
        assert (blocks <= 1600).mean() > 0.99


@pytest.mark.parametrize("delta", [0.03, 0.06])
@pytest.mark.parametrize(("make", "power"), [(ordinary, 0.95), (heavy, 0.95), (skewed, 0.92)])
def test_a_difference_of_delta_is_found_with_the_power_promised_and_never_the_wrong_way(make, power, delta):
    noise = make(np.random.default_rng(12), (NUM_RUNS, 1600))
    for sign in (1, -1):
        # no clipping: the definition holds beyond 1 too, and the mean stays what it is
        better, worse, _ = run_many(noise + sign * delta, SequentialTest(delta, beta=0.05), 8)
        right, wrong = (better, worse) if sign > 0 else (worse, better)
        assert right.mean() >= power - 2 * np.sqrt(0.05 * 0.95 / NUM_RUNS)
        assert wrong.mean() < 0.002


def test_it_needs_fewer_blocks_than_a_test_of_fixed_length_with_the_same_errors():
    delta = 0.03
    noise = ordinary(np.random.default_rng(13), (NUM_RUNS, 2400))
    fixed = ((1.96 + 1.645) / delta) ** 2 * noise.var()
    expected = {shift: run_many(noise + shift, SequentialTest(delta), 8)[2].mean() for shift in (0, delta, 2 * delta)}
    print(f"expected blocks by true mean: {expected}; a test of fixed length: {fixed:.0f}")
    assert expected[delta] < 0.85 * fixed
    assert expected[0] < fixed
    assert expected[2 * delta] < 0.4 * fixed


@pytest.mark.parametrize("make", [ordinary, skewed])
def test_the_interval_at_the_verdict_holds_the_true_mean_about_as_often_as_it_says(make):
    noise = make(np.random.default_rng(14), (400, 1600))
    for mean in (0, 0.05):
        looks = [play(SequentialTest(0.05), np.clip(run, -1 - mean, 1 - mean) + mean, 8).history[-1] for run in noise]
        assert 0.92 < np.mean([look.low <= mean <= look.high for look in looks]) <= 1


def test_agents_that_play_identically_are_level_and_nothing_is_divided_by_zero():
    test = play(SequentialTest(0.02), np.zeros(1000), 8)
    assert test.verdict == "level"
    assert test.num_blocks < 250
    assert test.mean == 0
    assert np.isfinite([(look.llr_better, look.llr_worse, look.low, look.high) for look in test.history]).all()


def test_an_agent_that_always_wins_is_soon_better():
    for value, verdict in ((1.0, "better"), (-1.0, "worse")):
        test = play(SequentialTest(0.05), np.full(1000, value), 8)
        assert test.verdict == verdict
        assert test.num_blocks < 100


def test_there_is_no_verdict_before_min_blocks():
    for min_blocks in (100, 300):
        assert play(SequentialTest(0.05, min_blocks=min_blocks), np.ones(1000), 1).num_blocks == min_blocks


def test_with_the_agents_exchanged_the_verdict_is_the_opposite():
    differences = skewed(np.random.default_rng(5), (640,)) + 0.04
    one, other = play(SequentialTest(0.03), differences, 8), play(SequentialTest(0.03), -differences, 8)
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert one.llr_better == pytest.approx(other.llr_worse, rel=1e-12)
    assert one.interval == pytest.approx([-end for end in other.interval[::-1]], rel=1e-12)


def test_a_verdict_stands_and_each_look_is_kept():
    test = SequentialTest(0.1, min_blocks=4)
    assert (test.verdict, test.num_blocks, test.interval) == ("undecided", 0, (-1, 1))
    assert np.isnan(test.mean)
    assert test.add(np.full(100, 0.5)) == "better"
    assert test.add(np.full(900, -0.5)) == "better"
    assert [look.num_blocks for look in test.history] == [100, 1000]
    assert test.mean == pytest.approx(-0.4)
    assert test.llr_worse > test.upper


def test_the_log_likelihood_ratio_is_that_of_a_normal_distribution_whose_variance_is_fitted():
    blocks = np.array([0.5, 0.0, -0.25, 0.25, 0.0, 0.75])
    test = SequentialTest(0.2)
    test.add(blocks[:2])
    test.add(blocks[2:])

    def log_likelihood(mean):
        """Of a normal distribution with the variance that fits the blocks best, two extreme ones taken in."""
        variance = (((blocks - mean) ** 2).sum() + 2) / 6
        return -6 / 2 * np.log(variance)

    assert test.llr_better == pytest.approx(log_likelihood(0.2) - log_likelihood(0), rel=1e-12)
    assert test.llr_worse == pytest.approx(log_likelihood(-0.2) - log_likelihood(0), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"delta": 0}, "delta must be above 0"),
        ({"delta": 1.5}, "delta must be above 0 and below 1"),
        ({"delta": 0.1, "alpha": 0.7}, "alpha must be"),
        ({"delta": 0.1, "beta": 0.0}, "beta must be"),
        ({"delta": 0.1, "min_blocks": 0}, "min_blocks must be"),
    ],
)
def test_a_test_that_cannot_be_is_refused(arguments, wrong):
    with pytest.raises(GnavError, match=wrong):
        SequentialTest(**arguments)


@pytest.mark.parametrize("blocks", [[], [2.0], [np.nan], [[0.0]]])
def test_what_cannot_be_block_means_is_refused(blocks):
    with pytest.raises(GnavError, match="from -1 to 1"):
        SequentialTest(0.1).add(blocks)
