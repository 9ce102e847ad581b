"""Play of a unit of work: its matches side by side, one call of each agent a step. It makes entries.

fields.py has said who sits where; asking.py asks the agents; sums.py counts the entries. Some hundred tables are
played at a time, and a table whose match has ended takes the unit's next one.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.arena.asking import Entrant
from gnav_agents.arena.plan import Plan, Unit
from gnav_agents.arena.schedule import LUCK, generator
from gnav_env._jit import kernel
from gnav_env.chance import random_key
from gnav_env.engine import act
from gnav_env.errors import GnavError
from gnav_env.losses import add_losses, cause_numbers, loss_causes
from gnav_env.observation import num_features, observe, write_mask
from gnav_env.rules import Rules
from gnav_env.state import BETWEEN, NUM_ACTIONS, STAND, TABLE, TURNS, net_lives
from gnav_env.stepping import deal, start

__all__ = ["Failure", "PlayedMatch", "PlayedUnit", "entry_dtype", "play_unit"]

NUM_TABLES = 1024
"""Tables side by side: more do not fit the processor's cache, fewer waste time on calls."""

COUNT = np.dtype([(name, np.int32) for name in ("deals", "last_deal", "lives_lost", "decisions", "place", "lives")])
"""What is counted for a seat while its match goes on; `place` and `lives` are those at the end."""
_LUCK = 0x6C75636B
"""The branch of a shoe's key that the luck of its seats comes from."""
_TO_UNIT = 2.0**-53
_SHIFT = np.uint64(11)


