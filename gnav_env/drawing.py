"""The picture of a table, drawn on any `Canvas`: seats round an oval, stock and pool in the middle.

render.py has the canvases. Text is measured with Pillow's own font, so that a picture is the same everywhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gnav_env.state import TURNS
from gnav_env.table import Table
from gnav_env.views import SeatView, lives_in_words, num_stock, view_seats

__all__ = ["Canvas", "Point", "draw", "font", "picture_size"]

Point = tuple[float, float]
Font = Any

_SIZE, _LARGE_SIZE, _SEATS_IN_SMALL = (1200, 800), (1600, 1000), 20
"""Width and height of a picture in pixels, with up to so many seats and with more."""
_BLOCK = (112.0, 164.0)
_CARD = (78.0, 94.0)
_LARGEST, _GAP = 1.25, 1.04
"""Largest scale of a seat's block; distance of neighbours in blocks."""

_ROOM, _RAIL, _FELT, _FELT_LINE = "#20262b", "#6b4429", "#1f5d4c", "#2c7461"
_PAPER, _PAPER_DIM, _INK, _RED, _PLUM, _BACK, _BACK_LINE = (
    "#fbf6e9", "#c9c8bb", "#23303a", "#a3261f", "#6d2a7c", "#34557f", "#8fb0d6",
)  # fmt: skip
_GOLD, _PALE, _FAINT, _ALARM, _DIM = "#f2c14e", "#eef3ea", "#9dbfb2", "#ff7a66", "#4d8a78"


class Canvas(Protocol):
    """What `draw` draws on. Lengths are in pixels of the picture, colours ``#rrggbb``, empty: none."""

    def polygon(self, points: Sequence[Point], fill: str) -> None:
        """A filled shape."""
        ...

    def box(self, at: Point, size: Point, fill: str, line: str = "", width: float = 0, radius: float = 0) -> None:
        """A rectangle round the point `at`, with round corners."""
        ...

    def disc(self, at: Point, radius: float, fill: str, line: str = "", width: float = 0) -> None:
        """A filled circle round `at`."""
        ...

    def text(self, at: Point, text: str, size: float, fill: str) -> None:
        """One line of text round `at`."""
        ...


def draw(canvas: Canvas, table: Table, observer: int | None = None, events: Sequence[str] = ()) -> None:
    """Draw the table: the observer's seat (else seat 0) at the bottom, the others clockwise from there."""
    layout = _layout(table.num_seats)
    canvas.box(layout.middle, layout.size, _ROOM)
    width, height = layout.scale * _BLOCK[0] / 2, layout.scale * _BLOCK[1] / 2
    for beyond, colour in ((14.0, _RAIL), (2.0, _FELT)):
        canvas.polygon(layout.oval(width + beyond, height + beyond), colour)
    for inside, colour in ((0.0, _FELT_LINE), (3.0, _FELT)):
        canvas.polygon(layout.oval(-width - inside, -height - inside), colour)
    first = observer if observer is not None and observer >= 0 else 0
    for view in view_seats(table, observer):
        at = layout.places[(view.seat - first) % table.num_seats]
        _draw_seat(canvas, table, view, at, layout.scale)
    room = (layout.half[0] - width) * 1.4
    _draw_middle(canvas, table, events, layout.middle, room)


def picture_size(num_seats: int) -> tuple[int, int]:
    """Width and height of the picture of a table with so many seats, in pixels."""
    return _SIZE if num_seats <= _SEATS_IN_SMALL else _LARGE_SIZE


def _draw_seat(canvas: Canvas, table: Table, view: SeatView, at: Point, scale: float) -> None:
    """A seat's block: name, card, lives, and what it did."""
    x, y = at
    width = _BLOCK[0] * scale
    top, bottom = y - _BLOCK[1] * scale / 2, y + _BLOCK[1] * scale / 2
    is_out = view.lives == 0
    colour = _GOLD if view.is_to_act else _FAINT if is_out else _PALE
    name = f"seat {view.seat}"
    size = _fit(name, 17 * scale, width * 0.62)
    canvas.text((x, top + 13 * scale), name, size, colour)
    if view.is_dealer:
        disc = (x + width / 2 - 12 * scale, top + 13 * scale)
        canvas.disc(disc, 9.5 * scale, _GOLD)
        canvas.text(disc, "D", 13 * scale, _INK)
    card = (x, top + 26 * scale + _CARD[1] * scale / 2)
    if view.has_card:
        _draw_card(canvas, table, view, card, scale)
    else:
        canvas.box(card, (_CARD[0] * scale, _CARD[1] * scale), "", _FELT_LINE, 1.5 * scale, 8 * scale)
        if is_out or view.sits_out:
            canvas.text(card, "out" if is_out else "sits out", 15 * scale, _FAINT)
    _draw_lives(canvas, table, view, (x, bottom - 31 * scale), scale)
    remark = "loses" if view.is_loser else _brief(view)
    if remark:
        size = _fit(remark, 14 * scale, width * 0.96)
        canvas.text((x, bottom - 10 * scale), remark, size, _ALARM if view.is_loser else _PALE)


