"""B tables at once: `Tables`, the plain numpy API.

    >>> tables = Tables("pagat", num_seats=6, num_tables=4, seed=1)
    >>> tables.observation.shape, tables.action_mask.shape, tables.seat.shape
    ((4, 178), (4, 2), (4,))
    >>> tables.step(np.zeros(4, np.int64))

Tables with one learning seat each stand in learner.py, and above it the environments of Gymnasium (single.py) and SB3
(sb3.py).
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gnav_env.chance import checked_seed
from gnav_env.errors import GnavError, IllegalAction
from gnav_env.observation import num_features
from gnav_env.rules import Rules
from gnav_env.state import NOBODY, TABLE
from gnav_env.stepping import OUTCOME, observe_all, start_all, step_all
from gnav_env.table import Table
from gnav_env.variants import get_rules

__all__ = ["Tables"]


class Tables:
    """B matches side by side. After the constructor, `reset` and `step` each table waits for the seat `seat[b]`.

    Table b plays the matches b, b + B, b + 2B ... of the seed, so that no result depends on B or on the other tables.

    Args:
        rules: name of a ruleset, path of a YAML file, or `Rules`.
        num_seats: seats at each table.
        num_tables: B, 1 or more.
        seed: 0 to 2**63 - 1.
        episode: `match`, or `deal`: each match ends after its first deal.
        restart: a finished table at once starts its next match; otherwise it rests (seat -1, zeros).
        max_deals: deals after which a match is cut off; None: as `Rules.max_deals` says.

    After a step, all arrays fresh:
        observation: float32 [B, F], what the seat to act sees.
        action_mask: int8 [B, 2], what it may choose.
        seat: int8 [B], the seat to act.
        actor: int8 [B], the seat that acted, -1 at the start.
        ended_deal, ended_match, reached_limit: bool [B], what the step ended.
        balance: int16 [B, S], lives received - paid by each seat in the deal of that step, up to now.
        place: int8 [B, S], finishing places so far of the match of that step, 0 while in it.
    """

    def __init__(
        self,
        rules: str | Rules = "pagat",
        num_seats: int = 6,
        num_tables: int = 1,
        *,
        seed: int = 0,
        episode: Literal["match", "deal"] = "match",
        restart: bool = True,
        max_deals: int | None = None,
    ) -> None:
        self.rules = get_rules(rules)
        self.num_seats = self.rules.check_seats(num_seats)
        if num_tables < 1:
            raise GnavError(f"num_tables must be 1 or more, not {num_tables}")
        if episode not in ("match", "deal"):
            raise GnavError(f"episode must be match or deal, not {episode!r}")
        self.num_tables = num_tables
        self.episode = episode
        self.restart = restart
        self.max_deals = 1 if episode == "deal" else max_deals or self.rules.max_deals(self.num_seats)
        self.num_features = num_features(self.num_seats)
        self._dealer = -1 if self.rules.first_dealer == "random" else int(self.rules.first_dealer)
        self._all = np.arange(num_tables)
        self._tables: NDArray[Any] = np.zeros(num_tables, TABLE)
        self.reset(checked_seed(seed))

    def reset(self, seed: int | None = None, matches: Sequence[int] | NDArray[np.int64] | None = None) -> None:
        """New matches at all tables: those numbered 0 ... B - 1, or `matches` [B], under `seed` (None: as before)."""
        if seed is not None:
            self.seed = checked_seed(seed)
        numbers = self._all if matches is None else self._checked("matches", matches, self.num_tables, 2**62)
        self._outcomes: NDArray[Any] = np.zeros(self.num_tables, OUTCOME)
        self.observation = np.empty((self.num_tables, self.num_features), np.float32)
        self._start(self._all, numbers)

    def restart_rows(self, rows: NDArray[np.int64]) -> None:
        """The next match of each table of `rows` [N] has begun, whether or not its last one was finished."""
        rows = self._checked("rows", rows, None, self.num_tables)
        self._outcomes, self.observation = self._outcomes.copy(), self.observation.copy()
        self._start(rows, self._tables["match"] + self.num_tables)

    def _start(self, rows: NDArray[np.int64], matches: NDArray[np.int64]) -> None:
        start_all(
            self._tables,
            self.rules.compiled,
            rows,
            self.num_seats,
            self.seed,
            matches,
            self._dealer,
            self._outcomes,
            self.observation,
        )
        self._read()

    def step(self, actions: NDArray[Any], rows: NDArray[np.int64] | None = None) -> None:
        """The seats to act choose `actions` [B], 0 STAND or 1 EXCHANGE; at resting tables they are ignored.

        With `rows` [N] only those tables go on; the others wait (actor -1) and their actions are ignored.
        Raises `GnavError` for an action outside the mask; then nothing has happened at any table.
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_tables,) or actions.dtype.kind not in "iub":
            raise GnavError(
                f"actions must be {self.num_tables} integers, one a table, not {actions.dtype} {list(actions.shape)}"
            )
        outcomes: NDArray[Any] = np.empty(self.num_tables, OUTCOME)
        observation = np.empty((self.num_tables, self.num_features), np.float32)
        if rows is None:
            rows = self._all
        else:
            rows = self._checked("rows", rows, None, self.num_tables)
            if len(np.unique(rows)) < len(rows):
                raise GnavError("rows must name each table once")
            outcomes[:], observation[:] = self._outcomes, self.observation
            outcomes["actor"] = NOBODY
            for name in ("ended_deal", "ended_match", "reached_limit"):
                outcomes[name] = 0
        actions = actions.astype(np.int64)
        wrong = step_all(
            self._tables,
            self.rules.compiled,
            rows,
            actions,
            self.max_deals,
            self.seed,
            self.num_tables if self.restart else 0,
            self._dealer,
            outcomes,
            observation,
        )
        if wrong >= 0:
            table = Table.from_record(self.rules, self._tables[wrong])
            raise IllegalAction(f"table {wrong}: {table.why_illegal(int(actions[wrong]))}")
        self._outcomes, self.observation = outcomes, observation
        self._read()

    def observe(self, seats: NDArray[Any]) -> NDArray[np.float32]:
        """What seat `seats[b]` sees at table b now, float32 [B, F]."""
        seats = self._checked("seats", seats, self.num_tables, self.num_seats)
        observation = np.empty((self.num_tables, self.num_features), np.float32)
        observe_all(self._tables, self.rules.compiled, seats, observation)
        return observation

    def _checked(self, name: str, values: Any, length: int | None, end: int) -> NDArray[np.int64]:
        """`values` as int64 [`length`], or `GnavError` unless they are whole numbers from 0 to `end` - 1."""
        numbers = np.asarray(values)
        is_row = numbers.ndim == 1 and numbers.dtype.kind in "iu" and length in (None, len(numbers))
        if not is_row or (len(numbers) > 0 and not (numbers.min() >= 0 and numbers.max() < end)):
            how_many = f"{length} " if length is not None else ""
            raise GnavError(f"{name} must be {how_many}whole numbers from 0 to {end - 1}")
        return numbers.astype(np.int64)

    @property
    def records(self) -> NDArray[Any]:
        """The engine's records [B] (dtype `state.TABLE`), alive; not for players' eyes."""
        return self._tables

    def _read(self) -> None:
        outcomes = self._outcomes
        self.actor: NDArray[np.int8] = outcomes["actor"]
        self.seat: NDArray[np.int8] = outcomes["seat"]
        self.action_mask: NDArray[np.int8] = outcomes["action_mask"]
        self.ended_deal: NDArray[np.bool_] = outcomes["ended_deal"] != 0
        self.ended_match: NDArray[np.bool_] = outcomes["ended_match"] != 0
        self.reached_limit: NDArray[np.bool_] = outcomes["reached_limit"] != 0
        self.balance: NDArray[np.int16] = outcomes["balance"][:, : self.num_seats]
        self.place: NDArray[np.int8] = outcomes["place"][:, : self.num_seats]
