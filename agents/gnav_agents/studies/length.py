"""How long a match lasts: `play_lengths` plays many and counts their deals, `study_length` does so for a grid of cells.

Nothing depends on how many matches are played side by side: match m has the shoe number m of the seed, and the luck of
whoever decides in it comes from a generator of that match.
"""

# pyright: reportArgumentType=false, reportReturnType=false
# (numba wants np.int64 where a reader and pyright see an int)

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Actions, Agent, Masks, Observations, Policy, ask, checked_actions
from gnav_agents.registry import make_agent
from gnav_agents.studies.cells import Grid
from gnav_agents.studies.figures import LEVEL, Estimate, mean_of, share_of
from gnav_env._jit import kernel
from gnav_env.chance import random_key, shoe_key
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.variants import get_rules
from gnav_env.vector import Tables

__all__ = [
    "BATCH",
    "DEFINITIONS",
    "QUANTILES",
    "Lengths",
    "length_row",
    "play_lengths",
    "play_out",
    "quantile",
    "study_length",
]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BATCH = 1000
"""Matches played side by side; it changes nothing but time and memory."""

_LUCK = 1 << 40
"""Numbers from here on are luck, below a match's shoe; the shoe's decks are numbered from 0."""

DEFINITIONS = {
    "match": "deals until the ruleset says that it is decided; all seats have their lives at the start, the first "
    "dealer is drawn, and matches are independent",
    "deals": "deals that a match took, the first and the last one counted",
    "mean": f"mean over matches, with Student's {LEVEL:.0%} interval",
    "q05 ... q95": "quantiles over matches: the least number of deals that this share of them did not exceed",
    "longest": "the most deals of a match",
    "cut": "matches that were undecided after Rules.max_deals (4 x seats x lives) and were cut off there. They count "
    "with the deals they had, so that where there are any the mean, and every quantile as high as the limit, is "
    "a lower bound",
    "share_cut": f"cut / matches, with the {LEVEL:.0%} interval of Clopper and Pearson",
    "decisions": "choices between STAND and EXCHANGE in a match, mean over matches",
}
"""What the words of the report mean."""


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """The matches of one cell, in their order under the seed."""

    deals: NDArray[np.int64]
    """Deals of each match, [M]."""
    decisions: NDArray[np.int64]
    """Choices in each match, [M]."""
    is_cut: NDArray[np.bool_]
    """Cut off at the limit, [M]."""


def study_length(
    grid: Grid,
    agents: Sequence[str],
    num_matches: int,
    seed: int,
    *,
    batch: int = BATCH,
    progress: Callable[[str, int], None] | None = None,
) -> list[dict[str, Any]]:
    """A row (see `length_row`) for each cell of the grid; `progress` hears the ruleset and how many more have ended."""
    if num_matches < 1:
        raise GnavError(f"matches must be 1 or more, not {num_matches}")
    cells = [(rules, num_seats) for rules in grid.rules for num_seats in grid.seats_of(rules)]
    for rules, num_seats in cells:  # whatever is wrong with a name is found before anything is played
        _seated(agents, rules, num_seats)
    rows: list[dict[str, Any]] = []
    for rules, num_seats in cells:
        told = None if progress is None else lambda num, name=rules.name: progress(name, num)
        lengths = play_lengths(rules, num_seats, agents, num_matches, seed, batch=batch, progress=told)
        rows.append(length_row(rules, num_seats, lengths))
    return rows


def length_row(rules: Rules, num_seats: int, lengths: Lengths) -> dict[str, Any]:
    """The figures of one cell; `DEFINITIONS` says what they mean."""
    mean, decisions = mean_of(lengths.deals), mean_of(lengths.decisions)
    num, num_cut = len(lengths.deals), int(lengths.is_cut.sum())
    cut: Estimate = share_of(num_cut, num)
    return {
        "rules": rules.name,
        "seats": num_seats,
        "matches": num,
        "mean": mean.value,
        "mean_low": mean.low,
        "mean_high": mean.high,
        **{f"q{100 * share:02.0f}": quantile(lengths.deals, share) for share in QUANTILES},
        "longest": int(lengths.deals.max()),
        "cut": num_cut,
        "share_cut": cut.value,
        "share_cut_low": cut.low,
        "share_cut_high": cut.high,
        "limit": rules.max_deals(num_seats),
        "decisions": decisions.value,
        "decisions_low": decisions.low,
        "decisions_high": decisions.high,
    }


