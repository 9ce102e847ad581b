"""Options that several commands take."""

from enum import StrEnum
from typing import Annotated

import typer

__all__ = [
    "AddressOption",
    "CardNames",
    "CardNamesOption",
    "Executor",
    "ExecutorOption",
    "Gains",
    "GainsOption",
    "OverwriteOption",
    "StrictOption",
    "ThreadsOption",
    "TimeLimitOption",
    "TrustOption",
    "WorkersOption",
]


class CardNames(StrEnum):
    """Languages of the names of the cards."""

    OWN = "own"
    ENGLISH = "english"
    NORWEGIAN = "norwegian"


class Executor(StrEnum):
    """Where units of work are played."""

    SERIAL = "serial"
    PROCESS = "process"
    RAY = "ray"


class Gains(StrEnum):
    """How best-response gains are measured."""

    BOUND = "bound"
    EXACT = "exact"
    NONE = "none"


CardNamesOption = Annotated[CardNames, typer.Option(help="Names of the cards; own: those of the game's tradition.")]

ExecutorOption = Annotated[
    Executor,
    typer.Option(help="Where units of work are played: here, in processes of this machine, or on Ray (extra `ray`)."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Units played at the same time with process or ray.", show_default="one for each core"),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Threads.", show_default="one for each core")
]
AddressOption = Annotated[
    str | None, typer.Option(help="Of a Ray cluster: `auto` or HOST:PORT. Without it a local Ray is started.")
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(help="Seconds that an agent of somebody else's has for a decision.", show_default="10"),
]
GainsOption = Annotated[
    Gains | None,
    typer.Option(
        help="How the best-response gain of each agent is measured: a lower bound from sampled deals; exactly where "
        "that can be (up to 6 seats: minutes), otherwise the bound; not at all.",
        show_default="bound",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="An agent that fails ends the run, instead of forfeiting its seat.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Read agents from files that can run code: .zip (Stable-Baselines3), .pt, .ts.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what another run has left in the folder.")]
