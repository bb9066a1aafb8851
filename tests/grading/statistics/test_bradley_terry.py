"""Strengths from votes: published figures, other implementations, and what intervals and ranks hold."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize

from grading.statistics import bradley_terry
from grading.statistics.bradley_terry import (
    PRIOR_SD,
    Votes,
    half_tie_strengths,
    least_certain_pairs,
    strengths,
)
from grading.statistics.mean_intervals import MIN_TOPICS
from reproduce.arena_strengths import ARENA_RANK, BASEBALL, PUBLISHED


def votes_of(rows):
    """Votes from (first, second, outcome, topic, voter)."""
    return Votes(*np.array(rows).T)


def drawn_votes(random, truth, tie, *, topics, per_topic, topic_sd=0.0):
    """Votes between random pairs; each topic shifts the strengths by its own amount."""
    rows = []
    for topic in range(topics):
        shifted = truth + random.normal(0, topic_sd, size=truth.size)
        for _ in range(per_topic):
            first, second = random.choice(truth.size, size=2, replace=False)
            half = (shifted[first] - shifted[second]) / 2
            chances = np.exp([half, tie, -half])
            rows.append((first, second, random.choice([1, 0, -1], p=chances / chances.sum()), topic, 0))
    return votes_of(rows)


def test_published_strengths_of_baseball_teams(monkeypatch):
    monkeypatch.setattr(bradley_terry, "PRIOR_SD", 1e3)
    rows = [
        (first, second, 1, number, 0)
        for first, wins in enumerate(BASEBALL.values())
        for second, won in enumerate(wins)
        for number in range(won)
    ]
    found = strengths(votes_of(rows), 7).strength
    assert np.round(found - found[-1], 2).tolist() == pytest.approx(PUBLISHED, abs=0.011)


def test_strengths_equal_those_of_arena_rank(monkeypatch):
    """Without ties and without a prior it is the model of the leaderboard of LMArena.

    The package itself needs jax; `arena_rank.json` says how its figures were made.
    """
    monkeypatch.setattr(bradley_terry, "PRIOR_SD", 1e3)
    expected = json.loads(ARENA_RANK.read_text())
    first, second, outcome, lengths = np.array(expected["votes"]).T
    numbers = np.arange(lengths.size)
    votes = Votes(*(column.astype(int) for column in (first, second, outcome)), numbers, numbers)
    plain, equal = strengths(votes, 5), strengths(votes, 5, lengths=lengths)
    assert plain.strength == pytest.approx(expected["ratings"], abs=2e-6)
    assert equal.strength == pytest.approx(expected["at_equal_length"]["ratings"], abs=2e-6)
    assert equal.length.slope == pytest.approx(expected["at_equal_length"]["slope"], abs=2e-6)


def test_strengths_with_half_ties_count_a_tie_as_half_a_win():
    """Each vote twice, a tie once for either side, is the same without ties."""
    votes = drawn_votes(np.random.default_rng(3), np.array([0.8, 0.1, -0.9]), 0.2, topics=10, per_topic=9)
    twice = Votes(*(np.repeat(column, 2) for column in votes))
    sides = np.tile([1, -1], len(votes.outcome))
    decided = twice._replace(outcome=np.where(twice.outcome == 0, sides, twice.outcome))
    assert half_tie_strengths(votes, 3) == pytest.approx(half_tie_strengths(decided, 3), abs=1e-9)


def test_strengths_with_half_ties_are_undefined_without_a_way_back():
    votes = votes_of([(0, 1, 1, 0, 0), (1, 2, 0, 0, 0)])
    assert np.isnan(half_tie_strengths(votes, 3)).all()
    with pytest.raises(ValueError, match="no votes"):
        half_tie_strengths(Votes(*(np.array([], dtype=int) for _ in range(5))), 3)


def test_another_optimiser_finds_the_same_strengths_and_ties():
    votes = drawn_votes(np.random.default_rng(1), np.array([0.8, 0.1, -0.9]), 0.2, topics=10, per_topic=9)

    def minus_log_posterior(values):
        half = (values[votes.first] - values[votes.second]) / 2
        said = np.choose(votes.outcome + 1, [-half, np.full_like(half, values[3]), half])
        total = np.logaddexp(np.logaddexp(half, -half), values[3])
        return (total - said).sum() + (values**2).sum() / (2 * PRIOR_SD**2)

    expected = minimize(minus_log_posterior, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    found = strengths(votes, 3)
    assert found.strength == pytest.approx(expected[:3] - expected[:3].mean(), abs=1e-5)
    assert found.tie == pytest.approx(expected[3], abs=1e-5)


def biased_votes(random, truth, words, slope, *, topics=60, per_topic=8):
    """Votes by people who like long answers: `words` by system, each answer up to half longer or shorter."""
    rows, lengths = [], []
    for topic in range(topics):
        logs = np.log(words) + random.uniform(-0.4, 0.4, size=truth.size)
        for _ in range(per_topic):
            first, second = random.choice(truth.size, size=2, replace=False)
            longer = logs[first] - logs[second]
            half = (truth[first] - truth[second] + slope * longer) / 2
            chances = np.exp([half, -0.5, -half])
            rows.append((first, second, random.choice([1, 0, -1], p=chances / chances.sum()), topic, 0))
            lengths.append(longer)
    return votes_of(rows), np.array(lengths)


def test_another_optimiser_finds_the_same_slope_of_length():
    truth, words = np.array([0.8, 0.1, -0.9]), np.array([90.0, 150.0, 300.0])
    votes, lengths = biased_votes(np.random.default_rng(4), truth, words, 1.2, topics=12)

    def minus_log_posterior(values):
        half = (values[votes.first] - values[votes.second] + values[3] * lengths) / 2
        said = np.choose(votes.outcome + 1, [-half, np.full_like(half, values[4]), half])
        total = np.logaddexp(np.logaddexp(half, -half), values[4])
        return (total - said).sum() + (values**2).sum() / (2 * PRIOR_SD**2)

    expected = minimize(minus_log_posterior, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    found = strengths(votes, 3, lengths=lengths)
    assert found.strength == pytest.approx(expected[:3] - expected[:3].mean(), abs=1e-5)
    assert found.length.slope == pytest.approx(expected[3], abs=1e-5)
    assert found.tie == pytest.approx(expected[4], abs=1e-5)


def test_without_ties_it_is_a_logistic_regression(monkeypatch):
    """Of who won, on the difference of systems and the log of lengths: solved here by scipy's logistic."""
    from scipy.special import expit

    monkeypatch.setattr(bradley_terry, "PRIOR_SD", 1e3)
    votes, lengths = biased_votes(
        np.random.default_rng(5), np.array([0.7, -0.7]), np.array([80.0, 200.0]), 1.0
    )
    decided = votes.outcome != 0
    votes, lengths = Votes(*(one[decided] for one in votes)), lengths[decided]
    columns = np.stack([np.where(votes.first == 0, 1.0, -1.0), lengths], axis=1)
    won = votes.outcome == 1
    values = np.zeros(2)
    for _ in range(30):
        chance = expit(columns @ values)
        information = columns.T @ (columns * (chance * (1 - chance))[:, None])
        values += np.linalg.solve(information, columns.T @ (won - chance))
    found = strengths(votes, 2, lengths=lengths)
    assert found.strength[0] - found.strength[1] == pytest.approx(values[0], abs=1e-2)
    assert found.length.slope == pytest.approx(values[1], abs=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_votes_of_people_who_like_long_answers_are_put_right(seed):
    """The best system writes the shortest answers: plain strengths have the order upside down."""
    truth, words = np.array([0.8, 0.0, -0.8]), np.array([60.0, 150.0, 400.0])
    votes, lengths = biased_votes(np.random.default_rng(seed), truth, words, 1.5, topics=120)
    plain = strengths(votes, 3)
    assert np.argsort(-plain.strength).tolist() == [2, 1, 0]
    found = strengths(votes, 3, lengths=lengths)
    assert np.argsort(-found.strength).tolist() == [0, 1, 2]
    assert found.length.low < 1.5 < found.length.high
    assert found.length.of_double == pytest.approx(2**found.length.slope)


def test_where_length_says_nothing_strengths_stay():
    truth = np.array([0.8, 0.0, -0.8])
    votes, lengths = biased_votes(np.random.default_rng(7), truth, np.array([100.0, 100.0, 100.0]), 0.0)
    found = strengths(votes, 3, lengths=lengths)
    assert found.length.low < 0 < found.length.high
    assert found.strength == pytest.approx(strengths(votes, 3).strength, abs=0.1)


def test_people_who_differ_widen_intervals():
    """Every fourth person prefers the second system: it matters who the people are."""
    votes = drawn_votes(np.random.default_rng(9), np.array([1.0, -1.0]), 0.0, topics=40, per_topic=8)
    voter = np.arange(votes.outcome.size) % 8
    of_one_mind = votes._replace(voter=voter)
    differing = of_one_mind._replace(outcome=np.where(voter % 4 == 0, -votes.outcome, votes.outcome))
    shuffled = differing._replace(voter=np.random.default_rng(1).permutation(voter))
    widths = [half_widths(strengths(one, 2))[0] for one in (of_one_mind, differing, shuffled)]
    assert widths[1] > 1.5 * max(widths[0], widths[2])


def half_widths(fitted):
    return (fitted.high - fitted.low) / 2


def test_another_voter_hardly_widens_intervals_where_people_do_not_differ():
    """The pigeonhole bootstrap made them eleven times as wide."""
    random = np.random.default_rng(3)
    truth, estimates, halves = np.array([1, 0.33, -0.33, -1]), [], []
    for _ in range(50):
        votes = drawn_votes(random, truth, 0.0, topics=30, per_topic=6, topic_sd=0.5)
        fitted = strengths(votes._replace(voter=random.integers(2, size=votes.outcome.size)), 4)
        estimates.append(fitted.strength)
        halves.append(half_widths(fitted))
    needed = 1.96 * np.std(estimates, axis=0).mean()
    assert 0.9 < np.mean(halves) / needed < 1.6


@pytest.mark.parametrize(("n", "is_defined", "is_clear"), [(2, 0, 0), (3, 0, 0), (5, 1, 0), (10, 1, 1)])
def test_equal_votes_claim_no_more_than_a_sign_test(n, is_defined, is_clear):
    """Two of two votes, or ten of ten, for one system: resamples of equal votes would all be equal."""
    fitted = strengths(votes_of([(0, 1, 1, topic, 0) for topic in range(n)]), 2)
    assert np.isfinite(fitted.low).all() == is_defined
    assert not (half_widths(fitted) < 1).any()
    assert (fitted.low[0] > 0) == is_clear
    assert fitted.ranks() == ([(1, 1), (2, 2)] if is_clear else [(1, 2), (1, 2)])


def test_a_system_with_votes_on_few_topics_has_no_interval_and_no_rank():
    rows = [(0, 1, 1, topic, 0) for topic in range(40)] + [(0, 2, 1, topic, 0) for topic in range(4)] * 9
    fitted = strengths(votes_of(rows), 3)
    assert np.isnan(fitted.low).tolist() == [False, False, True]
    assert fitted.ranks() == [(1, 2), (2, 3), (1, 3)]


def test_ranks_of_equal_systems_stay_open():
    """Marginal intervals ranked some of eight equal systems apart on one board in six."""
    random = np.random.default_rng(4)
    boards = [
        strengths(drawn_votes(random, np.zeros(8), 0.0, topics=30, per_topic=6, topic_sd=0.5), 8).ranks()
        for _ in range(60)
    ]
    assert sum(ranks != [(1, 8)] * 8 for ranks in boards) <= 5


def test_who_wins_every_vote_has_a_finite_strength_and_the_first_rank():
    votes = votes_of([(0, 1 + vote % 2, 1, vote, 0) for vote in range(40)])
    found = strengths(votes, 3)
    assert np.isfinite(found.high).all()
    assert found.ranks() == [(1, 1), (2, 3), (2, 3)]


def test_the_order_within_a_pair_does_not_matter():
    votes = drawn_votes(np.random.default_rng(2), np.array([0.5, -0.5, 0.0]), -0.5, topics=6, per_topic=8)
    swapped = votes._replace(first=votes.second, second=votes.first, outcome=-votes.outcome)
    assert strengths(votes, 3).low == pytest.approx(strengths(swapped, 3).low)


def test_intervals_cover_where_topics_differ():
    """The intervals of few topics must cover what many give (bench/arena_intervals.py has more of it)."""
    random = np.random.default_rng(3)
    drawn = {"truth": np.array([0.6, 0.2, -0.2, -0.6]), "tie": 0.0, "topic_sd": 1.0, "per_topic": 6}
    limit = strengths(drawn_votes(random, **drawn, topics=1_000), 4).strength
    covered = []
    for _ in range(25):
        found = strengths(drawn_votes(random, **drawn, topics=30), 4)
        covered.append((found.low <= limit) & (limit <= found.high))
    assert 0.9 <= np.mean(covered) <= 1


def test_the_least_certain_pair_is_asked_next():
    votes = votes_of(
        [(0, 2, 1, topic, 0) for topic in range(20)]
        + [(1, 2, 1, topic, 0) for topic in range(20)]
        + [(0, 1, (-1) ** topic, topic, 0) for topic in range(20)]
    )
    assert least_certain_pairs(strengths(votes, 3), votes)[0] == (0, 1)


def test_without_votes_there_is_nothing_to_fit():
    with pytest.raises(ValueError, match="no votes"):
        strengths(Votes(*(np.array([], dtype=int) for _ in range(5))), 2)


@pytest.mark.parametrize("seed", range(60))
def test_any_votes_give_intervals_around_strengths_or_none(seed):
    """Few or many systems, topics and people, systems that never met, people of one vote."""
    random = np.random.default_rng(seed)
    systems, topics, people = random.integers([2, 1, 1], [7, 12, 30])
    rows = [
        (
            *random.choice(systems, size=2, replace=False),
            random.integers(-1, 2),
            *random.integers([topics, people]),
        )
        for _ in range(random.integers(1, 60))
    ]
    votes = votes_of(rows)
    for lengths in (None, random.normal(size=len(rows)), np.zeros(len(rows))):
        fitted = strengths(votes, systems, lengths=lengths)
        has_interval = ~np.isnan(fitted.low)
        for system in range(systems):
            met = (votes.first == system) | (votes.second == system)
            assert has_interval[system] == (np.unique(votes.topic[met]).size >= MIN_TOPICS)
        assert (half_widths(fitted)[has_interval] > 0.05).all()
        assert all(1 <= best <= worst <= systems for best, worst in fitted.ranks())
        assert least_certain_pairs(fitted, votes)


def test_intervals_are_no_wider_than_without_votes():
    """One topic has nearly all votes: Student's t of one degree of freedom knows no prior."""
    rows = [(0, 1, 1 - 2 * (vote % 2), 0, 0) for vote in range(60)] + [
        (0, 1, 1, topic, 0) for topic in range(1, 5)
    ]
    fitted = strengths(votes_of(rows), 2)
    assert (half_widths(fitted) <= 1.96 * PRIOR_SD / np.sqrt(2)).all()
