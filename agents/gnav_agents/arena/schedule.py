"""Who sits where: line-ups for blocks, rotations within a block, units of work. play.py plays them.

A block is one shoe and its line-ups of S agents, each played once for each rotation over the S seats: every agent of
the line-up meets the cards of every seat (above 8 seats: of 8 seats, equally spaced). Most of what depends on who sat
where and got which cards cancels within the block, and the block is the unit of analysis.

In a mixed field a block has one line-up, and the line-ups of successive blocks are those of designs (designs.py), in
which all pairs meet equally often at every seat distance. In the other fields every block has the same line-ups: each
agent among copies of a reference, or among copies of itself.

All here is a function of the seed and of counts, and a long tournament's first blocks are those of a short one.
"""

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.designs import find_design

__all__ = [
    "LUCK",
    "RESAMPLING",
    "blocks_per_unit",
    "generator",
    "invasion_line_ups",
    "make_line_ups",
    "make_seatings",
    "pair_meetings",
    "pair_spread",
    "reference_line_ups",
    "rotation_shifts",
    "self_line_ups",
]

MAX_ROTATIONS = 8
MATCHES_PER_UNIT = 6144
"""Matches in a unit of work, about: fewer waste time on what a unit costs and on its last matches."""

LONGEST_DRAWN = 4096
"""Line-ups, about, after which a schedule repeats itself: drawing more takes longer than it helps."""

ORDER, TURNS, LUCK, RESAMPLING = range(4)
"""What a generator is for; the first number of its key."""


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator for `key` (purpose, number ...) under `seed`; those of other keys are independent."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))


def rotation_shifts(num_seats: int) -> NDArray[np.int64]:
    """By how many seats each rotation turns the line-up, [R], R = min(S, 8): from 0 on, equally spaced."""
    num_rotations = min(num_seats, MAX_ROTATIONS)
    return np.arange(num_rotations) * num_seats // num_rotations


def make_seatings(line_ups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The agent at each seat of each match, [..., R, S], for line-ups [..., S]: each is turned by all shifts."""
    num_seats = line_ups.shape[-1]
    places = (np.arange(num_seats) + rotation_shifts(num_seats)[:, np.newaxis]) % num_seats
    return line_ups[..., places]


def blocks_per_unit(matches_per_block: int) -> int:
    """Blocks in a unit of work: unit u plays the blocks from u times this on, the last unit what is left."""
    return max(1, MATCHES_PER_UNIT // matches_per_block)


# ------------------------------------------------------------------------------------------------ mixed field


def make_line_ups(num_agents: int, num_seats: int, num_blocks: int, seed: int) -> NDArray[np.int64]:
    """The line-up of each block, [N, S], 0 ... num_agents - 1.

    Each line-up holds every agent floor(S / m) or ceil(S / m) times, in each run of m line-ups every agent sits
    equally often, and in each run of `designs.design_size` line-ups every pair meets (nearly) equally often at every
    distance, and about so in parts of it. Names and order are drawn anew for every such run, of as many as fill
    LONGEST_DRAWN line-ups; longer schedules repeat these with other shoes.

    With more seats than rotations line-ups begin at a seat that is drawn too: in each run of S at each seat once.
    """
    size = find_design(num_agents, num_seats).size
    rng = generator(seed, ORDER)
    num_drawn = min(num_blocks, -(-LONGEST_DRAWN // size) * size)
    firsts = range(0, num_drawn, size)
    runs = [_one_design(num_agents, num_seats, min(size, num_drawn - first), rng) for first in firsts]
    line_ups = np.resize(np.concatenate(runs), (num_blocks, num_seats))
    if num_seats <= MAX_ROTATIONS:
        return line_ups
    turns = np.tile(np.arange(num_seats), (-(-num_blocks // num_seats), 1))
    offsets = generator(seed, TURNS).permuted(turns, axis=1).ravel()[:num_blocks, np.newaxis]
    return np.take_along_axis(line_ups, (np.arange(num_seats) - offsets) % num_seats, axis=1)


def _one_design(num_agents: int, num_seats: int, num_wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The first line-ups of a design, at most all of them, in an order and with names that are drawn, [N, S]."""
    design = find_design(num_agents, num_seats)
    num_shifts = len(design.shifts)
    names = rng.permutation(num_agents)
    words = design.words[_even_order(design.leanings, -(-num_wanted // num_shifts), rng)]
    shifts = rng.permuted(np.tile(np.arange(num_shifts), (len(words), 1)), axis=1)
    line_ups = names[design.shifts[shifts[:, :, np.newaxis], words[:, np.newaxis]]]
    return line_ups.reshape(-1, num_seats)[:num_wanted]


def _even_order(leanings: NDArray[np.int64], num_wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The first words in an order in which they make up for one another's leanings, [num_wanted].

    Next comes the word with which those so far lean least, among equals one that is drawn.
    """
    left = rng.permutation(len(leanings))
    own = (leanings**2).sum(axis=1)
    so_far = np.zeros_like(leanings[0])
    order = np.empty(num_wanted, np.int64)
    for i in range(num_wanted):
        best = int((own[left] + 2 * (leanings[left] @ so_far)).argmin())
        order[i] = left[best]
        so_far += leanings[left[best]]
        left = np.delete(left, best)
    return order


def pair_meetings(line_ups: NDArray[np.int64], num_agents: int) -> NDArray[np.int64]:
    """How often agent b sits d + 1 seats clockwise of agent a in line-ups [..., S]: [d, a, b], [S - 1, m, m].

    All rotations of a line-up have the same meetings, so each line-up is counted once.
    """
    num_seats = line_ups.shape[-1]
    meetings = np.empty((num_seats - 1, num_agents, num_agents), np.int64)
    for distance in range(1, num_seats):
        pairs = line_ups * num_agents + np.roll(line_ups, -distance, axis=-1)
        meetings[distance - 1] = np.bincount(pairs.ravel(), minlength=num_agents**2).reshape(num_agents, num_agents)
    return meetings


def pair_spread(line_ups: NDArray[np.int64], num_agents: int) -> int:
    """Most meetings less fewest, over all pairs of different agents and all distances; 0 is perfectly balanced."""
    if num_agents == 1:
        return 0
    different = pair_meetings(line_ups, num_agents)[:, ~np.eye(num_agents, dtype=bool)]
    return int(different.max() - different.min())


# ---------------------------------------------------------------------------------------------- other fields


def reference_line_ups(num_agents: int, reference: int, num_seats: int) -> NDArray[np.int64]:
    """Each agent at place 0, with copies of agent `reference` at the others, [m, S]; the reference itself too."""
    candidates = np.arange(num_agents)
    return _one_among(candidates, np.full_like(candidates, reference), num_seats)


def invasion_line_ups(num_agents: int, num_seats: int) -> NDArray[np.int64]:
    """Each agent so among copies of each other agent, [m * (m - 1), S], by the agent and then by the other."""
    candidates, references = np.nonzero(~np.eye(num_agents, dtype=bool))
    return _one_among(candidates, references, num_seats)


def self_line_ups(num_agents: int, num_seats: int) -> NDArray[np.int64]:
    """Each agent among copies of itself, [m, S]."""
    candidates = np.arange(num_agents)
    return _one_among(candidates, candidates, num_seats)


def _one_among(candidates: NDArray[np.int64], references: NDArray[np.int64], num_seats: int) -> NDArray[np.int64]:
    line_ups = np.repeat(references[:, np.newaxis], num_seats, axis=1)
    line_ups[:, 0] = candidates
    return line_ups