def _draw_card(canvas: Canvas, table: Table, view: SeatView, at: Point, scale: float) -> None:
    width, height = _CARD[0] * scale, _CARD[1] * scale
    if view.is_loser or view.is_to_act:
        frame = (width + 8 * scale, height + 8 * scale)
        canvas.box(at, frame, _ALARM if view.is_loser else _GOLD, radius=11 * scale)
    if view.rank is None:
        canvas.box(at, (width, height), _BACK, _PALE, 1.5 * scale, 8 * scale)
        canvas.box(at, (width - 14 * scale, height - 14 * scale), "", _BACK_LINE, 1.5 * scale, 5 * scale)
        x, y = at
        for radius in (15, 10, 5):
            points = [
                (x, y - radius * scale),
                (x + radius * scale, y),
                (x, y + radius * scale),
                (x - radius * scale, y),
            ]
            canvas.polygon(points, _BACK if radius == 10 else _BACK_LINE)
        return
    is_matador = view.rank in table.rules.matadors
    is_special = any(special.rank == view.rank for special in table.rules.specials)
    colour = _RED if is_matador else _PLUM if is_special else _INK
    is_dead = view.lives == 0 and table.record.phase == TURNS
    canvas.box(at, (width, height), _PAPER_DIM if is_dead else _PAPER, colour, 1.5 * scale, 8 * scale)
    inner = (width - 10 * scale, height - 10 * scale)
    canvas.box(at, inner, "", colour if is_matador or is_special else "#d8d0bb", 1.0 * scale, 5 * scale)
    name = table.rules.card_name(view.rank)
    canvas.text(at, name, _fit(name, 26 * scale, width - 14 * scale), colour)


def _draw_lives(canvas: Canvas, table: Table, view: SeatView, at: Point, scale: float) -> None:
    """Lives as the rules show them: tokens held, letters or strokes got; a number if they are many."""
    x, y = at
    words = lives_in_words(table, view.seat)
    if words.isdigit():
        canvas.text(at, words, 17 * scale, _GOLD if view.lives else _FAINT)
        return
    for number, sign in enumerate(words):
        place = (x + (number - (len(words) - 1) / 2) * 15 * scale, y)
        if sign in "●○":
            is_held = sign == "●"
            canvas.disc(place, 5.5 * scale, _GOLD if is_held else "", _GOLD if is_held else _FAINT, 1.2 * scale)
        elif sign == "|":
            canvas.box(place, (3 * scale, 15 * scale), _ALARM)
        elif table.rules.display == "letters":
            canvas.text(place, "GNAV"[number], 15 * scale, _DIM if sign == "·" else _ALARM)
        else:
            canvas.disc(place, 1.5 * scale, _DIM)


def _draw_middle(canvas: Canvas, table: Table, events: Sequence[str], at: Point, width: float) -> None:
    """Between the seats: which deal, stock and pool, whose turn, what happened last."""
    lines: list[str] = []
    for event in reversed(events):
        told = _wrapped(event, 17, width)
        told = told if len(told) <= 2 else [told[0], f"{told[1]} …"]
        if len(lines) + len(told) > 6:
            break
        lines = told + lines
    x, y = at[0], at[1] - (168 + 23 * len(lines)) / 2
    title = f"{table.rules.title or table.rules.name}"
    canvas.text((x, y), title, _fit(title, 25, width), _PALE)
    about = f"deal {table.deals}" if table.deals else "before the first deal"
    if table.is_over:
        winners = " and ".join(f"seat {seat}" for seat in table.winners)
        about += f", the match is over: {winners} {'wins' if len(table.winners) == 1 else 'win'}"
    elif table.to_act is not None:
        about += f", seat {table.to_act} to act"
    canvas.text((x, y + 31), about, _fit(about, 19, width), _GOLD)
    _draw_stock(canvas, table, (x - 80, y + 98))
    _draw_pool(canvas, table, (x + 80, y + 98))
    for number, line in enumerate(lines):
        newest = number == len(lines) - 1
        canvas.text((x, y + 180 + 23 * number), line, 17, _PALE if newest else _FAINT)


