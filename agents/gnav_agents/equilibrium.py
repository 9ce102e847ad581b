"""Plays what has been solved: in every deal the equilibrium for the number of seats that are in it.

The tables are files of solve/solution.py. A match begins with one of them and goes on with smaller ones as seats fall,
so all from two seats up have to be there. They are for seats that only care for the lives of this deal, all with full
lives: what the score is does not matter to the agent.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy, mixed, place
from gnav_agents.solve.information import NOT_FOUND, find_all, num_in_deal
from gnav_agents.solve.solution import Solution, is_solution, load_solution, read_header, shipped_solutions
from gnav_env.errors import GnavError
from gnav_env.observation import num_seats_of
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["Equilibrium"]

_CHANCE_LOWER = place("chance_lower")


class Equilibrium(Policy):
    """The solved deals of a ruleset.

    Where no table knows what a seat sees (a card it knew is a fallen seat's), it keeps a card if at least half of
    those that it has not seen are lower.

    Args:
        rules: the ruleset.
        num_seats: the seats of the largest table that is to be played.
        source: a file of a solved deal, or a folder of such files; they go before those that come with the package.

    Raises `GnavError` if a number of seats from 2 to `num_seats` has not been solved, or if a file of `source` is not
    one of a solved deal of this ruleset.
    """

    def __init__(self, rules: str | Rules, num_seats: int, source: str | Path | None = None) -> None:
        self._rules = get_rules(rules)
        self._paths = _shipped_for(self._rules)
        if source is not None:
            self._paths |= _given(Path(source), self._rules)
        missing = [number for number in range(2, num_seats + 1) if number not in self._paths]
        if missing:
            raise GnavError(_what_is_missing(self._rules, missing))
        self._solutions: dict[int, Solution] = {}

    def solution(self, num_seats: int) -> Solution:
        """The solution for a deal of `num_seats`, read from its file when it is first asked for."""
        if num_seats not in self._solutions:
            self._solutions[num_seats] = load_solution(self._paths[num_seats], self._rules)
        return self._solutions[num_seats]

    def find(self, observation: Observations) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The seats of each row's deal, [B], and in which information state of its solution the seat is, [B].

        The state is -1 where there is no solution or where it has none.
        """
        numbers = num_in_deal(observation)
        states = np.full(len(observation), NOT_FOUND, np.int64)
        for number in np.unique(numbers).tolist():
            if number in self._paths:
                rows = np.flatnonzero(numbers == number)
                found = np.empty(len(rows), np.int64)
                table_seats = num_seats_of(observation.shape[1])
                find_all(self.solution(number).index, observation[rows], table_seats, found)
                states[rows] = found
        return numbers, states

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]."""
        numbers, states = self.find(observation)
        stand = np.empty(len(observation))
        for number in np.unique(numbers).tolist():
            rows = (numbers == number) & (states != NOT_FOUND)
            if rows.any():
                stand[rows] = self.solution(number).stand[states[rows]]
        unknown = states == NOT_FOUND
        stand[unknown] = observation[unknown, _CHANCE_LOWER] >= 0.5
        return mixed(stand, action_mask)


def _shipped_for(rules: Rules) -> dict[int, Path]:
    """The files that come with the package and solve `rules`, by number of seats."""
    shipped = shipped_solutions().items()
    return {number: path for (_, number), path in shipped if read_header(path).rules_hash == rules.hash}


def _given(source: Path, rules: Rules) -> dict[int, Path]:
    """The files of `source`, by number of seats; of a folder those for `rules`, one at least."""
    if source.is_dir():
        headers = {path: read_header(path) for path in sorted(source.glob("*.npz")) if is_solution(path)}
        found = {header.num_seats: path for path, header in headers.items() if header.rules_hash == rules.hash}
        if not found:
            others = ", ".join(sorted({header.rules_name for header in headers.values()}))
            raise GnavError(
                f"{source}: has no solved deals of {rules.name} ({rules.hash})"
                + (f", only of {others}" if others else "; they are files that end in .npz")
            )
        return found
    header = read_header(source)
    if header.rules_hash != rules.hash:
        load_solution(source, rules)  # says so
    return {header.num_seats: source}


def _what_is_missing(rules: Rules, missing: list[int]) -> str:
    """An error's sentence."""
    names = sorted({name for name, _ in shipped_solutions()})
    there = "; ".join(
        f"{name} for {', '.join(str(number) for other, number in sorted(shipped_solutions()) if other == name)} seats"
        for name in names
    )
    return (
        f"agent equilibrium: a deal of {', '.join(map(str, missing))} seats of ruleset {rules.name} has not been "
        f"solved, and seats may fall until so many are left; solved are {there or 'none'}; "
        f"gnav solve deal --rules {rules.name} --seats {missing[0]} --out FILE makes one, and equilibrium:FILE or a "
        "folder of such files plays it"
    )
