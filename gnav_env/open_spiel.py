"""One deal of Gnav as a game of OpenSpiel: importing this file registers `python_gnav_deal` with pyspiel.

    >>> import gnav_env.open_spiel, pyspiel
    >>> game = pyspiel.load_game("python_gnav_deal(rules=le_her,players=2)")
    >>> state = game.new_initial_state()
    >>> for action in (3, 8, 1):  # a 4 for player 0, a 9 for player 1; EXCHANGE
    ...     state.apply_action(action)
    >>> state.information_state_string(1)
    'p1; p0 trades with p1; 4 p0>p1; 9 p1>p0'

Parameters: `rules`, the name of a ruleset or the path of a YAML file (in a game's string without commas and brackets),
default pagat; `players`, 2 to the ruleset's limit, default 3. Players are numbered in the order in which they act:
player 0 is the eldest, the last player deals. Everybody has the lives of a match's start, and a player's return is
the lives that it wins and loses in the deal. Antes are no lives and do not count.

Chance gives a card, which is the number of its rank, to each player in turn; later it turns a card of the stock when
a challenge wants one. All that cards do is engine.py's: the state holds its record of a table.

This file imports pyspiel (extra `openspiel`); nothing else in gnav_env does.
"""

# pyright: reportUntypedBaseClass=false
# (pyspiel is compiled and has no types)

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_env.compiled import MAX_SEATS
from gnav_env.effects import REDIRECTS, REFUSES
from gnav_env.engine import act, begin_deal, begin_match, can_exchange, can_stand, cards_needed
from gnav_env.errors import GnavError
from gnav_env.observation import num_features, observe
from gnav_env.state import (
    DREW,
    EXCHANGE,
    FAILED,
    NOBODY,
    NOT_ACTED,
    REFUSED,
    STAND,
    STOCK,
    STOOD,
    TABLE,
    TRADED,
    holds,
    net_lives,
)
from gnav_env.table import ACTION_NAMES, Table
from gnav_env.variants import get_rules

try:
    import pyspiel
except ImportError:
    raise GnavError("gnav_env.open_spiel needs OpenSpiel: install it with `pip install 'gnav[openspiel]'`") from None

__all__ = ["GnavDealGame", "GnavDealObserver", "GnavDealState"]

_PARAMETERS: dict[str, Any] = {"rules": "pagat", "players": 3}

_GAME_TYPE = pyspiel.GameType(
    short_name="python_gnav_deal",
    long_name="Gnav, one deal",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_SEATS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=_PARAMETERS,
)

_TURNS = {
    STOOD: "stands",
    TRADED: "trades with",
    DREW: "draws from",
    REFUSED: "is refused by",
    FAILED: "finds no card in",
}
_ENDS = {NOT_ACTED: "", STOOD: "stood", TRADED: "traded", DREW: "drew", REFUSED: "was refused", FAILED: "found no card"}


def _turn_dtype(num_players: int) -> Any:
    """What everybody has learned by a player's turn, in numbers of players.

    The position of a card dealt to a player has the player's number, those of the stock follow.
    """
    return np.dtype(
        [
            ("turn", np.int8),  # NOT_ACTED ... FAILED
            ("asked", np.int8),  # the player whose card ended the challenge; STOCK, NOBODY
            ("undone", np.int8),  # 1: trades were undone
            ("swept", np.int8, (num_players,)),  # who has sent on (REDIRECTS), refused (REFUSES) a card pushed back
            ("lives", np.int16, (num_players,)),
            ("hands", np.int8, (num_players,)),  # position that each player holds
        ]
    )


