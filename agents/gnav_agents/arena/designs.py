"""Designs: line-ups in which all pairs of agents meet equally often at every seat distance, as few as will do.

schedule.py makes the schedule of a mixed field of them. A design is a handful of words (line-ups) and a group of
permutations of the agents; its line-ups are all images of all words. A word need be balanced only over the group's
orbitals, its classes of ordered pairs: the group spreads what is in a class evenly over the pairs of the class.

The groups are those of affine maps x -> u x + k: k runs over all elements of a ring with as many elements as there
are agents, a product of finite fields, and u over a group of units. If each word holds all agents equally often, one
agent may also be left in its place while the others are mapped. In a field with all units there is one class, and any
word without repetitions will do. Words for smaller groups, and thus smaller designs, are known for some numbers
(Mendelsohn, Perfect cyclic designs, Discrete Mathematics 20, 1977); others are found by simulated annealing, which
always finds the same ones.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_env._jit import kernel

__all__ = ["Design", "design_size", "find_design"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_SIZE = 5000
"""Larger designs are not searched for."""

MAX_AGENTS = 64
"""For more agents than this words are random."""

MAX_COUNTS = 60
"""More numbers (of pairs of a class at a distance) than this do not all come out right by annealing."""

EFFORT = 90
"""Attempts at a design times its counts: few counts are soon right or never."""

NUM_STEPS = 32
MOVES_PER_STEP = 4096
MOVES_PER_PLACE = 1000
"""Moves that are tried for each place of each word, if that takes fewer steps."""

LONG_SEARCH = 4
"""Times as many steps are taken where words cannot be balanced and had better be nearly so."""

HOT, COLD = 2.0, 0.25
"""The temperatures of the first step and of the last: what a move may cost, on average."""


@dataclass(frozen=True)
class Design:
    """The line-ups `shifts[k][words[w]]` for all words w and all shifts k."""

    words: Ints
    """Line-ups, [W, S]: each holds every agent floor(S / m) or ceil(S / m) times."""
    shifts: Ints
    """Permutations of the m agents, [K, m]. In all images of a word together each agent sits equally often."""
    leanings: Ints
    """How far the images of each word are from balance, in units of 1 / W pairs of a class, [W, D]; the sum is 0."""

    @property
    def size(self) -> int:
        """How many line-ups it has."""
        return len(self.words) * len(self.shifts)


def design_size(num_agents: int, num_seats: int) -> int:
    """Line-ups of the design for so many agents, 1 or more, at so many seats, 2 or more."""
    return find_design(num_agents, num_seats).size


@cache
def find_design(num_agents: int, num_seats: int) -> Design:
    """The smallest balanced design that was found, or if none was, one that is nearly balanced.

    Balanced means that all ordered pairs of different agents meet equally often at all distances. The design is
    always the same for the same numbers.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((num_agents, num_seats))))
    if not 1 < num_agents <= MAX_AGENTS:
        words = _random_words(num_agents, num_seats, max(1, num_agents - 1), rng)
        numbers = np.arange(num_agents)
        shifts = (numbers + numbers[:, np.newaxis]) % num_agents
        return Design(words, shifts, np.zeros((len(words), 0), np.int64))
    groups = _candidates(num_agents, num_seats)
    smallest = min(groups, key=lambda group: group.order)
    if (num_agents - 1) % num_seats == 0 and len(_prime_powers(num_agents)) == 1:
        return _design(_cosets(_ring(num_agents)[1], num_seats), smallest)
    for size, num_words, group in _hopeful(groups, num_seats):
        if size <= MAX_SIZE:
            words, spread = _anneal(group, num_seats, num_words, NUM_STEPS, rng)
            if spread == 0:
                return _design(words, group)
    least = smallest.num_words(num_seats)
    num_words = min(least * max(1, (num_agents - 1) // least), MAX_SIZE // smallest.order)
    words, _ = _anneal(smallest, num_seats, num_words, LONG_SEARCH * NUM_STEPS, rng)
    return _design(words, smallest)


def _design(words: Ints, group: "_Group") -> Design:
    """The design of all images of `words`; its words are their images under the group's multipliers."""
    images = group.multipliers[:, words].reshape(-1, words.shape[1])
    classes = _orbitals(group.shifts, np.arange(len(group.orbital))[np.newaxis])
    counts = np.array([_count(image[np.newaxis], classes).ravel() for image in images]).astype(np.int64)
    return Design(images, group.shifts, len(counts) * counts - counts.sum(axis=0))


# ----------------------------------------------------------------------------------------------------- groups


@dataclass(frozen=True)
class _Group:
    """Permutations of the agents, and their orbitals."""

    multipliers: Ints
    shifts: Ints
    orbital: Ints
    """The class of each ordered pair, [m, m], 0 ... C - 1."""

    @property
    def order(self) -> int:
        return len(self.multipliers) * len(self.shifts)

    def shares(self, num_seats: int) -> tuple[list[int], list[int]]:
        """How often pairs of each class should stand at each distance in one word: numerators, denominators, [C]."""
        num_agents = len(self.orbital)
        sizes = np.bincount(self.orbital.ravel())
        copies, num_more = divmod(num_seats, num_agents)
        own = copies * (num_seats + num_more - num_agents)  # ordered pairs of places with the same agent
        above = sizes * (num_seats * (num_seats - 1) - own)
        below = np.full(len(sizes), (num_seats - 1) * num_agents * (num_agents - 1))
        same = np.unique(self.orbital.diagonal())
        above[same] = sizes[same] * own
        below[same] = (num_seats - 1) * num_agents
        return above.tolist(), below.tolist()

    def num_words(self, num_seats: int) -> int:
        """The fewest words that can be balanced: so that whole numbers of pairs are to stand at each distance."""
        above, below = self.shares(num_seats)
        least = math.lcm(*(b // math.gcd(a, b) for a, b in zip(above, below, strict=True)))
        if num_seats % 2 == 0:  # at half the seats a pair stands both ways
            both_ways = np.unique(self.orbital[self.orbital == self.orbital.T]).tolist()
            if any(least * above[orbital] // below[orbital] % 2 for orbital in both_ways):
                return 2 * least
        return least


def _candidates(num_agents: int, num_seats: int) -> list[_Group]:
    """Groups for which words might make a balanced design."""
    groups = list(_groups(*_ring(num_agents), num_fixed=0))
    if num_seats % num_agents == 0 and len(_prime_powers(num_agents - 1)) == 1:
        groups += _groups(*_ring(num_agents - 1), num_fixed=1)
    return groups


def _hopeful(groups: list[_Group], num_seats: int) -> list[tuple[int, int, _Group]]:
    """Sizes of designs, numbers of words, groups: the smallest first, those that are soon searched several times."""
    tried: list[tuple[int, int, _Group]] = []
    for group in groups:
        num_counts = num_seats // 2 * (1 + int(group.orbital.max()))
        least = group.num_words(num_seats)
        for num_words in (least, 2 * least, 3 * least):
            if num_counts <= MAX_COUNTS:
                tried += [(group.order * num_words, num_words, group)] * (EFFORT // num_counts)
    return sorted(tried, key=lambda one: one[:2])


def _groups(additions: Ints, products: Ints, num_fixed: int) -> Iterator[_Group]:
    """The affine groups of a ring: one for each group of units; the last `num_fixed` agents stay where they are."""
    size = len(additions)
    fixed = np.broadcast_to(np.arange(size, size + num_fixed), (size, num_fixed))
    shifts = np.hstack([additions, fixed])
    for units in _unit_groups(products):
        multipliers = np.hstack([products[units], fixed[: len(units)]])
        yield _Group(multipliers, shifts, _orbitals(shifts, multipliers))


def _orbitals(shifts: Ints, multipliers: Ints) -> Ints:
    """The class of each ordered pair, [m, m], 0 ... C - 1: pairs that the permutations map on one another."""
    num_agents = shifts.shape[1]
    codes = (shifts[:, :, np.newaxis] * num_agents + shifts[:, np.newaxis]).min(axis=0)
    least = np.min([codes[np.ix_(images, images)] for images in multipliers], axis=0)
    return np.unique(least, return_inverse=True)[1].reshape(num_agents, num_agents).astype(np.int64)


def _unit_groups(products: Ints) -> list[list[int]]:
    """Groups of units of a ring: those of the powers of each unit, and all units."""
    numbers = np.arange(len(products))
    units: list[int] = numbers[(np.sort(products, axis=1) == numbers).all(axis=1)].tolist()
    groups = {tuple(units)}
    for unit in units:
        groups.add(tuple(sorted(_powers(products, unit))))
    return [list(group) for group in sorted(groups)]


def _powers(products: Ints, unit: int) -> list[int]:
    """The powers of a unit of a ring, from the first to that which is 1."""
    powers = [unit]
    while (power := int(products[powers[-1], unit])) != unit:
        powers.append(power)
    return powers


def _prime_powers(number: int) -> list[tuple[int, int]]:
    """Prime and exponent of each prime power of which `number` is the product."""
    found: list[tuple[int, int]] = []
    for prime in range(2, number + 1):
        exponent = 0
        while number % prime == 0:
            number //= prime
            exponent += 1
        if exponent:
            found.append((prime, exponent))
    return found


def _ring(size: int) -> tuple[Ints, Ints]:
    """Tables of sums and products, [size, size], of a product of finite fields with `size` elements in all."""
    sums, products = np.zeros((2, 1, 1), np.int64)
    for prime, exponent in _prime_powers(size):
        field_sums, field_products = _field(prime, exponent)
        sums, products = _pair(sums, field_sums), _pair(products, field_products)
    return sums, products


def _field(prime: int, exponent: int) -> tuple[Ints, Ints]:
    """Tables of sums and products of the field with `prime**exponent` elements.

    Elements are polynomials, their coefficients the digits of the number to the base `prime`. They are multiplied
    modulo the first polynomial x**exponent - rest for which the powers of x are all elements but 0.
    """
    size = prime**exponent
    digits = np.arange(prime)
    sums = np.zeros((1, 1), np.int64)
    for _ in range(exponent):
        sums = _pair(sums, (digits + digits[:, np.newaxis]) % prime)
    powers: list[int] = []
    for rest in range(size):
        powers, power = [], 1
        while power not in powers:
            powers.append(power)
            leading, power = divmod(power * prime, size)
            for _ in range(leading):
                power = int(sums[power, rest])
        if len(powers) == size - 1 and 0 not in powers:
            break
    products = np.zeros((size, size), np.int64)
    for i, power in enumerate(powers):
        products[power, powers] = powers[i:] + powers[:i]
    return sums, products


def _pair(first: Ints, second: Ints) -> Ints:
    """The table of an operation on pairs, for which `first` and `second` are the tables of their parts."""
    size = len(first) * len(second)
    table = first[:, np.newaxis, :, np.newaxis] * len(second) + second[np.newaxis, :, np.newaxis]
    return table.reshape(size, size)


# ------------------------------------------------------------------------------------------------------ words


def _cosets(products: Ints, num_seats: int) -> Ints:
    """The words of a perfect cyclic design for a field, if S divides its size less 1: [(m - 1) / S, S].

    Under the shifts alone each pair meets once at each distance (Mendelsohn, see above). With g a generator and
    h = g**((m - 1) / S) the words are g**j (1, h, h**2 ...). Their differences at distance d are g**j h**i (h**d - 1):
    every element but 0 once.
    """
    powers = max((_powers(products, unit) for unit in range(1, len(products))), key=len)
    return np.array(powers).reshape(num_seats, -1).T


def _random_words(num_agents: int, num_seats: int, num_words: int, rng: np.random.Generator) -> Ints:
    """Words in which each agent is floor(S / m) or ceil(S / m) times, [W, S]."""
    copies, num_more = divmod(num_seats, num_agents)
    everyone = np.tile(np.arange(num_agents), (num_words, 1))
    more = rng.permuted(everyone, axis=1)[:, :num_more]
    return rng.permuted(np.hstack([np.tile(everyone, (1, copies)), more]), axis=1)


def _anneal(
    group: _Group, num_seats: int, num_words: int, num_steps: int, rng: np.random.Generator
) -> tuple[Ints, int]:
    """Words that are as balanced as annealing makes them, [W, S], and the spread of the design that they give.

    What is brought down is the sum of squares by which pairs of each class at each distance are too many or too few.
    """
    num_agents = len(group.orbital)
    above, below = group.shares(num_seats)
    wanted = num_words * np.array(above) / np.array(below)
    words = _random_words(num_agents, num_seats, num_words, rng)
    held = np.array([np.bincount(word, minlength=num_agents) for word in words])
    counts = _count(words, group.orbital)
    cost = float(((counts - wanted) ** 2).sum())
    num_choices = num_seats + (num_agents if num_seats % num_agents else 0)
    num_steps = min(num_steps, -(-MOVES_PER_PLACE * words.size // MOVES_PER_STEP))
    for temperature in np.geomspace(HOT, COLD, num_steps):
        if cost == 0:
            break
        moves = rng.integers((num_words, num_seats, num_choices), size=(MOVES_PER_STEP, 3))
        limits = temperature * rng.standard_exponential(MOVES_PER_STEP)
        cost = _improve(words, held, counts, group.orbital, wanted, moves, limits, cost)
    sizes = np.bincount(group.orbital.ravel())
    different = np.setdiff1d(np.arange(len(sizes)), group.orbital.diagonal())
    meetings = counts[:, different] * group.order / sizes[different]
    return words, round(meetings.max() - meetings.min())


def _count(words: Ints, orbital: Ints) -> Floats:
    """Pairs of each class at the distances 1 to S // 2, [S // 2, C]; longer distances are these in reverse."""
    distances = range(1, words.shape[1] // 2 + 1)
    met = [orbital[words, np.roll(words, -distance, axis=1)].ravel() for distance in distances]
    return np.array([np.bincount(classes, minlength=orbital.max() + 1) for classes in met], np.float64)


@kernel
def _improve(
    words: Any, held: Any, counts: Any, orbital: Any, wanted: Any, moves: Any, limits: Any, cost: float
) -> float:
    """Tries moves and keeps those that raise the cost by no more than their limits; ends early at cost 0.

    A move (word, place, choice) swaps two places, or if `choice` is beyond the seats, puts an agent that the word
    holds fewer times than others into the place of one that it holds more times. Returns the cost.
    """
    num_seats = words.shape[1]
    copies = num_seats // len(orbital)
    for i in range(len(moves)):
        word, place, choice = moves[i]
        old = words[word, place]
        if choice < num_seats:
            new = words[word, choice]
            if new == old:
                continue
            change = _put(words[word], place, new, counts, orbital, wanted)
            change += _put(words[word], choice, old, counts, orbital, wanted)
            if change > limits[i]:
                _put(words[word], choice, new, counts, orbital, wanted)
                _put(words[word], place, old, counts, orbital, wanted)
                continue
        else:
            new = choice - num_seats
            if held[word, old] == copies or held[word, new] > copies:
                continue
            change = _put(words[word], place, new, counts, orbital, wanted)
            if change > limits[i]:
                _put(words[word], place, old, counts, orbital, wanted)
                continue
            held[word, old] -= 1
            held[word, new] += 1
        cost += change
        if cost < 0.5:
            return 0.0
    return cost


@kernel
def _put(word: Any, place: int, new: int, counts: Any, orbital: Any, wanted: Any) -> float:
    """Puts agent `new` into a place of a word and counts its pairs anew. Returns by how much the cost rises."""
    num_seats = len(word)
    old = word[place]
    change = 0.0
    for distance in range(1, num_seats // 2 + 1):
        count = counts[distance - 1]
        after = word[place + distance - (num_seats if place + distance >= num_seats else 0)]
        before = word[place - distance + (num_seats if place < distance else 0)]
        for gone, come in ((orbital[old, after], orbital[new, after]), (orbital[before, old], orbital[before, new])):
            change += 1 - 2 * (count[gone] - wanted[gone])
            count[gone] -= 1
            change += 1 + 2 * (count[come] - wanted[come])
            count[come] += 1
    word[place] = new
    return change