def entry_dtype(rules: Rules) -> np.dtype[Any]:
    """One seat of one match, as a structured dtype."""
    return np.dtype(
        [
            ("block", np.int64),  # number of the block, which is the number of the match's shoe under the seed
            ("line_up", np.int32),  # number of the line-up within the block
            ("rotation", np.int16),  # number of the rotation of the line-up
            ("seat", np.int16),
            ("agent", np.int16),  # its number in the plan
            ("place", np.int16),  # 1 the best; seats that fall together share the best of their places
            ("tied", np.int16),  # seats that share the place, this one included
            ("eliminated", np.bool_),  # lost its last life, and others outlived it; or forfeited
            ("forfeited", np.bool_),  # its agent failed
            ("cut", np.bool_),  # the match was cut off at the environment's limit, its survivors placed by lives
            ("deals", np.int32),  # deals in which the seat had a card
            ("last_deal", np.int32),  # the deal, from 1, in which it fell or the match ended
            ("lives_lost", np.int32),  # lives paid, less lives received
            ("decisions", np.int32),  # actions chosen
            ("losses", np.int32, (len(loss_causes(rules)),)),  # lives paid by cause
        ]
    )


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An agent failed at a decision and forfeited its seat in that match."""

    match: int
    """Number of the match in its unit."""
    seat: int
    deal: int
    kind: str
    """raised, illegal, timed out or died."""
    detail: str


@dataclass(frozen=True, kw_only=True)
class PlayedUnit:
    """What came of a unit: entries [M, S] in order of block, line-up and rotation, and failures in order of match."""

    entries: NDArray[Any]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, kw_only=True)
class PlayedMatch:
    """One match as it was played: the shoe of match number `block` under `seed`, and the actions."""

    rules: Rules
    field: str
    num_seats: int
    seed: int
    block: int
    line_up: int
    rotation: int
    agents: tuple[str, ...]
    """Names by seat."""
    actions: tuple[int, ...]
    """In the order in which they were chosen, 0 STAND, 1 EXCHANGE."""


def play_unit(
    plan: Plan,
    unit: Unit,
    entrants: Sequence[Entrant],
    *,
    progress: Callable[[int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> PlayedUnit:
    """What comes of `unit`.

    Args:
        plan: of the tournament.
        unit: one of its units.
        entrants: its agents, made for the unit's number of seats.
        progress: is told after each step how many matches have ended.
        record: is given every match when all have ended.

    Raises `GnavError`, naming the agent, for one that fails, if the plan is strict.
    """
    return _Play(plan, unit, entrants, log=record is not None).run(progress, record)


class _Play:
    """A unit while it is played."""

    def __init__(self, plan: Plan, unit: Unit, entrants: Sequence[Entrant], *, log: bool) -> None:
        self.plan, self.unit, self.entrants = plan, unit, entrants
        self.field = plan.fields[unit.field]
        self.num_seats = self.field.num_seats
        seatings = self.field.seatings(unit.first_block, unit.num_blocks)
        self.shape = seatings.shape[:3]  # blocks, line-ups, rotations
        self.agent_at = np.ascontiguousarray(seatings.reshape(-1, self.num_seats))
        num_matches = len(self.agent_at)
        self.blocks = np.repeat(unit.first_block + np.arange(self.shape[0]), self.shape[1] * self.shape[2])
        self.counts = np.zeros((num_matches, self.num_seats), COUNT)
        self.losses = np.zeros((num_matches, self.num_seats, len(loss_causes(plan.rules))), np.int32)
        self.forfeits = np.zeros((num_matches, self.num_seats), np.int32)  # the deal of the forfeit, 0 if none
        self.failures: list[Failure] = []
        self.log: list[tuple[NDArray[np.int64], NDArray[np.int64]]] | None = [] if log else None
        self.rngs = [generator(plan.seed, LUCK, unit.number, number) for number in range(len(entrants))]
        self.causes = cause_numbers(plan.rules)
        self.max_deals = plan.rules.max_deals(self.num_seats)
        self.tables: NDArray[Any] = np.zeros(min(NUM_TABLES, num_matches), TABLE)
        self.match_at = np.full(len(self.tables), -1)
        for entrant in entrants:
            entrant.new_unit()

    def run(self, progress: Callable[[int], None] | None, record: Callable[[PlayedMatch], None] | None) -> PlayedUnit:
        """All matches have been played."""
        width = len(self.tables)
        order, ends = np.empty(width, np.int64), np.empty(len(self.entrants) + 1, np.int64)
        started = self._fill(0)
        while True:
            num_live = order_all(self.tables, self.match_at, self.agent_at, self.forfeits, order, ends)
            if progress is not None:
                progress(started - num_live)
            if num_live == 0:
                break
            first = 0
            for number, end in enumerate(ends.tolist()):
                if end > first:
                    self._step(number, order[first:end])
                first = end
            started = self._fill(started)
        entries = self._entries()
        if record is not None:
            self._report(entries, record)
        return PlayedUnit(
            entries=entries, failures=tuple(sorted(self.failures, key=lambda one: (one.match, one.deal, one.seat)))
        )

    def _fill(self, started: int) -> int:
        """Free tables have the next matches of the unit; the number of matches started by now."""
        rules = self.plan.rules
        dealer = -1 if rules.first_dealer == "random" else int(rules.first_dealer)
        return fill_all(
            self.tables, rules.compiled, self.match_at, started, self.num_seats, self.plan.seed, self.blocks, dealer
        )

    def _step(self, number: int, rows: NDArray[np.int64]) -> None:
        """At the tables `rows` [n] agent `number` has chosen, and what follows has happened.

        The number behind the last agent's stands for seats that have forfeited: they stand where they may.
        """
        observation = np.empty((len(rows), num_features(self.num_seats)), np.float32)
        mask = np.empty((len(rows), NUM_ACTIONS), np.int8)
        luck = np.empty(len(rows))
        look_all(self.tables, self.plan.rules.compiled, rows, observation, mask, luck)
        if number < len(self.entrants):
            answer = self.entrants[number].choose(observation, mask, luck, self.rngs[number])
            actions = answer.actions
            for row, kind, detail in answer.failures:
                self._forfeit(self.entrants[number].name, rows[row], kind, detail)
        else:
            actions = np.where(mask[:, STAND] != 0, STAND, 1 - STAND)
        if self.log is not None:
            self.log.append((self.match_at[rows], actions))
        advance_all(
            self.tables,
            self.plan.rules.compiled,
            rows,
            actions,
            self.match_at,
            self.max_deals,
            self.causes,
            self.forfeits,
            self.counts,
            self.losses,
        )

    def _forfeit(self, name: str, row: int, kind: str, detail: str) -> None:
        """The seat to act at the table `row` has forfeited."""
        if self.plan.strict:
            raise GnavError(f"agent {name} failed ({kind}): {detail}")
        table, match = self.tables[row], int(self.match_at[row])
        seat, number = int(table["to_act"]), int(table["deals"])
        self.forfeits[match, seat] = number
        self.failures.append(Failure(match=match, seat=seat, deal=number, kind=kind, detail=detail))

    def _entries(self) -> NDArray[Any]:
        entries = np.zeros(self.counts.shape, entry_dtype(self.plan.rules))
        entries["block"] = self.blocks[:, np.newaxis]
        line_ups, rotations = np.divmod(np.arange(len(entries)) % (self.shape[1] * self.shape[2]), self.shape[2])
        entries["line_up"], entries["rotation"] = line_ups[:, np.newaxis], rotations[:, np.newaxis]
        entries["seat"] = np.arange(self.num_seats)
        entries["agent"] = self.agent_at
        for name in ("deals", "last_deal", "lives_lost", "decisions"):
            entries[name] = self.counts[name]
        entries["losses"] = self.losses
        _place(entries, self.counts, self.forfeits)
        return entries

    def _report(self, entries: NDArray[Any], record: Callable[[PlayedMatch], None]) -> None:
        """`record` has been given each match."""
        assert self.log is not None
        matches = np.concatenate([matches for matches, _ in self.log])
        actions = np.concatenate([actions for _, actions in self.log])[np.argsort(matches, kind="stable")]
        ends = np.cumsum(np.bincount(matches, minlength=len(entries)))[:-1]
        for entry, chosen in zip(entries, np.split(actions, ends), strict=True):
            record(
                PlayedMatch(
                    rules=self.plan.rules,
                    field=self.field.kind,
                    num_seats=self.num_seats,
                    seed=self.plan.seed,
                    block=int(entry["block"][0]),
                    line_up=int(entry["line_up"][0]),
                    rotation=int(entry["rotation"][0]),
                    agents=tuple(self.plan.names[number] for number in entry["agent"]),
                    actions=tuple(chosen.tolist()),
                )
            )


def _place(entries: NDArray[Any], counts: NDArray[Any], forfeits: NDArray[np.int32]) -> None:
    """The places of all matches, which are over, stand in `entries`.

    Survivors of a match that was cut off are placed by their lives, and seats that forfeited are behind all others.
    """
    place, lives = counts["place"].astype(np.int64), counts["lives"]
    entries["cut"] = (place == 0).any(axis=1, keepdims=True)
    # the more, the better: lives of those who have no place, then the places, far below them those who forfeited
    standing = np.where(place == 0, lives, -place)
    standing[forfeits > 0] = np.iinfo(np.int64).min
    entries["place"] = 1 + np.count_nonzero(standing[:, np.newaxis, :] > standing[:, :, np.newaxis], axis=2)
    entries["tied"] = np.count_nonzero(standing[:, np.newaxis, :] == standing[:, :, np.newaxis], axis=2)
    entries["forfeited"] = forfeits > 0
    entries["eliminated"] = (forfeits > 0) | ((lives == 0) & (entries["place"] > 1))
    entries["last_deal"] = np.where(forfeits > 0, forfeits, entries["last_deal"])


@kernel
def fill_all(
    tables: Any, rules: Any, match_at: Any, started: int, num_seats: int, seed: int, shoes: Any, dealer: int
) -> int:
    """Tables without a match (`match_at` -1) have the unit's next ones; the number of matches started by now."""
    for b in range(tables.size):
        if match_at[b] < 0 and started < shoes.size:
            start(tables[b], rules[0], num_seats, seed, shoes[started], dealer)
            match_at[b] = started
            started += 1
    return started


