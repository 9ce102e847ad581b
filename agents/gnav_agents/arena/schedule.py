"""Who sits where: line-ups for blocks, rotations within a block, units of work. play.py plays them.

A block is one shoe and one line-up of S agents, played once for each rotation of the line-up over the S
seats: every agent of the line-up meets the cards of every seat (above 8 seats: of 8 seats, equally spaced).
Most of what depends on who sat where and got which cards cancels within the block, and the block is the unit
of analysis.

All here is a function of the seed and of counts, and a long tournament's first blocks are those of a short
one.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocks_per_unit", "generator", "make_line_ups", "make_seatings", "rotation_shifts"]

MAX_ROTATIONS = 8
TABLES_PER_UNIT = 768
"""Tables played side by side, about: fewer waste time on calls, more do not fit the processor's cache.

The agents' luck is keyed by unit, so another number gives other results.
"""

ORDER, TURNS, LUCK, RESAMPLING = range(4)
"""What a generator is for; the first number of its key."""


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator for `key` (purpose, number ...) under `seed`; those of other keys are independent."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))


def rotation_shifts(num_seats: int) -> NDArray[np.int64]:
    """By how many seats each rotation turns the line-up, [R], R = min(S, 8): from 0 on, equally spaced."""
    num_rotations = min(num_seats, MAX_ROTATIONS)
    return np.arange(num_rotations) * num_seats // num_rotations


def blocks_per_unit(num_seats: int) -> int:
    """Blocks in a unit of work: unit u plays the blocks from u times this on, the last unit what is left."""
    return TABLES_PER_UNIT // len(rotation_shifts(num_seats))


def make_line_ups(num_agents: int, num_seats: int, num_blocks: int, seed: int) -> NDArray[np.int64]:
    """The agents of each block's line-up in random order, [N, S], 0 ... num_agents - 1.

    Each line-up holds every agent S // num_agents times. The seats left over go to agents in turn, as random
    permutations of all agents follow one another: to none twice in a block, to none again before all have had
    one.
    """
    copies, num_left_over = divmod(num_seats, num_agents)
    always = np.tile(np.arange(num_agents), (num_blocks, copies))
    in_turn = _in_turn(num_agents, num_left_over, num_blocks, generator(seed, TURNS))
    return generator(seed, ORDER).permuted(np.hstack([always, in_turn]), axis=1)


def _in_turn(num_agents: int, num_wanted: int, num_blocks: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The next agents in turn for each block, [N, num_wanted], less than num_agents, none twice in a row."""
    rows = np.empty((num_blocks, num_wanted), np.int64)
    waiting: list[int] = []
    for row in rows:
        if len(waiting) < num_wanted:
            # those that open a new permutation must not be in this row already
            new = rng.permutation(num_agents).tolist()
            waiting += sorted(new, key=waiting.__contains__)
        row[:] = waiting[:num_wanted]
        del waiting[:num_wanted]
    return rows


def make_seatings(line_ups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The agent at each seat of each match, [N, R, S]: in rotation r the line-up is turned by its shift."""
    num_seats = line_ups.shape[1]
    slots = (np.arange(num_seats) + rotation_shifts(num_seats)[:, np.newaxis]) % num_seats
    return line_ups[:, slots]
