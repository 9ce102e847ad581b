"""Options that several commands take."""

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["CardNames", "CardNamesOption"]


class CardNames(StrEnum):
    """Languages of the names of the cards."""

    OWN = "own"
    ENGLISH = "english"
    NORWEGIAN = "norwegian"


CardNamesOption = Annotated[CardNames, typer.Option(help="Names of the cards; own: those of the game's tradition.")]