class GnavDealGame(pyspiel.Game):
    """The game. `GnavError` if the ruleset is not known or not made for so many players."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        chosen = {**_PARAMETERS, **(params or {})}
        self.rules = get_rules(chosen["rules"])
        num_players = self.rules.check_seats(chosen["players"])
        self.rules_record: Any = self.rules.compiled[0]
        self.step = int(self.rules_record.direction)
        """1 if seats and players are numbered alike, -1 if the other way round."""
        names = [self.rules.card_name(rank) for rank in self.rules.ranks]
        self.card_names = names if len(set(names)) == len(names) else list(self.rules.ranks)
        """What cards are called, by number of the rank, 0 the lowest."""
        self.copies = [self.rules.deck[rank] for rank in self.rules.ranks]
        """Of each rank, by number."""
        self.no_turns: NDArray[Any] = np.zeros(num_players, _turn_dtype(num_players))
        self.tables: NDArray[Any] = np.zeros(1, TABLE)
        """The table before the deal, [1]."""
        begin_match(self.tables[0], self.rules_record, num_players, num_players - 1 if self.step > 0 else 0)
        self.num_positions = int(cards_needed(self.tables[0], self.rules_record))
        """Cards that a deal can look at."""
        super().__init__(_GAME_TYPE, self._info(num_players), params or {})

    def _info(self, num_players: int) -> Any:
        rules = self.rules
        bonus = max((special.bonus for special in rules.specials), default=0)
        fines = rules.lives * (num_players - 1) if rules.fine_to == "holder" else 0
        return pyspiel.GameInfo(
            num_distinct_actions=len(ACTION_NAMES),
            max_chance_outcomes=len(rules.ranks),
            num_players=num_players,
            min_utility=-rules.lives,  # nobody loses more than he has
            max_utility=fines + bonus,  # nor wins more than all others have
            max_game_length=num_players,
        )

    def mirrored(self, number: int) -> int:
        """The player at that seat, and as well the seat of the player so numbered."""
        return number if self.step > 0 else self.num_players() - 1 - number

    def new_initial_state(self) -> "GnavDealState":
        """No card is out."""
        return GnavDealState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "GnavDealObserver":
        """What OpenSpiel asks for observations: `GnavDealObserver`."""
        return GnavDealObserver(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class GnavDealState(pyspiel.State):
    """A deal, from the first card out to the showdown."""

    # OpenSpiel copies a state by a deep copy of each attribute: they are few and flat.

    def __init__(self, game: GnavDealGame) -> None:
        super().__init__(game)
        self._memory: NDArray[np.uint8] = game.tables.view(np.uint8).copy()  # of the table; quicker copied than records
        self._cards = b""  # the ranks that chance has given, in order
        self._is_asking = False  # a challenge waits for a card of the stock
        self.turns: NDArray[Any] = game.no_turns.copy()
        """What everybody has learned by each player's turn, [players]."""

    @property
    def _tables(self) -> NDArray[Any]:
        return np.frombuffer(self._memory, TABLE)

    @property
    def record(self) -> Any:
        """The engine's record of the table (dtype `TABLE`); until all cards are out, of one between deals."""
        return self._tables[0]

    @property
    def table(self) -> Table:
        """The deal as a `Table` of its own; the cards that chance has not given yet lie in its stock in any order.

        `GnavError` before all cards are out. Its seats are numbered clockwise: for rules that are played anticlockwise
        player p sits at seat players - 1 - p.
        """
        if not self.is_dealt:
            raise GnavError("the cards are not out: apply chance's actions first")
        game = self.get_game()
        table = Table.from_record(game.rules, self.record)
        left = [copies - self._cards.count(rank) for rank, copies in enumerate(game.copies)]
        table.record.deck[len(self._cards) : game.rules.num_cards] = np.repeat(np.arange(len(left)), left)
        return table

    @property
    def is_dealt(self) -> bool:
        """True once every player has a card."""
        return len(self._cards) >= len(self.turns)

    @property
    def asking(self) -> int | None:
        """The player whose challenge waits for a card of the stock."""
        return self._to_act() if self._is_asking else None

    def _to_act(self) -> int:
        return self.get_game().mirrored(int(self._tables["to_act"][0]))

    def current_player(self) -> int:
        """The player to act, or `pyspiel.PlayerId.CHANCE`, `TERMINAL`."""
        if self._is_asking or not self.is_dealt:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else self._to_act()

    def is_terminal(self) -> bool:
        """True after the showdown."""
        return self.is_dealt and int(self._tables["to_act"][0]) == NOBODY

    def returns(self) -> list[float]:
        """Lives that each player has won and lost, zeros before the end."""
        if not self.is_terminal():
            return [0.0] * len(self.turns)
        record, seat_of = self.record, self.get_game().mirrored
        return [float(net_lives(record, seat_of(player))) for player in range(len(self.turns))]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The ranks that the next card may have, each with its share of the cards that are left."""
        left = [copies - self._cards.count(rank) for rank, copies in enumerate(self.get_game().copies)]
        return [(rank, num / sum(left)) for rank, num in enumerate(left) if num > 0]

    def _legal_actions(self, player: int) -> list[int]:
        record, rules_record = self.record, self.get_game().rules_record
        if player != self._to_act():
            return []
        stand, exchange = can_stand(record, rules_record), can_exchange(record, rules_record)
        return [STAND] * bool(stand) + [EXCHANGE] * bool(exchange)

    def _apply_action(self, action: int) -> None:
        if self.is_chance_node():
            self._take_card(action)
        else:
            self._act(action)

    def _take_card(self, rank: int) -> None:
        """Chance has given the next card."""
        game, position = self.get_game(), len(self._cards)
        self._tables["deck"][0, position if self.is_dealt else game.mirrored(position)] = rank
        self._cards += bytes([rank])
        if self._is_asking:
            self._act(EXCHANGE)
        elif self.is_dealt:
            begin_deal(self.record, game.rules_record)

    def _act(self, action: int) -> None:
        """The player to act has chosen `action`; or it is asking, if that takes a card of the stock from chance.

        Tried on a copy whose stock ends with the cards that chance has given.
        """
        game, player, num_cards = self.get_game(), self._to_act(), int(self._tables["stock_end"][0])
        memory = self._memory.copy()
        tables = np.frombuffer(memory, TABLE)
        tables["stock_end"] = len(self._cards)
        act(tables[0], game.rules_record, action)
        self._is_asking = bool(self._seats(tables)["turn"][player] == FAILED) and len(self._cards) < num_cards
        if self._is_asking:
            return
        tables["stock_end"] = num_cards
        self._note(player, tables)
        self._memory = memory

    def _note(self, player: int, tables: NDArray[Any]) -> None:
        """`turns` tells the turn of `player`, from `tables` before and after it."""
        turn, seats_before, seats = self.turns[player], self._seats(self._tables), self._seats(tables)
        turn["turn"] = seats["turn"][player]
        asked = int(seats["asked"][player])
        turn["asked"] = asked if asked < 0 else self.get_game().mirrored(asked)
        turn["undone"] = tables["undone"][0] - self._tables["undone"][0]
        turn["swept"][:player] = (seats["answers"] & ~seats_before["answers"])[:player]
        turn["lives"] = seats["lives"]
        turn["hands"] = self._positions(seats)

    def _seats(self, tables: NDArray[Any]) -> NDArray[Any]:
        """The seats in the order of players."""
        return tables["seats"][0, : len(self.turns)][:: self.get_game().step]

    def _positions(self, seats: NDArray[Any]) -> list[int]:
        return [self._dealt_to(position) for position in seats["hand"].tolist()]

    def _dealt_to(self, position: int) -> int:
        """The number of a position of the engine's, in numbers of players; the other way round it is the same."""
        return self.get_game().mirrored(position) if position < len(self.turns) else position

    @property
    def hands(self) -> list[int]:
        """The position that each player holds, once all cards are out."""
        return self._positions(self._seats(self._tables))

    @property
    def knocks(self) -> list[int]:
        """The players who have knocked."""
        return np.flatnonzero(self._seats(self._tables)["knocked"]).tolist()

    def faces(self, observer: int | None = NOBODY) -> dict[int, int]:
        """The cards whose faces `observer` has seen, position -> rank. NOBODY: those face up; None: all given."""
        if not self.is_dealt:
            return {}
        game, record = self.get_game(), self.record
        seen = record.face_up.copy()
        if observer is not None and observer != NOBODY:
            seen |= record.seats[game.mirrored(observer)].seen
        faces = {
            self._dealt_to(position): int(record.deck[position])
            for position in range(len(self._cards))
            if observer is None or holds(seen, position)
        }
        return dict(sorted(faces.items()))

    def _action_to_string(self, player: int, action: int) -> str:
        return self.get_game().card_names[action] if player == pyspiel.PlayerId.CHANCE else ACTION_NAMES[action]

    def __str__(self) -> str:
        if self.is_dealt:
            return "; ".join([*_told(self), *_shown(self, self.faces(None))])
        names = self.get_game().card_names
        return "; ".join(f"{names[rank]} p{player}" for player, rank in enumerate(self._cards))


