"""What a seat that misses some information cannot tell apart: information states in groups, and what that costs.

Within a group the seat has to do the same. What its choices are worth (`Sweeper.worth`) is counterfactual, so what a
choice is worth in a group is the sum over its states, and the best response of a seat that misses the information is
the better sum of each group: one look at each state, as exact as the best response itself.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.solve.sweep import Sweeper
from gnav_agents.solve.tree import Node, Tree
from gnav_env.engine import begin_deal, begin_match, take_turn
from gnav_env.state import EXCHANGE, STAND, TABLE, holds

__all__ = ["MISSED", "actors", "groups_of", "losses_from"]

MISSED = {
    "knocks": "which seats have knocked; what it has seen and all else that was said and done it knows",
    "cards seen": "ranks of cards other than its own that it has given away or seen, wherever they are now; faces that "
    "all know, those of who knocked among them, it knows",
    "history": "all but its own card and its position",
}
"""What a seat may miss, by its short name."""


def actors(tree: Tree) -> NDArray[np.int64]:
    """The seat whose each information state is, [num_states], in the order of action."""
    deciding = [node for node in tree.nodes if node.actor >= 0]
    return np.repeat([node.actor for node in deciding], [node.num_states for node in deciding]).astype(np.int64)


def groups_of(tree: Tree, missed: str, legal: NDArray[np.int8]) -> NDArray[np.int64]:
    """A number for each state, [num_states]: the same for states that a seat cannot tell apart without `missed`.

    `missed` is a key of `MISSED`, `legal` [num_states] what may be done in each state; that stays apart always.
    """
    numbers: dict[Hashable, int] = {}
    parts: list[NDArray[np.int64]] = []
    size = len(tree.rules.ranks)
    for number, node in enumerate(tree.nodes):
        if node.actor < 0:
            continue
        key: Hashable
        if missed == "knocks":
            key, positions = _without_knocks(tree, node)
        else:
            key, positions = (number if missed == "cards seen" else -1), [node.hand]
        code = np.zeros(node.num_states, np.int64)
        for position in positions:
            code = code * size + _ranks(node, position)
        code += numbers.setdefault((node.actor, key), len(numbers)) * size ** (tree.num_seats + 1)
        parts.append(code * 4 + legal[node.first_state : node.first_state + node.num_states])
    return np.unique(np.concatenate(parts), return_inverse=True)[1].astype(np.int64)


def losses_from(sweeper: Sweeper, group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Lives a deal, [S], that each seat's best response loses if it must do the same in all states of a `group`.

    The others play the sweeper's policy; `sweeper.worth` has to be that of a sweep of it.
    """
    worth = np.where((sweeper.legal[:, np.newaxis] & [1, 2]) != 0, sweeper.worth, -np.inf)
    seat = actors(sweeper.tree)
    num_seats, num_groups = sweeper.tree.num_seats, int(group.max()) + 1
    merged = np.stack([np.bincount(group, worth[:, action], num_groups) for action in (STAND, EXCHANGE)]).max(axis=0)
    seat_of = np.zeros(num_groups, np.int64)
    seat_of[group] = seat
    apart = np.bincount(seat, worth.max(axis=1), num_seats)
    return (apart - np.bincount(seat_of, merged, num_seats)).astype(np.float64)


def _ranks(node: Node, position: int) -> NDArray[np.int64]:
    """The rank of the card at `position`, which the actor has seen, in each state of the node."""
    if position in node.public:
        return np.full(node.num_states, node.public[position], np.int64)
    shape = [len(node.domains[place]) for place in node.seen]
    at = [node.open[place] for place in node.seen].index(position)
    column = np.array(node.domains[node.seen[at]], np.int64)
    return np.broadcast_to(column.reshape([-1 if i == at else 1 for i in range(len(shape))]), shape).ravel()


def _without_knocks(tree: Tree, node: Node) -> tuple[Hashable, list[int]]:
    """What was said and done before the node but for knocks, and the positions that the actor has seen itself."""
    t = _table(tree, node)
    seats = t["seats"][: tree.num_seats]
    said = tuple(tuple(seats[name].tolist()) for name in ("hand", "turn", "asked", "answers", "revealed"))
    knocked = np.flatnonzero(seats["knocked"])
    num_cards = tree.num_seats + int(t["drawn"])
    faces = tuple(
        (position, int(t["deck"][position]))
        for position in range(num_cards)
        if holds(t["face_up"], position) and position not in knocked
    )
    seen = [position for position in range(num_cards) if holds(seats["seen"][node.actor], position)]
    return (said, int(t["undone"]), int(t["drawn"]), faces, len(seen)), seen


def _table(tree: Tree, node: Node) -> Any:
    """A table in the node's public state."""
    t: Any = np.zeros(1, TABLE)[0]
    rules: Any = tree.compiled[0]
    begin_match(t, rules, tree.num_seats, tree.num_seats - 1)
    t["seats"]["lives"][: tree.num_seats] = tree.lives
    t["seats"]["sits_out"][: tree.num_seats] = tree.sits_out
    t["deck"][:] = np.frombuffer(node.deck, np.int8)
    begin_deal(t, rules)
    for action in node.actions:
        take_turn(t, rules, action)
    return t
