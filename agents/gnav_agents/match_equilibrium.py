"""`MatchEquilibrium`: plays the solved match (solve/match.py), knowing the score as well as the cards."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations, Policy
from gnav_agents.solve.match_policies import NOT_SOLVED, MatchPolicies
from gnav_env.errors import GnavError
from gnav_env.observation import num_seats_of, piece
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND

__all__ = ["MatchEquilibrium", "match_equilibrium", "shipped_matches"]


def match_equilibrium(rules: Rules, num_seats: int, folder: str | Path | None = None) -> "MatchEquilibrium":
    """The agent for a table of `num_seats`, from the solved match in `folder` or the one that comes with the package.

    Raises `GnavError` if there is none for so many seats of this ruleset.
    """
    command = f"gnav solve match --rules {rules.name} --seats {num_seats} --out FOLDER"
    how = f"{command} makes one, match_equilibrium:FOLDER plays it"
    if folder is None:
        folder = shipped_matches().get(rules.name)
        if folder is None:
            names = ", ".join(shipped_matches())
            raise GnavError(
                f"agent match_equilibrium: no match of {rules.name} comes with the package, only {names}; {how}"
            )
    policies = MatchPolicies.load(Path(folder) / "policies.npz", rules=rules)
    if policies.num_seats < num_seats:
        raise GnavError(
            f"agent match_equilibrium: {folder} is for 2 to {policies.num_seats} seats, not {num_seats}; {how}"
        )
    return MatchEquilibrium(policies)


def shipped_matches() -> dict[str, Path]:
    """The folders of solved matches that come with the package, by the name of their ruleset."""
    folder = Path(str(files("gnav_agents") / "solutions" / "matches"))
    return {path.name.rpartition("-")[0]: path for path in sorted(folder.glob("*-*"))}


class MatchEquilibrium(Policy):
    """In each deal the policy that was found for its lives, dealer and seats that sit out.

    Args:
        policies: of a match of as many seats as there are, or of more: a match comes down to fewer.

    Raises `GnavError` when it is asked about a deal that the solved match never comes to.
    """

    def __init__(self, policies: MatchPolicies) -> None:
        self._policies = policies

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]: the equilibrium's chances."""
        probabilities = np.zeros((len(action_mask), NUM_ACTIONS))
        is_free = action_mask.all(axis=1)
        rows = np.flatnonzero(is_free)
        if len(rows):
            chances = self._policies.chances(observation[rows])
            unknown = np.flatnonzero(chances == NOT_SOLVED)
            if len(unknown):
                raise GnavError(self._why_not(observation[rows[unknown[0]]]))
            probabilities[rows, STAND] = chances
            probabilities[rows, EXCHANGE] = 1 - chances
        probabilities[~is_free] = action_mask[~is_free]
        return probabilities

    def _why_not(self, view: NDArray[Any]) -> str:
        rules = self._policies.rules
        lives = np.rint(piece(view, "lives")[:, 0] * rules.lives).astype(int).tolist()
        return (
            f"match_equilibrium has solved matches of {rules.name} with 2 to {self._policies.num_seats} seats of "
            f"{rules.lives} lives; this table has {num_seats_of(len(view))} seats with lives {lives}"
        )