@kernel
def order_all(tables: Any, match_at: Any, agent_at: Any, forfeits: Any, order: Any, ends: Any) -> int:
    """`order` begins with the tables that have a match, by the agent to act, `ends` [m + 1] says where each ends.

    Seats that have forfeited count as those of one more agent. The number of tables that have a match.
    """
    for agent in range(ends.size):
        ends[agent] = 0
    num_live = 0
    for b in range(tables.size):
        if match_at[b] >= 0:
            ends[_to_act(tables[b], match_at[b], agent_at, forfeits, ends.size - 1)] += 1
            num_live += 1
    first = 0
    for agent in range(ends.size):
        num = ends[agent]
        ends[agent] = first
        first += num
    for b in range(tables.size):
        if match_at[b] >= 0:
            agent = _to_act(tables[b], match_at[b], agent_at, forfeits, ends.size - 1)
            order[ends[agent]] = b
            ends[agent] += 1
    return num_live


@kernel
def _to_act(t: Any, match: int, agent_at: Any, forfeits: Any, nobody: int) -> int:
    seat = np.int64(t.to_act)
    return nobody if forfeits[match, seat] > 0 else agent_at[match, seat]


@kernel
def look_all(tables: Any, rules: Any, rows: Any, observations: Any, masks: Any, luck: Any) -> None:
    """What the seats to act at the tables `rows` [n] see, [n, F], may do, [n, A], and their luck, [n], 0 to 1.

    The luck is keyed by shoe, deal and seat: whoever sits there has the same.
    """
    for row in range(rows.size):
        t = tables[rows[row]]
        seat = np.int64(t.to_act)
        observe(t, rules[0], seat, observations[row])
        write_mask(t, rules[0], seat, masks[row])
        key = random_key(random_key(random_key(t.shoe, _LUCK), np.int64(t.deals)), seat)
        luck[row] = np.float64(key >> _SHIFT) * _TO_UNIT


