"""`gnav play`: a person at the terminal against agents, or agents among themselves to watch."""

from pathlib import Path
from typing import Annotated

import typer

from gnav_agents.commands.options import CardNames, CardNamesOption

__all__ = ["play"]


def play(
    opponents: Annotated[
        str,
        typer.Option(
            help="Agents in the other seats, with commas between; they are repeated to fill the table. "
            "See `gnav agents`.",
            show_default="a mix",
        ),
    ] = "",
    seats: Annotated[
        int | None,
        typer.Option(help="Seats at the table, yours included.", show_default="6, or the nearest that can be"),
    ] = None,
    rules: Annotated[str, typer.Option(help="Name of a ruleset, or path of a YAML file.")] = "pagat",
    seat: Annotated[int, typer.Option(help="Your seat, 0 to seats - 1.")] = 0,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Names the cards and the luck of the agents.", show_default="a new one"),
    ] = None,
    match: Annotated[int, typer.Option(min=0, help="Number of the match under the seed.")] = 0,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="After each deal tell it again with all cards face up.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Nobody plays: agents in all seats, cards face up.")] = False,
    record: Annotated[Path | None, typer.Option(help="File for the match as text, for `gnav replay`.")] = None,
    language: CardNamesOption = CardNames.OWN,
) -> None:
    """Play a match in the terminal.

    You are asked to STAND (`s`) or to EXCHANGE (`x`); `?` explains the cards, `q` leaves.
    """
    import sys

    import numpy as np
    from rich.console import Console

    from gnav_agents.registry import make_agent
    from gnav_agents.ui.terminal import Player, Terminal, play_match
    from gnav_env._jit import cache_is_cold
    from gnav_env.errors import GnavError
    from gnav_env.variants import get_rules

    ruleset = get_rules(rules)
    if seats is None:
        seats = ruleset.nearest_seats(6)
    ruleset.check_seats(seats)
    if not watch and not 0 <= seat < seats:
        raise GnavError(f"--seat must be 0 to {seats - 1}, not {seat}")
    if record is not None and not record.parent.is_dir():
        raise GnavError(f"--record: there is no folder {record.parent}")
    if record is not None and record.exists():
        raise GnavError(f"--record: {record} is there already, name a file that is not")
    middling = ruleset.card_name(ruleset.ranks[len(ruleset.ranks) * 3 // 7])  # VI in Gnav
    mix = ["tips", "counting", f"threshold:{middling}"]
    names = [name.strip() for name in opponents.split(",") if name.strip()] or mix
    num_others = seats if watch else seats - 1
    if len(names) > num_others and opponents:
        raise GnavError(f"--opponents must be at most {num_others} for this table, not {len(names)}")
    others = [names[number % len(names)] for number in range(num_others)]
    players = [Player(name=name, agent=make_agent(name, ruleset, seats)) for name in others]
    if not watch:
        players.insert(seat, Player(name="human"))
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    terminal = Terminal(
        Console(),
        sys.stdin,
        observer=None if watch else seat,
        names=[player.name for player in players],
        language=language.value,
    )
    terminal.say(f"{ruleset.title or ruleset.name}, seed {seed}, match {match}.")
    if cache_is_cold():
        terminal.say("The game is compiled, once; that takes a while.", style="dim")
    play_match(terminal, ruleset, players, seed=seed, match=match, reveal=reveal, record=record)
