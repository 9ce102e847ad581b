"""How much better than an agent one can do among seats that all play as it does, bounded from below by samples.

A deal is played by the agent in all seats. Wherever a seat has a choice, the deal is played on from there with the
other action too, on the same cards, the others answering as the agent does. From training deals a reply is learned: it
sees its fine situation (situations.py) and what the agent would choose, and departs from that where departing has
paid. Fresh, held-out deals then say how many lives a deal the reply saves. It knows less than the seat does and has
learned from samples, so a best response gains at least as much: the gain is a lower bound, and its interval is one for
the bound. The files on exact play beside this one know the best response itself, where the table is small.
"""

# pyright: reportArgumentType=false
# (numba wants np.int64 where a reader and pyright see an int)

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Actions, Agent, Masks, Observations, Policy, ask
from gnav_agents.solve.sampled import luck_of, start_deal
from gnav_agents.solve.situations import FINE, check_deal_seats, fine_situations, in_words, num_fine_situations, shrunk
from gnav_env._jit import kernel
from gnav_env.chance import checked_seed, random_key, shoe_key
from gnav_env.engine import act
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, observe, write_mask
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, NUM_ACTIONS, STAND, TABLE, TURNS, net_lives
from gnav_env.variants import get_rules

__all__ = ["Departure", "GainBound", "PositionBound", "SampledReply", "gain_bound", "learn_reply"]

NUM_TRAINING_DEALS = 60_000
NUM_DEALS = 60_000
NUM_DEPARTURES = 10

_BATCH = 1024
"""Deals side by side."""
_PRIOR = 20.0
"""So many samples of a situation count as much as the mean of the coarser one."""
_TRAINING, _HELD_OUT = 0, 1
"""Branches of the seed's key, and of its generators."""
_TOLERANCE = 1e-6
_95 = 1.96


@dataclass(frozen=True, kw_only=True)
class PositionBound:
    """Lives a deal that the reply gains in one position, with a 95 % interval."""

    position: int
    """0 for the eldest, num_seats - 1 for the dealer."""
    gain: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Departure:
    """A situation in which the reply does otherwise than the agent."""

    situation: int
    """Its fine number."""
    action: int
    """What the agent chooses there, 0 STAND, 1 EXCHANGE."""
    words: str
    """The situation as a player would say it."""
    share: float
    """How often it comes about, of all seats of all held-out deals, 0 to 1."""
    gain: float
    """Lives a deal, of all seats, that are gained there; the sum over all departures is the bound."""


@dataclass(frozen=True, kw_only=True)
class GainBound:
    """A lower bound of what a best response gains over an agent among its like, in lives a deal."""

    rules: Rules
    num_seats: int
    gain: float
    """Mean over the positions. A best response need not depart at all, so it gains 0 or more, even if this is less."""
    low: float
    """The 95 % interval of `gain`, from low to high; `high` bounds nothing but that."""
    high: float
    by_position: tuple[PositionBound, ...]
    """In the order of action."""
    departures: tuple[Departure, ...]
    """Those that were worth most in training, the first the most, with their gain in held-out deals."""
    num_training_deals: int
    num_deals: int
    """Held-out deals, in each of which every seat is measured."""
    seed: int