@kernel
def advance_all(
    tables: Any,
    rules: Any,
    rows: Any,
    actions: Any,
    match_at: Any,
    max_deals: int,
    causes: Any,
    forfeits: Any,
    counts: Any,
    losses: Any,
) -> None:
    """The seats to act have chosen `actions` [n] at the tables `rows` [n], and the next deal is out if one follows.

    `counts` [M, S] and `losses` [M, S, C] have what there is to count, and tables whose match has ended are free (-1).
    """
    for row in range(rows.size):
        b = rows[row]
        t, r, match = tables[b], rules[0], match_at[b]
        seat = np.int64(t.to_act)
        if forfeits[match, seat] == 0:
            counts[match, seat].decisions += 1
        act(t, r, actions[row])
        if t.phase == TURNS:
            continue
        is_over = t.phase != BETWEEN or t.deals >= max_deals
        for one in range(np.int64(t.num_seats)):
            count = counts[match, one]
            if forfeits[match, one] == 0 or forfeits[match, one] == t.deals:
                count.deals += t.seats[one].hand >= 0
                count.lives_lost -= net_lives(t, one)
                add_losses(t, one, causes, losses[match, one])
            _end_deal(t, one, is_over, count)
        if is_over:
            match_at[b] = -1
        else:
            deal(t, r)


@kernel
def _end_deal(t: Any, seat: int, is_over: bool, count: Any) -> None:
    """`count` has the deal in which `seat` left the match, if it has, and at the end of the match how it stands."""
    if t.seats[seat].place == 0 and not is_over:
        count.last_deal = 0
    elif count.last_deal == 0:
        count.last_deal = t.deals
    if is_over:
        count.place = t.seats[seat].place
        count.lives = t.seats[seat].lives