def quantile(deals: NDArray[np.int64], share: float) -> int:
    """The least number of `deals` [M] that this share of the matches did not exceed.

    >>> quantile(np.arange(1, 101), 0.05), quantile(np.array([3, 4]), 0.5)
    (5, 3)
    """
    return int(np.quantile(deals, share, method="inverted_cdf"))


def play_lengths(
    rules: str | Rules,
    num_seats: int,
    agents: Sequence[str | Agent],
    num_matches: int,
    seed: int,
    *,
    batch: int = BATCH,
    progress: Callable[[int], None] | None = None,
) -> Lengths:
    """The lengths of matches 0 ... `num_matches` - 1 under `seed`; the agents are seated in turn from seat 0 on.

    `batch` of them are played side by side. `progress` hears after each step how many more have ended.
    """
    rules = get_rules(rules)
    seated = _seated(agents, rules, num_seats)
    deals, decisions = np.zeros((2, num_matches), np.int64)
    is_cut = np.zeros(num_matches, np.bool_)
    for first in range(0, num_matches, batch):
        matches = np.arange(first, min(num_matches, first + batch))
        tables = Tables(rules, num_seats, len(matches), seed=seed, restart=False)
        decisions[matches], is_cut[matches] = play_out(tables, matches, seated, progress)
        deals[matches] = tables.records["deals"]
    return Lengths(deals=deals, decisions=decisions, is_cut=is_cut)


def play_out(
    tables: Tables,
    matches: NDArray[np.int64],
    seated: Sequence[tuple[str, Agent]],
    progress: Callable[[int], None] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The `tables` have played `matches` [B] to their ends: choices in each [B], and which were cut off [B]."""
    tables.reset(matches=matches)
    decisions, is_cut = np.zeros(len(matches), np.int64), np.zeros(len(matches), np.bool_)
    while (waiting := np.flatnonzero(tables.seat >= 0)).size:
        actions = np.zeros(len(matches), np.int64)
        agent_at = tables.seat[waiting] % len(seated)
        for number, (name, agent) in enumerate(seated):
            rows = waiting[agent_at == number]
            if rows.size:
                luck = (tables.seed, matches[rows], decisions[rows])
                actions[rows] = _choose(name, agent, tables.observation[rows], tables.action_mask[rows], *luck)
        decisions[waiting] += 1
        tables.step(actions)
        is_cut |= tables.reached_limit
        if progress is not None:
            progress(int(np.count_nonzero(tables.seat[waiting] < 0)))
    return decisions, is_cut


def _seated(agents: Sequence[str | Agent], rules: Rules, num_seats: int) -> list[tuple[str, Agent]]:
    """Names and agents; `GnavError` if there are none, or more than seats."""
    rules.check_seats(num_seats)
    if not agents:
        raise GnavError("a study needs an agent to play, as in --agent tips")
    if len(agents) > num_seats:
        raise GnavError(f"at a table of {num_seats} there is no room for {len(agents)} agents: name fewer")
    return [
        (agent, make_agent(agent, rules, num_seats)) if isinstance(agent, str) else (type(agent).__name__, agent)
        for agent in agents
    ]


def _choose(
    name: str,
    agent: Agent,
    observation: Observations,
    action_mask: Masks,
    seed: int,
    matches: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> Actions:
    """Actions [B], with luck that depends on the match and on the number of the decision in it, not on the batch.

    A `Policy` is asked for its probabilities, all rows at once. Another agent is asked row by row, each time with a
    new generator.
    """
    if isinstance(agent, Policy):
        try:
            probabilities = agent.probabilities(observation, action_mask.copy())
        except Exception as error:
            raise GnavError(f"agent {name} failed: {type(error).__name__}: {error}") from error
        luck = np.empty(len(matches))
        luck_all(seed, matches, numbers, luck)
        return checked_actions(name, (luck >= probabilities[:, 0]).astype(np.int64), action_mask)
    chosen = np.empty(len(matches), np.int64)
    for row, (match, number) in enumerate(zip(matches.tolist(), numbers.tolist(), strict=True)):
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(match, number))))
        chosen[row] = ask(name, agent, observation[row : row + 1], action_mask[row : row + 1], rng)[0]
    return chosen


@kernel
def luck_all(seed: int, matches: Any, numbers: Any, luck: Any) -> None:
    """`luck` float64 [B], 0 or more and below 1: of decision `numbers[b]` in match `matches[b]` under `seed`."""
    for b in range(matches.size):
        bits = random_key(shoe_key(seed, matches[b]), _LUCK + numbers[b])
        luck[b] = np.float64(bits >> np.uint64(11)) * 2.0**-53
