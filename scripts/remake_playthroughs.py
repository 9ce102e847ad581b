"""Remake the golden playthroughs: python scripts/remake_playthroughs.py

A playthrough is a match of each named ruleset with all that can be known of it, in the notation of
gnav_env/notation.py: `gnav replay` shows it. Comments say before each action what the seat to act sees and may
do, and after it how the table stands. Even seats choose at random, the others by how strong their card is.
"""

from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnav_env.chance import random_key, shoe_key
from gnav_env.notation import Recorder
from gnav_env.observation import OBSERVATION_VERSION, PIECES, piece
from gnav_env.state import EXCHANGE, STAND
from gnav_env.table import ACTION_NAMES, Table
from gnav_env.variants import VARIANTS

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "playthroughs"
SEED = 1
SEATS = {
    "pagat": 6,
    "letters": 5,
    "pool": 9,
    "short": 7,
    "forced": 5,
    "silent": 5,
    "double": 8,
    "joker_fool": 5,
    "kille": 9,
    "ranter": 5,
    "le_her": 2,
    "campli": 5,
    "lu_stu": 6,
    "vogelspiel": 5,
}
"""Seats where they are not 4: enough that matches with a fixed number of deals see the last."""


def playthrough(name: str) -> str:
    """The playthrough of the ruleset called `name`."""
    num_seats = SEATS.get(name, 4)
    match = list(VARIANTS).index(name)
    table = Table(name, num_seats, seed=SEED, match=match)
    agents = [("random", "threshold")[seat % 2] for seat in range(num_seats)]
    recorder = Recorder(table, seed=SEED, match=match, agents=agents)
    recorder.comment(f"observation version {OBSERVATION_VERSION}")
    num_actions = 0
    while not table.is_over:
        recorder.deal()
        while table.to_act is not None:
            recorder.comment(_view(table, table.to_act))
            recorder.act(_choice(table, table.to_act, num_actions))
            num_actions += 1
            if table.legal_actions():
                hands = " ".join(hand or "-" for hand in table.hands)
                lives = " ".join(map(str, table.lives))
                recorder.comment(f"hands {hands}, lives {lives}, pool {table.pool}, views {_digest(table)}")
    return recorder.text


def _choice(table: Table, seat: int, number: int) -> int:
    """The action of `seat`, which is to act; `number` counts the actions of the match."""
    legal = table.legal_actions()
    if seat % 2 == 0:
        return legal[int(random_key(np.uint64(shoe_key(SEED, 1)), number)) % len(legal)]
    rank = table.rules.rank_numbers[table.hands[seat] or ""]
    wish = EXCHANGE if rank < len(table.rules.ranks) * 3 // 7 else STAND
    return wish if wish in legal else legal[0]


def _view(table: Table, seat: int) -> str:
    """What `seat` may do and sees: the general pieces, then those for each seat, slot by slot."""
    observation, mask = table.observe(seat)
    legal = " ".join(name for name, is_legal in zip(ACTION_NAMES, mask, strict=True) if is_legal)
    pieces = {item: piece(observation, item.name) for item in PIECES}
    general = [f"{item.name} {_values(seen)}" for item, seen in pieces.items() if not item.per_seat and seen.any()]
    slots = [f"{item.name} {' '.join(map(_values, seen))}" for item, seen in pieces.items() if item.per_seat]
    return f"seat {seat} may {legal}\n  sees {', '.join(general)}\n  of seats {', '.join(slots)}"


def _values(values: NDArray[np.float32]) -> str:
    """A piece, legibly: a number; or which of several are 1; or all of them, with strokes between."""
    if not values.any():
        return "-"
    if len(values) == 1:
        return f"{values[0]:.4g}"
    if set(values.tolist()) <= {0.0, 1.0}:
        return "[" + "+".join(map(str, np.flatnonzero(values))) + "]"
    return "/".join(f"{value:.4g}" for value in values)


def _digest(table: Table) -> str:
    """12 hex digits of the bytes that all seats see."""
    views = np.stack([table.observe(seat)[0] for seat in range(table.num_seats)])
    return sha256(views.tobytes()).hexdigest()[:12]


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in VARIANTS:
        path = FOLDER / f"{name}.txt"
        path.write_text(playthrough(name), encoding="utf-8", newline="\n")
        print(path)
