"""What solved deals teach: where to exchange, how far agents are from it, what information and a seat are worth.

Every figure is exact, worked out on the public tree of a deal from full lives (gnav_agents.solve): nothing is played
and nothing drawn. With three seats and more there are several equilibria; the figures are those of the one found.
What a seat cannot tell apart that misses something is in strategy_information.py; strategy_report.py and
strategy_plots.py show what came of it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Agent
from gnav_agents.registry import make_agent
from gnav_agents.solve.asked import policy_of
from gnav_agents.solve.deal import MAX_EXACT_SEATS, deal_tree, settle
from gnav_agents.solve.information import InformationStates
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.solution import load_solution, read_header, shipped_solutions
from gnav_agents.solve.sweep import KEEP, Sweeper
from gnav_agents.solve.tree import Node, Tree, check_solvable
from gnav_agents.studies.cells import Grid
from gnav_agents.studies.strategy_information import MISSED, groups_of, losses_from
from gnav_agents.threshold import Threshold
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND

__all__ = ["AGENTS", "BEST", "DEFINITIONS", "EQUILIBRIUM", "Cell", "Row", "Topic", "num_steps", "study_strategy"]

AGENTS = ("tips", "counting", "stand", "exchange", "uniform")
"""Agents that are always measured, beside all thresholds."""
EQUILIBRIUM, BEST = "equilibrium", "best threshold"

Topic = Literal["threshold", "after a trade", "gain", "information", "value"]

DEFINITIONS = {
    "position": "seats that act later; 0 is the dealer",
    "threshold": "nobody has knocked and all seats before have stood: the rank below which the equilibrium exchanges "
    "the card that it was dealt, as the number of the rank, 0 the lowest; the ranks that it exchanges are counted, "
    "with their chances where it mixes. The note names those that it mixes with, and exceptions: ranks that it "
    "exchanges though it keeps a lower one",
    "after a trade": "nobody has knocked, all but the seat just before have stood, and that one has traded with it. By "
    "`card`, the one that it gave away: the ranks that it exchanges now, counted as above. The rule is to EXCHANGE a "
    "card that is not better than the one given away and to keep a better one. `rule fits`: the share of the "
    "information states here that the others bring about in which no other choice is better; the note names the rest, "
    "the card held before the card given away. `rule costs`: lives a deal that the seat loses there if it keeps to it",
    "gain": "lives a deal that a seat's best response gains over the agent, which has all other seats; without a "
    f"position the sum over all seats (NashConv). `{BEST}` is the threshold for which the sum is the least",
    "information": "lives a deal that a seat's best response to the equilibrium loses if it has to do the same where "
    "only that differs which it misses. " + "; ".join(f"{name}: {words}" for name, words in MISSED.items()),
    "value": "lives that a seat loses a deal in the equilibrium, less those that it wins",
}
"""What the words of the report mean."""

_SOLVING = 12
"""Sweeps that solving a deal counts for in `num_steps`."""
_GROWTH = 6
"""How many times longer a sweep takes with a seat more, about."""
_SURE = 0.01
"""A chance of less than this is as good as none: regret matching leaves such."""
_SAME = 1e-9
"""Choices whose values differ by less are as good as each other."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number of the report, with all that says of what; `DEFINITIONS` has what it means."""

    rules: str
    seats: int
    topic: Topic
    what: str
    """An agent, a key of `MISSED`, `exchanges`, `rule fits` or `rule costs`."""
    value: float
    position: int | None = None
    """Seats that act later; None: the sum over all seats."""
    card: str = ""
    """Of a threshold, the lowest rank that is kept more often than not; after a trade, the card given away."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """How an equilibrium was found."""

    rules: str
    seats: int
    states: int
    """Information states."""
    nash_conv: float
    """What all seats together would gain by best responses, in lives a deal."""
    sweeps: int
    how: str
    """As `SolvedDeal.how`."""


Progress = Callable[[str, int], None]


def study_strategy(
    grid: Grid, agents: Sequence[str] = (), *, workers: int | None = None, progress: Progress | None = None
) -> tuple[list[Row], list[Cell]]:
    """The rows and the solved cells of the grid; `agents` are measured beside `AGENTS` and the thresholds.

    `progress` hears what is being done and how many of `num_steps` more are over. More `workers` (one for each core by
    default) change nothing but time. Raises `GnavError` for cells that are not solved exactly, and for agents that
    cannot be measured.
    """
    tell = progress or (lambda _what, _steps: None)
    names = _measured(agents)
    cells = [(rules, num_seats) for rules in grid.rules for num_seats in grid.seats_of(rules)]
    for rules, num_seats in cells:  # whatever is wrong is found before anything is solved
        check_solvable(rules)
        if num_seats > MAX_EXACT_SEATS:
            raise GnavError(f"seats must be 2 to {MAX_EXACT_SEATS} to be solved exactly, not {num_seats}")
        for name in names:
            _check_says_chances(name, make_agent(name, rules, num_seats))
    rows: list[Row] = []
    solved: list[Cell] = []
    for rules, num_seats in cells:
        weight = _GROWTH ** (num_seats - 2)
        where = f"{rules.name}, {num_seats} seats"
        tell(f"{where}: solving", 0)
        study = _Study(rules, num_seats, workers or os.cpu_count() or 1)
        tell(f"{where}: agents", _SOLVING * weight)
        rows += study.equilibrium_rows()
        measured = {name: make_agent(name, rules, num_seats) for name in names}
        for gains in study.gains(measured):
            rows += gains
            tell(f"{where}: agents", weight)
        solved.append(study.cell)
    return rows, solved


def num_steps(grid: Grid, agents: Sequence[str] = ()) -> int:
    """Steps that `study_strategy` tells of: sweeps, each with the time that it takes at so many seats."""
    return sum(
        (_SOLVING + len(_measured(agents)) + len(_levels(rules))) * _GROWTH ** (num_seats - 2)
        for rules in grid.rules
        for num_seats in grid.seats_of(rules)
    )


def _measured(agents: Sequence[str]) -> list[str]:
    """Who is measured beside the thresholds, which need not be named."""
    return [name for name in dict.fromkeys([*AGENTS, *agents]) if not name.startswith("threshold:")]


class _Study:
    """One ruleset with one number of seats."""

    def __init__(self, rules: Rules, num_seats: int, workers: int) -> None:
        self._rules, self._num_seats = rules, num_seats
        self._tree = deal_tree(rules, num_seats)
        self._sweeper = Sweeper(self._tree, lives_payoffs(self._tree), workers=workers)
        self._stand, how, sweeps, nash_conv = _equilibrium(self._sweeper)
        self._states = InformationStates(self._tree)
        self.cell = Cell(
            rules=rules.name,
            seats=num_seats,
            states=self._tree.num_states,
            nash_conv=nash_conv,
            sweeps=sweeps,
            how=how,
        )

    def equilibrium_rows(self) -> list[Row]:
        """All that is said of the equilibrium itself."""
        self._sweeper.stand[:] = self._stand
        found = self._sweeper.sweep(KEEP)
        rows = [
            Row(**self._told("value", EQUILIBRIUM), position=position, value=0.0 - lives)
            for position, lives in self._by_position(found.values)
        ]
        rows += self._gain_rows(EQUILIBRIUM, found.gains)
        for missed in MISSED:
            losses = losses_from(self._sweeper, groups_of(self._tree, missed, self._sweeper.legal))
            rows += self._rows_by_seat("information", missed, losses)
        for seat in range(self._num_seats):
            rows += self._threshold(seat)
            if seat > 0:
                rows += self._after_a_trade(seat)
        return rows

    def gains(self, agents: dict[str, Agent]) -> Iterator[list[Row]]:
        """The rows of each agent and of each threshold, one after the other; the last ones have those of the best."""
        for name, agent in agents.items():
            yield self._gain_rows(name, self._gains_of(name, agent))
        best: tuple[float, NDArray[np.float64], str] = (np.inf, np.zeros(0), "")
        levels = _levels(self._rules)
        for level in levels:
            card = self._rules.card_name(self._rules.ranks[level])
            gains = self._gains_of(f"threshold:{card}", Threshold(level))
            best = min(best, (float(gains.sum()), gains, card), key=lambda one: one[0])
            rows = self._gain_rows(f"threshold:{card}", gains, card)
            if level == levels[-1]:
                rows += self._gain_rows(BEST, best[1], best[2])
            yield rows

    def _gains_of(self, name: str, agent: Agent) -> NDArray[np.float64]:
        """What each seat's best response gains over the agent, [S]."""
        self._sweeper.stand[:] = policy_of(name, agent, self._tree, self._states, self._sweeper.legal)
        return self._sweeper.sweep(KEEP).gains

    def _threshold(self, seat: int) -> list[Row]:
        """The seat's threshold if all before it have stood."""
        node = _quiet_node(self._tree, seat, (STAND,) * seat)
        if node is None:
            return []
        ranks = node.domains[node.seen[0]]
        stand = self._stand[node.first_state : node.first_state + node.num_states]
        return [self._exchanged("threshold", seat, ranks, stand)]

    def _after_a_trade(self, seat: int) -> list[Row]:
        """What the seat exchanges if the one before it has traded with it and all others before have stood."""
        node = _quiet_node(self._tree, seat, (STAND,) * (seat - 1) + (EXCHANGE,))
        if node is None or len(node.seen) != 2:
            return []
        of_node = slice(node.first_state, node.first_state + node.num_states)
        own, given = (np.array(node.domains[place]) for place in node.seen)
        stand = self._stand[of_node].reshape(own.size, given.size)
        rows = [
            self._exchanged("after a trade", seat, own.tolist(), stand[:, at], given=rank)
            for at, rank in enumerate(given.tolist())
        ]
        worth = self._sweeper.worth[of_node].reshape(own.size, given.size, -1)
        comes_about = (worth != 0).any(axis=2)
        by_rule = np.where(own[:, np.newaxis] > given, worth[:, :, STAND], worth[:, :, EXCHANGE])
        cost = worth.max(axis=2) - by_rule
        others = [
            f"{self._name(int(own[i]))} for {self._name(int(given[j]))}" for i, j in np.argwhere(cost > _SAME).tolist()
        ]
        fits = float((cost <= _SAME)[comes_about].mean()) if comes_about.any() else np.nan
        note = f"not for: {', '.join(others)}" if others else ""
        for what, value in (("rule fits", fits), ("rule costs", float(cost.sum()))):
            told = self._told("after a trade", what)
            rows.append(Row(**told, position=self._num_seats - 1 - seat, value=value, note=note))
        return rows

    def _exchanged(
        self, topic: Topic, seat: int, ranks: Sequence[int], stand: NDArray[np.float64], given: int | None = None
    ) -> Row:
        """How many ranks the seat exchanges, as the number of a rank; `stand` has the chance of STAND for `ranks`."""
        kept = [rank for rank, chance in zip(ranks, stand, strict=True) if chance >= 0.5]
        mixed = [self._name(r) for r, chance in zip(ranks, stand, strict=True) if _SURE < chance < 1 - _SURE]
        odd = [self._name(r) for i, r in enumerate(ranks) if (stand[:i] > stand[i] + _SURE).any()]
        notes = [
            f"{words} {', '.join(names)}"
            for words, names in (("mixes with", mixed), ("though lower ones stay:", odd))
            if names
        ]
        lowest_kept = self._name(kept[0]) if kept else ""
        return Row(
            **self._told(topic, "exchanges"),
            position=self._num_seats - 1 - seat,
            value=min(ranks) + float((1 - stand).sum()),
            card=lowest_kept if given is None else self._name(given),
            note="; ".join(notes),
        )

    def _gain_rows(self, what: str, gains: NDArray[np.float64], card: str = "") -> list[Row]:
        return self._rows_by_seat("gain", what, gains, card)

    def _rows_by_seat(self, topic: Topic, what: str, values: NDArray[np.float64], card: str = "") -> list[Row]:
        """The sum over all seats, then each of them."""
        told = self._told(topic, what)
        whole = Row(**told, value=float(values.sum()) + 0.0, card=card)
        return [whole, *(Row(**told, position=p, value=value, card=card) for p, value in self._by_position(values))]

    def _by_position(self, values: NDArray[np.float64]) -> list[tuple[int, float]]:
        return [(self._num_seats - 1 - seat, value) for seat, value in enumerate(values.tolist())]

    def _told(self, topic: Topic, what: str) -> dict[str, Any]:
        return {"rules": self._rules.name, "seats": self._num_seats, "topic": topic, "what": what}

    def _name(self, rank: int) -> str:
        return self._rules.card_name(self._rules.ranks[rank])


