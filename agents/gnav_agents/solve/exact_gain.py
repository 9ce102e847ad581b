"""How much better than an agent one can do among seats that all play as it does, exactly: its exploitability.

The agent is asked for its policy in every information state, and one sweep over the public tree says what every choice
is worth. gain.py bounds the same by samples, where the tree is too large or the
agent has no probabilities.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.asked import policy_of
from gnav_agents.solve.deal import MAX_EXACT_SEATS, deal_tree
from gnav_agents.solve.history_words import state_in_words
from gnav_agents.solve.information import InformationStates
from gnav_agents.solve.payoffs import lives_payoffs
from gnav_agents.solve.sweep import KEEP, Sweeper
from gnav_agents.solve.tree import Edge, Ending, Node, Tree, check_solvable
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND
from gnav_env.variants import get_rules

__all__ = ["ExactGain", "Exploiter", "LossyState", "exact_gain", "reach_of", "why_not_exact"]

NUM_STATES_TOLD = 10

_BOTH = 3
"""As `Sweeper.legal` has it: both actions."""

_TOLERANCE = 1e-6
_NOTHING = 1e-9
"""Lives a deal below which nothing is lost."""

_Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class LossyState:
    """An information state in which the agent loses."""

    state: int
    """Its number."""
    seat: int
    """Whose it is, in the order of action."""
    words: str
    """The state as a player would say it."""
    stand: float
    """The agent's chance of STAND."""
    better: int
    """What a best response does, 0 STAND, 1 EXCHANGE."""
    loss: float
    """Lives a deal that this seat would save; over all states the sum of `ExactGain.gains`."""
    reach: float
    """How often it comes about, in a deal."""

    @property
    def advice(self) -> str:
        """What the agent does, and what would save how much."""
        words = ("stand", "exchange")
        chance = (1 - self.stand) if self.better == STAND else self.stand
        often = "" if chance > 1 - _TOLERANCE else f" {100 * chance:.0f} % of the time"
        return (
            f"It {words[1 - self.better]}s{often}; to {words[self.better]} saves {self.loss:.5f} lives a deal, "
            f"{self.loss / self.reach:.3f} each time, once in {1 / self.reach:,.0f} deals"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactGain:
    """What a best response gains over an agent among its like, in lives a deal, and where."""

    tree: Tree
    values: tuple[float, ...]
    """Lives won less lives lost in a deal by the agent in each position, in the order of action."""
    gains: tuple[float, ...]
    """What a best response gains in each position."""
    worst: tuple[LossyState, ...]
    """The states where most is lost, the first the most."""
    stand: NDArray[np.float64]
    """The agent's chance of STAND in each information state, [num_states]."""
    reply: NDArray[np.float64]
    """That of a best response; where nothing is gained, or nobody comes, the agent's."""

    @property
    def gain(self) -> float:
        """Mean over the positions: the exploitability."""
        return float(np.mean(self.gains))


def why_not_exact(agent: object, rules: str | Rules, num_seats: int) -> str:
    """Why `exact_gain` cannot measure the agent at such a table, empty if it can."""
    rules = get_rules(rules)
    if not callable(getattr(agent, "probabilities", None)):
        return "the agent does not say its probabilities"
    if num_seats > MAX_EXACT_SEATS:
        return f"with more than {MAX_EXACT_SEATS} seats there are too many states"
    try:
        check_solvable(rules)
    except GnavError as error:
        return str(error)
    return ""


def exact_gain(
    name: str,
    agent: Any,
    rules: str | Rules,
    num_seats: int,
    *,
    workers: int = 1,
    progress: _Progress | None = None,
) -> ExactGain:
    """What a best response gains over the `agent` called `name`, which sits in all other seats, exactly.

    Args:
        name: what the agent is called in error messages.
        agent: one with `probabilities`, a function of what it is shown.
        rules: the ruleset.
        num_seats: 2 to `MAX_EXACT_SEATS`; all have full lives.
        workers: threads of the sweep; the result is the same for any number.
        progress: is told what is being done, and how much of that, 0 to 1.

    Raises `GnavError`, saying what stands in the way, where `why_not_exact` has a reason, and, naming the agent, if
    it fails or gives what are no probabilities.
    """
    if reason := why_not_exact(agent, rules, num_seats):
        raise GnavError(f"agent {name}: its exploitability cannot be found exactly: {reason}")
    return Exploiter(rules, num_seats, workers=workers, progress=progress).gain(name, agent, progress=progress)


class Exploiter:
    """What `exact_gain` needs of the deal, made once for several agents."""

    def __init__(
        self, rules: str | Rules, num_seats: int, *, workers: int = 1, progress: _Progress | None = None
    ) -> None:
        """The arguments are those of `exact_gain`."""
        if progress is not None:
            progress("building the tree of the deal", 0)
        self._tree = deal_tree(get_rules(rules), num_seats)
        self._sweeper = Sweeper(self._tree, lives_payoffs(self._tree), workers=workers)
        self._states = InformationStates(self._tree)

    def gain(self, name: str, agent: Any, *, progress: _Progress | None = None) -> ExactGain:
        """`exact_gain` of the agent."""
        tell = progress or (lambda _what, _share: None)
        tree, sweeper = self._tree, self._sweeper
        sweeper.stand[:] = policy_of(
            name, agent, tree, self._states, sweeper.legal, progress=lambda share: tell("asking the agent", share)
        )
        tell("sweeping over the deal", 0)
        swept = sweeper.sweep(KEEP)
        stand, worth = sweeper.stand.copy(), sweeper.worth
        mean = stand * worth[:, STAND] + (1 - stand) * worth[:, EXCHANGE]
        loss = np.where(sweeper.legal == _BOTH, np.maximum(worth.max(axis=1) - mean, 0), 0)
        better = worth.argmax(axis=1)
        return ExactGain(
            tree=tree,
            values=tuple(swept.values.tolist()),
            gains=tuple(swept.gains.tolist()),
            worst=_worst(tree, stand, better, loss),
            stand=stand,
            reply=np.where(loss > 0, (better == STAND).astype(np.float64), stand),
        )


def _worst(
    tree: Tree, stand: NDArray[np.float64], better: NDArray[np.int64], loss: NDArray[np.float64]
) -> tuple[LossyState, ...]:
    """The states in which most is lost."""
    nodes = [node for node in tree.nodes if node.actor >= 0]
    first = np.array([node.first_state for node in nodes])
    found: list[LossyState] = []
    for state in np.argsort(-loss, kind="stable")[:NUM_STATES_TOLD].tolist():
        if loss[state] > _NOTHING:
            node = nodes[int(np.searchsorted(first, state, side="right")) - 1]
            found.append(
                LossyState(
                    state=state,
                    seat=node.actor,
                    words=state_in_words(tree, node, state - node.first_state),
                    stand=float(stand[state]),
                    better=int(better[state]),
                    loss=float(loss[state]),
                    reach=reach_of(tree, stand, node, state),
                )
            )
    return tuple(found)


# ------------------------------------------------------------------------------------------------ how often it is


def reach_of(tree: Tree, stand: NDArray[np.float64], node: Node, state: int) -> float:
    """How often the information state comes about in a deal, if all play as `stand` [num_states] says.

    A sweep over a tree that has nothing but the way to its `node`, where one life is paid.
    """
    parents = {edge.child: edge for other in tree.nodes for edge in other.edges if edge.child >= 0}
    way: list[int] = [next(number for number, other in enumerate(tree.nodes) if other is node)]
    while way[0]:
        way.insert(0, parents[way[0]].parent)
    nodes: list[Node] = []
    policies: list[NDArray[np.float64]] = []
    first_state = 0
    for at, number in enumerate(way):
        here = tree.nodes[number]
        edge = (
            replace(parents[way[at + 1]], parent=at, child=at + 1)
            if at + 1 < len(way)
            else Edge(parent=at, action=STAND, scale=1.0, ending=_ending(here))
        )
        nodes.append(replace(here, edges=[edge], first_state=first_state))
        first_state += here.num_states
        if here.actor >= 0:
            policies.append(stand[here.first_state : here.first_state + here.num_states])
    only_way = replace(tree, nodes=nodes)
    sweeper = Sweeper(only_way, np.ones((len(tree.kinds), 1 << tree.num_seats, tree.num_seats)))
    sweeper.stand[:] = np.concatenate(policies)
    sweeper.sweep(KEEP)
    return float(sweeper.worth[nodes[-1].first_state + state - node.first_state, STAND])


def _ending(node: Node) -> Ending:
    return Ending(kind=0, seats=dict.fromkeys(node.settled, 0), public_low=-1, public_mask=0)