class GnavDealObserver:
    """What a player sees, as `tensor` (float32), the same in pieces as `dict`, and as a string.

    With `perfect_recall` it is all that a player has learned in this deal, the information state; the string can be
    made from the tensor:

    - `player` [N]: one-hot, whose view it is;
    - `knocks` [N]: who has knocked;
    - `turn` [N, 6]: of each player that has had a turn, one-hot: is asking now (a card of the stock is still to come),
      stood, traded, drew, was refused, found no card;
    - `asked` [N, N + 1]: one-hot, the player or (last) the stock whose card ended the challenge; those between have
      sent it on;
    - `undone` [N]: 1 if trades were undone;
    - `swept` [N, N, 2]: players whose cards sent on, refused a card that was pushed back seat by seat;
    - `lives` [N, N]: everybody's after the turn / those at the start;
    - `hands` [N, N]: (1 + the position that everybody holds after the turn) / positions P. A player is dealt the
      position of his number, the stock begins at N;
    - `faces` [P, R]: one-hot rank, as it is now, of the positions whose faces the player has seen, lowest rank first.

    `private_info` tells whose faces: the player's, nobody's (only what is face up) or everybody's. Without
    `public_info` only `player` and `faces` are there. Without `perfect_recall` it is the project's own observation
    (observation.py), of which there is one kind: the player's own view.
    """

    def __init__(self, game: GnavDealGame, iig_obs_type: Any, params: Any = None) -> None:
        if params:
            raise GnavError(f"observers of python_gnav_deal take no parameters, not {params}")
        self._private_info = iig_obs_type.private_info
        self._recalls = bool(iig_obs_type.perfect_recall)
        own = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not self._recalls and not (iig_obs_type.public_info and self._private_info == own):
            raise GnavError(
                "an observation without perfect_recall has public_info and the private_info of a SINGLE_PLAYER"
            )
        num = game.num_players()
        shapes: dict[str, tuple[int, ...]] = {"player": (num,)}
        if not self._recalls:
            shapes = {"observation": (num_features(num),)}
        elif iig_obs_type.public_info:
            shapes |= {"knocks": (num,), "turn": (num, FAILED + 1), "asked": (num, num + 1)}
            shapes |= {"undone": (num,), "swept": (num, num, 2), "lives": (num, num), "hands": (num, num)}
        if self._recalls:
            shapes["faces"] = (game.num_positions, len(game.rules.ranks))
        self.tensor: NDArray[np.float32] = np.zeros(sum(map(math.prod, shapes.values())), np.float32)
        self.dict: dict[str, NDArray[np.float32]] = {}
        at = 0
        for name, shape in shapes.items():
            self.dict[name] = self.tensor[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)

    def set_from(self, state: GnavDealState, player: int) -> None:
        """`tensor` and `dict` show `state` as `player` sees it."""
        if not self._recalls:
            game = state.get_game()
            observe(state.record, game.rules_record, game.mirrored(player), self.tensor)
            return
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        for position, rank in self._faces(state, player).items():
            self.dict["faces"][position, rank] = 1
        if "turn" in self.dict:
            self._write_turns(state)

    def _write_turns(self, state: GnavDealState) -> None:
        pieces, turns = self.dict, state.turns
        num, num_positions = len(turns), len(pieces["faces"])
        pieces["knocks"][state.knocks] = 1
        if state.asking is not None:
            pieces["turn"][state.asking, NOT_ACTED] = 1
        acted = np.flatnonzero(turns["turn"])
        turns = turns[acted]
        pieces["turn"][acted, turns["turn"]] = 1
        asked = np.where(turns["asked"] == STOCK, num, turns["asked"])
        pieces["asked"][acted[asked >= 0], asked[asked >= 0]] = 1
        pieces["undone"][acted] = turns["undone"]
        pieces["swept"][acted, :, 0] = turns["swept"] & REDIRECTS != 0
        pieces["swept"][acted, :, 1] = turns["swept"] & REFUSES != 0
        pieces["lives"][acted] = turns["lives"] / state.get_game().rules.lives
        pieces["hands"][acted] = (turns["hands"] + 1) / num_positions

    def string_from(self, state: GnavDealState, player: int) -> str:
        """`state` as `player` sees it: turns, then each card that he has seen, to whom it was dealt > who has it."""
        if not self._recalls:
            return "; ".join([f"p{player}", *_seen_now(state, player)])
        told = _told(state) if "turn" in self.dict else []
        return "; ".join([f"p{player}", *told, *_shown(state, self._faces(state, player))])

    def _faces(self, state: GnavDealState, player: int) -> dict[int, int]:
        if self._private_info == pyspiel.PrivateInfoType.NONE:
            return state.faces(NOBODY)
        return state.faces(None if self._private_info == pyspiel.PrivateInfoType.ALL_PLAYERS else player)