def gain_bound(
    name: str,
    agent: Agent,
    rules: str | Rules,
    num_seats: int,
    *,
    num_training_deals: int = NUM_TRAINING_DEALS,
    num_deals: int = NUM_DEALS,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> GainBound:
    """A lower bound of what a best response gains over the `agent` called `name`, which sits in all other seats.

    Args:
        name: what the agent is called in error messages.
        agent: the agent. One that has `probabilities` has the same luck on the same cards.
        rules: the ruleset.
        num_seats: 2 to the ruleset's limit.
        num_training_deals: deals from which the reply is learned.
        num_deals: held-out deals, 2 or more.
        seed: the same seed, the same result, if the agent is one function of its observations.
        progress: is told after each batch how many deals have been played, of num_training_deals + num_deals.

    Raises `GnavError` for a number out of its range, and, naming the agent, if it fails or chooses what is illegal.
    """
    rules = get_rules(rules)
    check_deal_seats(rules, num_seats)
    seed = checked_seed(seed)
    if num_training_deals < 1 or num_deals < 2:
        raise GnavError("num_training_deals must be 1 or more and num_deals 2 or more")
    asked = _Asked(name, agent, rules, num_seats)
    learned = _learn(asked, seed, num_training_deals, progress)
    measured = _Measured(num_seats, num_deals)
    departs = learned.departs()
    done = num_training_deals
    for samples in _sampled(asked, seed, _HELD_OUT, num_deals):
        measured.add(samples, departs)
        done += samples.num_deals
        if progress is not None:
            progress(done)
    gain, low, high = _interval(measured.gains.mean(axis=1))
    return GainBound(
        rules=rules,
        num_seats=num_seats,
        gain=gain,
        low=low,
        high=high,
        by_position=tuple(
            PositionBound(position=position, gain=gain, low=low, high=high)
            for position, (gain, low, high) in enumerate(map(_interval, measured.gains.T))
        ),
        departures=_departures(learned, measured, departs, rules),
        num_training_deals=num_training_deals,
        num_deals=num_deals,
        seed=seed,
    )


class SampledReply(Policy):
    """Plays as an agent does, but departs from it where that paid in sampled deals."""

    def __init__(self, agent: Policy, rules: Rules, departs: NDArray[np.bool_]) -> None:
        """`departs` [A * situations] says where, by the agent's action and the fine situation."""
        self._agent, self._rules = agent, rules
        self._departs = departs.reshape(NUM_ACTIONS, -1)

    def probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[np.float64]:
        """float64 [B, A]."""
        chances = np.asarray(self._agent.probabilities(observation, action_mask), np.float64)
        departs = self._departs[:, fine_situations(observation, self._rules)]
        departs &= action_mask.all(axis=1)
        stays = np.where(departs.T, 0, chances)
        return stays + np.where(departs.T, chances, 0)[:, [EXCHANGE, STAND]]


def learn_reply(
    name: str,
    agent: Policy,
    rules: str | Rules,
    num_seats: int,
    *,
    num_training_deals: int = NUM_TRAINING_DEALS,
    seed: int = 0,
) -> SampledReply:
    """The reply of which `gain_bound` measures the gain; the arguments are the same.

    It plays at tables of any size at which `num_seats` seats are in the deal.
    """
    rules = get_rules(rules)
    check_deal_seats(rules, num_seats)
    asked = _Asked(name, agent, rules, num_seats)
    return SampledReply(agent, rules, _learn(asked, checked_seed(seed), num_training_deals, None).departs())


def _learn(asked: "_Asked", seed: int, num_deals: int, progress: Callable[[int], None] | None) -> "_Learned":
    """What the training deals teach."""
    learned = _Learned(asked.num_seats)
    done = 0
    for samples in _sampled(asked, seed, _TRAINING, num_deals):
        learned.add(samples)
        done += samples.num_deals
        if progress is not None:
            progress(done)
    return learned


def _interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """The mean of independent `values` and its 95 % interval."""
    mean = float(values.mean())
    margin = float(_95 * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - margin, mean + margin


@dataclass(frozen=True, kw_only=True)
class _Samples:
    """The N choices that came about in a batch of deals."""

    num_deals: int
    deal: NDArray[np.int64]
    """Number in the batch, [N], as those that follow."""
    position: NDArray[np.int64]
    situation: NDArray[np.int64]
    action: Actions
    """What the agent chose."""
    gain: NDArray[np.float64]
    """Lives that the other action gained."""


class _Learned:
    """What departing from the agent has gained, by the agent's action and the situation."""

    def __init__(self, num_seats: int) -> None:
        self._shape = (NUM_ACTIONS, num_seats, *FINE[1:])
        size = NUM_ACTIONS * num_fine_situations(num_seats)
        self._count, self.total, self._squares = np.zeros(size), np.zeros(size), np.zeros(size)

    def add(self, samples: _Samples) -> None:
        """The samples have been learned from."""
        numbers = _numbers(samples, self.total.size)
        self._count += np.bincount(numbers, minlength=self._count.size)
        self.total += np.bincount(numbers, samples.gain, self.total.size)
        self._squares += np.bincount(numbers, samples.gain**2, self.total.size)

    def departs(self) -> NDArray[np.bool_]:
        """Where the reply departs from the agent, [A * situations]: where that gained more than its standard error."""
        mean = shrunk(self._count.reshape(self._shape), self.total.reshape(self._shape), _PRIOR).ravel()
        return (mean > 0) & (mean * (self._count + _PRIOR) >= np.sqrt(self._squares))


class _Measured:
    """What the reply gains in held-out deals."""

    def __init__(self, num_seats: int, num_deals: int) -> None:
        self.gains = np.zeros((num_deals, num_seats))
        """By deal and position."""
        size = NUM_ACTIONS * num_fine_situations(num_seats)
        self.count, self.total = np.zeros(size), np.zeros(size)
        self._num_done = 0

    def add(self, samples: _Samples, departs: NDArray[np.bool_]) -> None:
        """The samples have been counted."""
        numbers = _numbers(samples, departs.size)
        gain = np.where(departs[numbers], samples.gain, 0)
        self.gains[self._num_done + samples.deal, samples.position] = gain
        self.count += np.bincount(numbers, minlength=departs.size)
        self.total += np.bincount(numbers, gain, departs.size)
        self._num_done += samples.num_deals


def _numbers(samples: _Samples, size: int) -> NDArray[np.int64]:
    """Action and situation as one number, [N]."""
    return samples.action * (size // NUM_ACTIONS) + samples.situation


def _departures(
    learned: _Learned, measured: _Measured, departs: NDArray[np.bool_], rules: Rules
) -> tuple[Departure, ...]:
    """The departures that were worth most in training."""
    worth = np.where(departs, learned.total, 0)
    num_choices = measured.gains.size
    found = []
    for number in np.argsort(-worth, kind="stable")[:NUM_DEPARTURES].tolist():
        if worth[number] > 0:
            action, situation = divmod(number, departs.size // NUM_ACTIONS)
            found.append(
                Departure(
                    situation=situation,
                    action=action,
                    words=in_words(situation, rules, measured.gains.shape[1]),
                    share=float(measured.count[number] / num_choices),
                    gain=float(measured.total[number] / num_choices),
                )
            )
    return tuple(found)


def _sampled(asked: "_Asked", seed: int, branch: int, num_deals: int) -> Iterator[_Samples]:
    """The choices of `num_deals` deals, batch by batch."""
    key = np.uint64(random_key(np.uint64(shoe_key(seed, asked.num_seats)), branch))
    asked.rng = np.random.default_rng([seed, branch])
    for first in range(0, num_deals, _BATCH):
        yield _play(asked, key, first, min(_BATCH, num_deals - first))


class _Asked:
    """The agent, asked at many tables at once."""

    def __init__(self, name: str, agent: Agent, rules: Rules, num_seats: int) -> None:
        self.name, self.rules, self.num_seats = name, rules, num_seats
        self._probabilities: Any = getattr(agent, "probabilities", None)
        self._agent = agent if self._probabilities is None else self
        self._luck = np.empty(0)
        self.rng = np.random.default_rng(0)

    def look(self, tables: NDArray[Any], rows: NDArray[np.int64]) -> tuple[Observations, Masks]:
        """What the seats to act at the tables `rows` [n] see, [n, F], and may do, [n, A]."""
        observation = np.empty((len(rows), num_features(self.num_seats)), np.float32)
        mask = np.empty((len(rows), NUM_ACTIONS), np.int8)
        self._luck = np.empty(len(rows))
        look_all(tables, self.rules.compiled, rows, observation, mask, self._luck)
        return observation, mask

    def choose(self, observation: Observations, mask: Masks) -> Actions:
        """The actions [n] for what was seen in the last look."""
        return ask(self.name, self._agent, observation, mask, self.rng)

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> Actions:
        """An action for each row from the agent's probabilities and the seats' luck."""
        chances = np.asarray(self._probabilities(observation, action_mask))
        if chances.shape != action_mask.shape or not (np.abs(chances.sum(axis=1) - 1) <= _TOLERANCE).all():
            raise ValueError(f"probabilities should be {list(action_mask.shape)} numbers, a row summing to 1")
        return (self._luck >= chances[:, STAND]).astype(np.int64)

    def finish(self, tables: NDArray[Any]) -> None:
        """The deals at all `tables` are over."""
        for _ in range(self.num_seats):
            rows = np.flatnonzero(tables["phase"] == TURNS)
            if not rows.size:
                break
            act_all(tables, self.rules.compiled, rows, self.choose(*self.look(tables, rows)))


def _play(asked: _Asked, key: np.uint64, first: int, num_deals: int) -> _Samples:
    """The choices of the deals numbered from `first` under `key`."""
    rules, num_seats = asked.rules.compiled, asked.num_seats
    tables: NDArray[Any] = np.zeros(num_deals, TABLE)
    start_deals_all(tables, rules, num_seats, key, first)
    deals, seats, situations, chosen, balances = [], [], [], [], []
    for _ in range(num_seats):
        rows = np.flatnonzero(tables["phase"] == TURNS)
        if not rows.size:
            break
        observation, mask = asked.look(tables, rows)
        is_free = mask.all(axis=1)
        situation = fine_situations(observation, asked.rules)
        actions = asked.choose(observation, mask)
        free = rows[is_free]
        seat = tables["to_act"][free].astype(np.int64)
        others = tables[free]
        act_all(others, rules, np.arange(len(free)), 1 - actions[is_free])
        asked.finish(others)
        deals.append(free)
        seats.append(seat)
        situations.append(situation[is_free])
        chosen.append(actions[is_free])
        balances.append(_balances(others, np.arange(len(free)), seat))
        act_all(tables, rules, rows, actions)
    deal, seat = np.concatenate(deals), np.concatenate(seats)
    direction, dealer = int(rules["direction"][0]), num_seats - 1
    return _Samples(
        num_deals=num_deals,
        deal=deal,
        position=((seat - dealer) * direction - 1) % num_seats,
        situation=np.concatenate(situations),
        action=np.concatenate(chosen),
        gain=(np.concatenate(balances) - _balances(tables, deal, seat)).astype(np.float64),
    )


def _balances(tables: NDArray[Any], rows: NDArray[np.int64], seats: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lives that seat `seats[i]` of table `rows[i]` has won and lost in the deal, [n]."""
    balances = np.empty(len(rows), np.int64)
    balance_all(tables, rows, seats, balances)
    return balances


@kernel
def start_deals_all(tables: Any, rules: Any, num_seats: int, key: Any, first: int) -> None:
    """The deals numbered from `first` under `key` are out."""
    for b in range(tables.size):
        start_deal(tables[b], rules[0], num_seats, random_key(key, first + b))


@kernel
def look_all(tables: Any, rules: Any, rows: Any, observations: Any, masks: Any, luck: Any) -> None:
    """What the seats to act at the tables `rows` [n] see, [n, F], may do, [n, A], and their luck in the deal, [n]."""
    for row in range(rows.size):
        t = tables[rows[row]]
        seat = np.int64(t.to_act)
        observe(t, rules[0], seat, observations[row])
        write_mask(t, rules[0], seat, masks[row])
        luck[row] = luck_of(t.shoe, seat)


@kernel
def act_all(tables: Any, rules: Any, rows: Any, actions: Any) -> None:
    """The seats to act at the tables `rows` [n] have chosen `actions` [n]."""
    for row in range(rows.size):
        act(tables[rows[row]], rules[0], actions[row])


@kernel
def balance_all(tables: Any, rows: Any, seats: Any, balances: Any) -> None:
    """Write the lives won and lost by seat `seats[i]` of table `rows[i]` into `balances` [n]."""
    for i in range(rows.size):
        balances[i] = net_lives(tables[rows[i]], seats[i])