def _equilibrium(sweeper: Sweeper) -> tuple[NDArray[np.float64], str, int, float]:
    """An equilibrium [num_states], a shipped one if there is one; how it was found, in how many sweeps; NashConv."""
    rules = sweeper.tree.rules
    path = shipped_solutions().get((rules.name, sweeper.tree.num_seats))
    if path is not None and read_header(path).rules_hash == rules.hash:
        shipped = load_solution(path, rules)
        sweeper.stand[:] = shipped.stand
        nash_conv = float(sweeper.sweep(KEEP).gains.sum())
        return shipped.stand, str(shipped.header.solved["by"]), int(shipped.header.solved["rounds"]), nash_conv
    solved = settle(sweeper)
    return solved.stand, solved.how, solved.num_rounds, solved.nash_conv


def _quiet_node(tree: Tree, seat: int, actions: tuple[int, ...]) -> Node | None:
    """Where `seat` chooses after these actions, and no face is known to all; None if that cannot be."""
    for node in tree.nodes:
        if node.actor == seat and node.actions == actions and not node.public:
            return node
    return None


def _levels(rules: Rules) -> list[int]:
    """Ranks that are tried as thresholds, low to high: all that are dealt but the lowest, up to the lowest matador."""
    dealt = [number for number, rank in enumerate(rules.ranks) if rules.deck[rank]]
    matadors = [rules.rank_numbers[rank] for rank in rules.matadors if rules.deck[rank]]
    return [number for number in dealt[1:] if number <= min(matadors, default=len(rules.ranks))]


def _check_says_chances(name: str, agent: Agent) -> None:
    """`GnavError` naming the agent if it does not say its probabilities."""
    if not hasattr(agent, "probabilities"):
        raise GnavError(f"agent {name}: it cannot be measured exactly, since it does not say its probabilities")
