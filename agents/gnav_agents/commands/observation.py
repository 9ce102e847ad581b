"""`gnav observation`: the layout of what a seat sees."""

from typing import Annotated

import typer

__all__ = ["observation"]


def observation(
    seats: Annotated[int, typer.Option(help="Seats at the table, 2 to 51.")] = 6,
) -> None:
    """Print the layout of the observation as a Markdown table, made from the code."""
    from gnav_env.observation import layout_table

    print(layout_table(seats))