def _draw_stock(canvas: Canvas, table: Table, at: Point) -> None:
    x, y = at
    if table.rules.container == "bag":
        canvas.disc((x, y + 6), 31, "#8a6a45", _PALE, 1.5)
        canvas.box((x, y - 26), (26, 12), "#8a6a45", _PALE, 1.5, 4)
    else:
        for step in (6, 3, 0):
            canvas.box((x + step, y - step), (52, 66), _BACK, _PALE, 1.5, 6)
        canvas.box((x, y), (42, 56), "", _BACK_LINE, 1.2, 4)
    canvas.text((x, y + 3), str(num_stock(table)), 20, _PALE)
    canvas.text((x, y + 48), "bag" if table.rules.container == "bag" else "stock", 15, _FAINT)


def _draw_pool(canvas: Canvas, table: Table, at: Point) -> None:
    x, y = at
    canvas.disc((x, y), 33, "#184a3d", _GOLD, 2)
    canvas.disc((x, y), 26, "", "#3d8f78", 1.2)
    canvas.text((x, y), str(table.pool), 22, _GOLD)
    canvas.text((x, y + 48), f"pool, stakes {table.stakes}" if table.stakes else "pool", 15, _FAINT)


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Where things are in a picture of a table with so many seats."""

    size: tuple[int, int]
    half: Point
    """Half width and height of the oval on which the seats' blocks have their middles."""
    roundness: float
    """The power that shapes the oval: 1 makes an ellipse, less is nearer to a rectangle and has more room."""
    scale: float = 1.0
    """Of the seats' blocks."""
    places: tuple[Point, ...] = ()
    """Middles of the seats' blocks, clockwise from the bottom."""

    @property
    def middle(self) -> Point:
        return self.size[0] / 2, self.size[1] / 2

    def oval(self, wider: float = 0, higher: float = 0, num_points: int = 360) -> list[Point]:
        """The oval, so much wider and higher on each side, clockwise from the bottom."""
        points: list[Point] = []
        for number in range(num_points):
            angle = 2 * math.pi * number / num_points
            across, down = -math.sin(angle), math.cos(angle)
            x = math.copysign(abs(across) ** self.roundness, across) * (self.half[0] + wider)
            y = math.copysign(abs(down) ** self.roundness, down) * (self.half[1] + higher)
            points.append((self.middle[0] + x, self.middle[1] + y))
        return points


@cache
def _layout(num_seats: int) -> _Layout:
    """The layout with the largest blocks that clear their neighbours, beside or above."""
    size = picture_size(num_seats)
    roundness = 0.78 if num_seats <= 12 else 0.5
    scale = _LARGEST
    while True:
        block = (_BLOCK[0] * scale, _BLOCK[1] * scale)
        half = (size[0] / 2 - 22 - block[0] / 2, size[1] / 2 - 22 - block[1] / 2)
        layout = _Layout(size=size, half=half, roundness=roundness, scale=scale)
        for power in (2, 8):  # as the crow flies looks best, the longer of across and down has most room
            places = _spread(layout.oval(num_points=1440), num_seats, block, power)
            steps = np.abs(places - np.roll(places, 1, axis=0)) / block
            if steps.max(axis=1).min() >= _GAP:
                return replace(layout, places=tuple((x, y) for x, y in places.tolist()))
        scale *= 0.98


def _spread(path: Sequence[Point], num_places: int, block: Point, power: float) -> NDArray[np.float64]:
    """Points of a closed path, [num_places, 2], equally many blocks apart; steps add up as `power` says."""
    corners = np.array([*path, path[0]])
    steps = np.abs(np.diff(corners, axis=0)) / block
    ends = np.concatenate([[0.0], np.cumsum((steps**power).sum(axis=1) ** (1 / power))])
    wanted = np.arange(num_places) * ends[-1] / num_places
    return np.stack([np.interp(wanted, ends, corners[:, axis]) for axis in (0, 1)], axis=1)


def _brief(view: SeatView) -> str:
    """The most important of it, in a word or two."""
    if view.place:
        return f"place {view.place}"
    said = ["knocked"] if view.has_knocked else []
    said += [view.turn.split()[0].replace("found", "no card")] if view.turn else []
    return ", ".join(said) or ("answered" if view.answered else "")


@cache
def font(size: float) -> Font:
    """Pillow's own font in so many pixels."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _text_width(text: str, size: float) -> float:
    return font(100).getlength(text) * size / 100 * 1.15  # other fonts that may show an SVG are wider


def _fit(text: str, size: float, width: float) -> float:
    """`size`, or the smaller one at which `text` is no wider than `width`."""
    wide = _text_width(text, size)
    return size if wide <= width else size * width / wide


def _wrapped(text: str, size: float, width: float) -> list[str]:
    """`text` in lines no wider than `width`."""
    lines: list[str] = []
    for word in text.split():
        if lines and _text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
