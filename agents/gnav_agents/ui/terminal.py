"""A table in the terminal: drawn with rich, told in words, with a prompt for the person who plays.

`Terminal` shows and asks, `play_match` plays a match at it. Input and output are streams handed to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from gnav_agents.agent import Agent, ask
from gnav_agents.human import Human
from gnav_agents.ui.explain import explain_cards, explain_rules
from gnav_env.cards import Language
from gnav_env.notation import Recorder, Step
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND
from gnav_env.table import Table
from gnav_env.views import lives_in_words, num_stock, view_seats
from gnav_env.words import Narrator

__all__ = ["Player", "Quit", "Terminal", "play_match", "show_replay"]

_WORDS = {"s": STAND, "stand": STAND, "x": EXCHANGE, "exchange": EXCHANGE}
_PROMPT = "STAND or EXCHANGE? (s, x; ? explains the cards, q quits) "


class Quit(BaseException):
    """The person has had enough: no error, so that nothing on the way takes it for one (as KeyboardInterrupt)."""


@dataclass(frozen=True, kw_only=True)
class Player:
    """Who sits at a seat; without an agent it is the person at the terminal."""

    name: str
    agent: Agent | None = None


class Terminal:
    """Shows a table and asks a person.

    Args:
        console: where to write.
        keyboard: where lines are read from.
        observer: the seat through whose eyes all is shown, None for all cards face up.
        names: of the agents, by seat.
        language: of the names of the cards.
    """

    def __init__(
        self,
        console: Console,
        keyboard: TextIO,
        *,
        observer: int | None = None,
        names: Sequence[str] = (),
        language: Language = "own",
    ) -> None:
        self._console = console
        self._keyboard = keyboard
        self._observer = observer
        self._names = names
        self._language: Language = language
        self.narrator = Narrator(observer=observer, says_you=True, language=language)
        self.open_narrator = Narrator(observer=None, language=language)

    def say(self, *sentences: str, style: str = "") -> None:
        """Write each sentence on a line of its own; what concerns the person stands out."""
        for sentence in sentences:
            line = Text(sentence, style=style or ("bold" if "you" in sentence.replace("(", " ").split() else ""))
            line.highlight_words([" loses ", " lose ", " out, ", " out "], style="red")
            line.highlight_regex(r"knocks?|refused|trades undone|the deal stops", style="yellow")
            self._console.print(line)

    def head(self, title: str) -> None:
        """Write a line that begins a deal or the end."""
        self._console.print()
        self._console.rule(Text(title, style="bold cyan"), align="left", style="dim")

    def show(self, table: Table, *, open_cards: bool = False) -> None:
        """Draw the table as the observer sees it, or with all cards face up."""
        columns = ("", "seat", "agent", "lives", "card", "")
        stakes = f", stakes {table.stakes}" if table.stakes else ""
        caption = f"deal {table.deals}, pool {table.pool}{stakes}, stock {num_stock(table)}"
        grid = Grid(*columns, caption=caption, caption_justify="left", show_edge=False, pad_edge=False, box=None)
        for view in view_seats(table, None if open_cards else self._observer, self._language):
            is_me = view.seat == self._observer
            is_out = view.lives == 0
            card = Text(table.rules.card_name(view.rank, self._language) if view.rank else "?" if view.has_card else "")
            card.stylize("red" if view.rank in table.rules.matadors else "bold")
            grid.add_row(
                "→" if view.is_to_act else "",
                str(view.seat),
                Text("you" if is_me else self._names[view.seat] if self._names else ""),
                lives_in_words(table, view.seat),
                card,
                ", ".join(filter(None, ["dealer" * view.is_dealer, view.remarks])),
                style="dim" if is_out else "bold green" if is_me else "",
            )
        self._console.print(grid)

    def hands_in_words(self, table: Table) -> str:
        """All cards in hands, face up."""
        hands = enumerate(table.hands)
        return ", ".join(f"seat {seat} {table.rules.card_name(hand, self._language)}" for seat, hand in hands if hand)

    def choose(self, table: Table) -> int:
        """The action that the person chooses for the seat to act: a legal one. Raises `Quit`."""
        self.show(table)
        while True:
            word = self.ask(_PROMPT)
            if word == "?":
                self._console.print(explain_cards(table.rules, self._language))
                self.say(*explain_rules(table.rules, self._language))
            elif word not in _WORDS:
                self.say("Please type s (STAND), x (EXCHANGE), ? or q.")
            elif _WORDS[word] not in table.legal_actions():
                self.say(f"That is not allowed: {table.why_illegal(_WORDS[word])}.")
            else:
                return _WORDS[word]

    def ask(self, prompt: str) -> str:
        """What the person types, in lower case. Raises `Quit` on q and at the end of the input."""
        self._console.print(Text(prompt, style="cyan"), end="")
        line = self._keyboard.readline()
        if not line:
            self._console.print()
            raise Quit
        word = line.strip().lower()
        if word in ("q", "quit"):
            raise Quit
        return word


def play_match(
    terminal: Terminal,
    rules: str | Rules,
    players: Sequence[Player],
    *,
    seed: int,
    match: int = 0,
    reveal: bool = False,
    record: Path | None = None,
) -> Table:
    """The table when the match is over, cut off at `Rules.max_deals`, or left by the person.

    Everything is shown and told at the terminal. With `reveal` each deal is told again with all cards face
    up. The match, as far as it went, is written to `record`. The agents' luck depends on seed, match and seat.
    """
    table = Table(rules, len(players), seed=seed, match=match)
    recorder = Recorder(table, seed=seed, match=match, agents=[player.name for player in players])
    agents = [player.agent or Human(lambda seen, mask: terminal.choose(table)) for player in players]
    luck = [np.random.default_rng([seed, match, seat]) for seat in range(len(players))]
    person = next((seat for seat, player in enumerate(players) if player.agent is None), None)
    try:
        while not table.is_over and table.deals < table.rules.max_deals(table.num_seats):
            was_in = person is not None and table.lives[person] > 0
            _play_deal(terminal, recorder, players, agents, luck, reveal=reveal)
            if was_in and not table.is_over and table.lives[person or 0] == 0:
                returns = ", unless everybody comes back" if table.rules.all_out == "all_reenter" else ""
                terminal.ask(f"You are out{returns}. Enter shows the rest, q leaves. ")
        _tell_end(terminal, table, players, person)
    except (Quit, KeyboardInterrupt) as stop:
        terminal.head(f"you leave in deal {table.deals}")
        terminal.say(_lives(table))
        if isinstance(stop, KeyboardInterrupt):
            raise
    finally:
        if record is not None:
            recorder.save(record)
            terminal.say(f"The match is written down in {record}.")
    return table


def _play_deal(
    terminal: Terminal,
    recorder: Recorder,
    players: Sequence[Player],
    agents: Sequence[Agent],
    luck: Sequence[np.random.Generator],
    *,
    reveal: bool,
) -> None:
    """One deal has been played at the recorder's table, and told."""
    table = recorder.table
    recorder.deal()
    opening, *knocks = terminal.narrator.deal(table)
    terminal.head(opening)
    terminal.say(*knocks)
    dealt = table.copy()
    retold: list[str] = []
    while (seat := table.to_act) is not None:
        before = table.copy()
        observation, action_mask = table.observe(seat)
        answer = ask(players[seat].name, agents[seat], observation[None], action_mask[None], luck[seat])
        recorder.act(int(answer[0]))
        terminal.say(*terminal.narrator.act(before, table))
        retold.append(terminal.open_narrator.action(before, table))
    if reveal:
        terminal.say("With all cards face up:", style="dim")
        terminal.say("dealt: " + terminal.hands_in_words(dealt), style="dim")
        terminal.say(*retold, style="dim")
    terminal.show(table, open_cards=reveal)