def _told(state: GnavDealState) -> list[str]:
    """What everybody has learned of knocks and turns."""
    said = [f"p{player} knocks" for player in state.knocks]
    rules = state.get_game().rules
    lives = [rules.lives] * len(state.turns)
    for player, turn in enumerate(state.turns):
        if turn["turn"] == NOT_ACTED:
            continue
        words = [f"p{player}", _TURNS[int(turn["turn"])]]
        if turn["asked"] != NOBODY:
            words.append("the stock" if turn["asked"] == STOCK else f"p{turn['asked']}")
        said.append(" ".join(words))
        said += [
            f"p{met} {'sends on' * bool(bits & REDIRECTS)}{'refuses' * bool(bits & REFUSES)}"
            for met, bits in enumerate(turn["swept"].tolist())
            if bits
        ]
        if turn["undone"]:
            said.append("undone: " + " ".join(_place(position, len(lives)) for position in turn["hands"].tolist()))
        left = turn["lives"].tolist()
        if left != lives:
            said.append(f"lives {' '.join(map(str, left))}")
            lives = left
    if state.asking is not None:
        said.append(f"p{state.asking} asks the stock")
    return said


def _shown(state: GnavDealState, faces: dict[int, int]) -> list[str]:
    """The cards `faces`, each with the player to whom it was dealt (or its place in the stock) and who has it now."""
    if not state.is_dealt:
        return []
    names, hands = state.get_game().card_names, state.hands
    holders = {position: f"p{player}" for player, position in enumerate(hands)}
    return [
        f"{names[rank]} {_place(position, len(hands))}>{holders.get(position, 'aside')}"
        for position, rank in faces.items()
    ]


def _place(position: int, num_players: int) -> str:
    return f"p{position}" if position < num_players else f"s{position - num_players}"


def _seen_now(state: GnavDealState, player: int) -> list[str]:
    """Of each player the card if `player` knows it, and how the turn went."""
    if not state.is_dealt:
        return []
    game, faces, hands = state.get_game(), state.faces(player), state.hands
    said: list[str] = []
    for other, position in enumerate(hands):
        seat = state.record.seats[game.mirrored(other)]
        words = [f"p{other}", game.card_names[faces[position]] if position in faces else "?"]
        words += ["knocked"] if seat.knocked else []
        words += ["sent on"] if seat.answers & REDIRECTS else []
        words += ["refused"] if seat.answers & REFUSES else []
        words += [f"with {game.card_names[seat.revealed - 1]}"] if seat.revealed else []
        words += [_ENDS[int(seat.turn)]] if seat.turn else []
        said.append(" ".join([*words, f"lives {seat.lives}"]))
    said += ["undone"] if state.record.undone else []
    return said


pyspiel.register_game(_GAME_TYPE, GnavDealGame)