def _lives(table: Table) -> str:
    """How an unfinished match stands."""
    standing = [f"seat {seat} {lives}" for seat, lives in enumerate(table.lives)]
    return f"lives: {', '.join(standing)}; pool: {table.pool}"


def _tell_end(terminal: Terminal, table: Table, players: Sequence[Player], person: int | None) -> None:
    """How the match has ended has been told: places, names, results."""
    if not table.is_over:
        terminal.head(f"cut off after {table.deals} deals")
        terminal.say(_lives(table))
        return
    terminal.head(f"the match is over after {table.deals} deal{'s' * (table.deals > 1)}")
    order = sorted(range(table.num_seats), key=lambda seat: table.places[seat])
    for seat in order:
        who = "you" if seat == person else players[seat].name
        terminal.say(f"{table.places[seat]}. seat {seat} ({who}), result {table.results[seat]:+g}")
    if person is not None:
        place, num_tied = table.places[person], table.places.count(table.places[person])
        shared = f", shared by {num_tied}" if num_tied > 1 else ""
        terminal.say(f"you come in at place {place} of {table.num_seats}{shared}")


def show_replay(
    terminal: Terminal, steps: Iterable[Step], *, only_deal: int | None = None, pauses: bool = False
) -> None:
    """A replay has been shown, the deal numbered `only_deal` or all; `pauses`: Enter after each step."""
    try:
        for step in steps:
            if only_deal not in (None, step.after.deals):
                continue
            if step.before is None:
                opening, *knocks = terminal.narrator.deal(step.after)
                terminal.head(opening)
                terminal.show(step.after)
                terminal.say(*knocks)
            else:
                terminal.say(*terminal.narrator.act(step.before, step.after))
                if step.after.to_act is None:
                    terminal.show(step.after)
            if pauses:
                terminal.ask("Enter goes on, q ends. ")
    except Quit:
        return
