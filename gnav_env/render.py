"""A table to look at: as text, as SVG, as an RGB array, in a window.

Text says what words.py says. SVG and RGB array are one drawing, made once by `draw` for two canvases. Everywhere
`observer` is who looks: a seat sees the faces it knows, None sees all, NOBODY only those that are face up. `events`
are sentences, the newest last (see `words.Narrator`).
"""

import math
import os
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gnav_env.cards import display_name
from gnav_env.engine import TURNS
from gnav_env.errors import GnavError
from gnav_env.table import Table
from gnav_env.words import SeatView, lives_in_words, view_seats

__all__ = ["Canvas", "Window", "draw", "render_rgb", "render_svg", "render_text"]

WIDTH, HEIGHT = 1200, 800
"""Size of a picture in its own units, which are pixels at scale 1."""

Point = tuple[float, float]
Font = Any

_BLOCK = (112.0, 164.0)
_CARD = (78.0, 94.0)
_LARGEST, _GAP = 1.25, 1.04
"""Largest scale of a seat's block; distance of neighbours in blocks."""

_ROOM, _RAIL, _FELT, _FELT_LINE = "#20262b", "#6b4429", "#1f5d4c", "#2c7461"
_PAPER, _PAPER_DIM, _INK, _RED, _PLUM, _BACK, _BACK_LINE = (
    "#fbf6e9", "#c9c8bb", "#23303a", "#a3261f", "#6d2a7c", "#34557f", "#8fb0d6",
)  # fmt: skip
_GOLD, _PALE, _FAINT, _ALARM, _DIM = "#f2c14e", "#eef3ea", "#9dbfb2", "#ff7a66", "#4d8a78"


def render_text(table: Table, observer: int | None = None, events: Sequence[str] = ()) -> str:
    """The table as plain text: a line about the deal, a line for each seat, then `events`.

    >>> table = Table("pagat", num_seats=3, first_dealer=2)
    >>> table.deal(["7", "cat", "fool"])
    >>> print(render_text(table, observer=0))
    pagat: deal 1, pool 0, stock 39, seat 0 to act
      seat  lives  card  turn
    > 0     ●●●    VII
      1     ●●●    ?
      2 D   ●●●    Fool  knocked
    """
    views = view_seats(table, observer)
    rows = [("  seat", "lives", "card", "turn")]
    for view in views:
        mark = ">" if view.is_to_act else " "
        name = f"{mark} {view.seat}{' D' if view.is_dealer else ''}"
        rows.append((name, lives_in_words(table, view.seat), _face(view), _remarks(view)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{table.rules.name}: {_about_deal(table)}"]
    lines += ["  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows]
    return "\n".join([*lines, *(f"  {event}" for event in events)])


def render_svg(table: Table, observer: int | None = None, events: Sequence[str] = ()) -> str:
    """The table as an SVG document."""
    canvas = _Svg()
    draw(canvas, table, observer, events)
    return canvas.document


def render_rgb(table: Table, observer: int | None = None, events: Sequence[str] = ()) -> NDArray[np.uint8]:
    """The table as a picture, uint8 [800, 1200, 3]; the same table gives the same bytes."""
    canvas = _Raster()
    draw(canvas, table, observer, events)
    return canvas.array


class Window:
    """A window that shows pictures; it opens with the first one. Needs pygame, which the extra `gnav[human]` brings."""

    def __init__(self, title: str = "Gnav") -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError:
            raise GnavError("a window needs pygame: install it with `pip install 'gnav[human]'`") from None
        self._pygame: Any = pygame
        self._title = title
        self._screen: Any = None
        self.is_closed = False
        """True once it has been closed; by whoever sits before it, or by `close`."""

    def show(self, picture: NDArray[np.uint8]) -> None:
        """The window shows `picture`, uint8 [H, W, 3]. Nothing happens if it has been closed."""
        if self.is_closed:
            return
        height, width, _ = picture.shape
        if self._screen is None:
            self._pygame.display.init()
            self._pygame.display.set_caption(self._title)
            self._screen = self._pygame.display.set_mode((width, height))
        image = self._pygame.image.frombuffer(np.ascontiguousarray(picture).tobytes(), (width, height), "RGB")
        self._screen.blit(image, (0, 0))
        self._pygame.display.flip()
        if any(event.type == self._pygame.QUIT for event in self._pygame.event.get()):
            self.close()

    def close(self) -> None:
        """The window is gone; closing twice does no harm."""
        self.is_closed = True
        if self._screen is not None:
            self._screen = None
            self._pygame.display.quit()


class Canvas(Protocol):
    """What `draw` draws on. Lengths in units of the picture, colours as ``#rrggbb``, an empty colour is none."""

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
    views = view_seats(table, observer)
    places, scale, (half_width, half_height) = _places(table.num_seats)
    block_width, block_height = _BLOCK[0] * scale / 2, _BLOCK[1] * scale / 2
    canvas.box((WIDTH / 2, HEIGHT / 2), (WIDTH, HEIGHT), _ROOM)
    roundness = _roundness(table.num_seats)
    for beyond, colour in ((14.0, _RAIL), (2.0, _FELT)):
        canvas.polygon(_oval(half_width + block_width + beyond, half_height + block_height + beyond, roundness), colour)
    for inside, colour in ((0.0, _FELT_LINE), (3.0, _FELT)):
        canvas.polygon(_oval(half_width - block_width - inside, half_height - block_height - inside, roundness), colour)
    first = observer if observer is not None and observer >= 0 else 0
    for view in views:
        _draw_seat(canvas, table, view, places[(view.seat - first) % table.num_seats], scale)
    _draw_middle(canvas, table, events, (half_width - block_width) * 1.4, (half_height - block_height) * 1.7)


def _draw_seat(canvas: Canvas, table: Table, view: SeatView, at: Point, scale: float) -> None:
    """A seat's block: name, card, lives, and what it did."""
    x, y = at
    width = _BLOCK[0] * scale
    top, bottom = y - _BLOCK[1] * scale / 2, y + _BLOCK[1] * scale / 2
    is_out = view.place > 0 and view.lives == 0
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
            points = [(x, y - radius * scale), (x + radius * scale, y), (x, y + radius * scale), (x - radius * scale, y)]
            canvas.polygon(points, _BACK if radius == 10 else _BACK_LINE)
        return
    is_matador = view.rank in table.rules.matadors
    is_special = any(special.rank == view.rank for special in table.rules.specials)
    colour = _RED if is_matador else _PLUM if is_special else _INK
    is_dead = view.lives == 0 and table.record.phase == TURNS
    canvas.box(at, (width, height), _PAPER_DIM if is_dead else _PAPER, colour, 1.5 * scale, 8 * scale)
    inner = (width - 10 * scale, height - 10 * scale)
    canvas.box(at, inner, "", colour if is_matador or is_special else "#d8d0bb", 1.0 * scale, 5 * scale)
    name = display_name(view.rank)
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


def _draw_middle(canvas: Canvas, table: Table, events: Sequence[str], width: float, height: float) -> None:
    """Between the seats: which deal, stock and pool, whose turn, what happened last."""
    x = WIDTH / 2
    lines: list[str] = []
    for event in reversed(events):
        told = _wrapped(event, 17, width)
        told = told if len(told) <= 2 else [told[0], f"{told[1]} …"]
        if len(lines) + len(told) > 6:
            break
        lines = told + lines
    y = HEIGHT / 2 - (168 + 23 * len(lines)) / 2
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
    canvas.text((x, y + 3), str(_num_stock(table)), 20, _PALE)
    canvas.text((x, y + 48), "bag" if table.rules.container == "bag" else "stock", 15, _FAINT)


def _draw_pool(canvas: Canvas, table: Table, at: Point) -> None:
    x, y = at
    canvas.disc((x, y), 33, "#184a3d", _GOLD, 2)
    canvas.disc((x, y), 26, "", "#3d8f78", 1.2)
    canvas.text((x, y), str(table.pool), 22, _GOLD)
    canvas.text((x, y + 48), "pool", 15, _FAINT)


def _roundness(num_seats: int) -> float:
    """The power that shapes the oval: 1 is an ellipse; with many seats it comes near to a rectangle, which has more room."""
    return 0.78 if num_seats <= 12 else 0.5


def _oval(half_width: float, half_height: float, roundness: float, num_points: int = 180) -> list[Point]:
    """A superellipse round the middle of the picture, clockwise from the bottom."""
    points: list[Point] = []
    for number in range(num_points):
        angle = 2 * math.pi * number / num_points
        across, down = -math.sin(angle), math.cos(angle)
        x = math.copysign(abs(across) ** roundness, across)
        y = math.copysign(abs(down) ** roundness, down)
        points.append((WIDTH / 2 + half_width * x, HEIGHT / 2 + half_height * y))
    return points


@cache
def _places(num_seats: int) -> tuple[list[Point], float, Point]:
    """Middles of the seats' blocks, clockwise from the bottom; their scale; half width and height of their oval.

    Neighbours are so far apart that their blocks clear each other beside or above, and blocks are as large as that allows.
    """
    scale = _LARGEST
    while True:
        width, height = _BLOCK[0] * scale, _BLOCK[1] * scale
        half = (WIDTH / 2 - 22 - width / 2, HEIGHT / 2 - 22 - height / 2)
        places = _along(_oval(*half, _roundness(num_seats), 1440), num_seats, width, height)
        distances = (
            max(abs(a[0] - b[0]) / width, abs(a[1] - b[1]) / height)
            for a, b in zip(places, places[1:] + places[:1], strict=True)
        )
        if min(distances) >= _GAP:
            return places, scale, half
        scale *= 0.98


def _along(path: Sequence[Point], num_places: int, width: float, height: float) -> list[Point]:
    """Points on a closed path, equally far apart if a way is measured in widths across and in heights up and down."""
    corners = np.array([*path, path[0]])
    ways = np.abs(np.diff(corners, axis=0) / (width, height)).max(axis=1)
    ends = np.concatenate([[0.0], np.cumsum(ways)])
    wanted = np.arange(num_places) * ends[-1] / num_places
    across, down = (np.interp(wanted, ends, corners[:, axis]).tolist() for axis in (0, 1))
    return list(zip(across, down, strict=True))


def _face(view: SeatView) -> str:
    if not view.has_card:
        return ""
    return display_name(view.rank) if view.rank else "?"


def _remarks(view: SeatView) -> str:
    """All there is to say of a seat's deal."""
    said = ["knocked"] if view.has_knocked else []
    said += [f"answered {view.answered}"] if view.answered else []
    said += [view.turn] if view.turn else []
    said += ["loses"] if view.is_loser else []
    said += ["sits out"] if view.sits_out else []
    said += [f"place {view.place}"] if view.place else []
    return ", ".join(said)


def _brief(view: SeatView) -> str:
    """The most important of it, in a word or two."""
    if view.place:
        return f"place {view.place}"
    said = ["knocked"] if view.has_knocked else []
    said += [view.turn.split()[0].replace("found", "no card")] if view.turn else []
    return ", ".join(said) or ("answered" if view.answered else "")


def _num_stock(table: Table) -> int:
    """Cards of the stock that are left; before the first deal, the whole deck."""
    if table.deals == 0:
        return table.rules.num_cards
    return table.rules.num_cards - table.num_seats - int(table.record.drawn)


def _about_deal(table: Table) -> str:
    said = [f"deal {table.deals}", f"pool {table.pool}", f"stock {_num_stock(table)}"]
    if table.to_act is not None:
        said.append(f"seat {table.to_act} to act")
    return ", ".join([*said, *(["the match is over"] if table.is_over else [])])


@cache
def _font(size: float) -> Font:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _text_width(text: str, size: float) -> float:
    return _font(100).getlength(text) * size / 100 * 1.08  # other fonts that may show an SVG are wider


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


class _Svg:
    """Writes what is drawn as SVG elements."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    @property
    def document(self) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        style = ' font-family="Aileron, Helvetica, Arial, sans-serif" text-anchor="middle">'
        return "\n".join([head + style, *self._elements, "</svg>\n"])

    def polygon(self, points: Sequence[Point], fill: str) -> None:
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._elements.append(f'<polygon points="{listed}" fill="{fill}"/>')

    def box(self, at: Point, size: Point, fill: str, line: str = "", width: float = 0, radius: float = 0) -> None:
        x, y = at[0] - size[0] / 2, at[1] - size[1] / 2
        form = f'x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" rx="{radius:.1f}"'
        self._elements.append(f"<rect {form} {_paint(fill, line, width)}/>")

    def disc(self, at: Point, radius: float, fill: str, line: str = "", width: float = 0) -> None:
        form = f'cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:.1f}"'
        self._elements.append(f"<circle {form} {_paint(fill, line, width)}/>")

    def text(self, at: Point, text: str, size: float, fill: str) -> None:
        form = f'x="{at[0]:.1f}" y="{at[1] + 0.35 * size:.1f}" font-size="{size:.1f}"'
        self._elements.append(f'<text {form} fill="{fill}">{escape(text)}</text>')


def _paint(fill: str, line: str, width: float) -> str:
    return f'fill="{fill or "none"}"' + (f' stroke="{line}" stroke-width="{width:.1f}"' if line else "")


class _Raster:
    """Paints what is drawn with Pillow, at twice the size, so that edges come out smooth."""

    _ZOOM = 2

    def __init__(self) -> None:
        from PIL import Image, ImageDraw

        self._image = Image.new("RGB", (WIDTH * self._ZOOM, HEIGHT * self._ZOOM))
        self._draw = ImageDraw.Draw(self._image)

    @property
    def array(self) -> NDArray[np.uint8]:
        return np.array(self._image.reduce(self._ZOOM))

    def polygon(self, points: Sequence[Point], fill: str) -> None:
        self._draw.polygon([(x * self._ZOOM, y * self._ZOOM) for x, y in points], fill)

    def box(self, at: Point, size: Point, fill: str, line: str = "", width: float = 0, radius: float = 0) -> None:
        z = self._ZOOM
        x, y = (at[0] - size[0] / 2) * z, (at[1] - size[1] / 2) * z
        corners = [x, y, x + size[0] * z - 1, y + size[1] * z - 1]
        self._draw.rounded_rectangle(corners, radius * z, fill or None, line or None, max(1, round(width * z)))

    def disc(self, at: Point, radius: float, fill: str, line: str = "", width: float = 0) -> None:
        z = self._ZOOM
        corners = [(at[0] - radius) * z, (at[1] - radius) * z, (at[0] + radius) * z, (at[1] + radius) * z]
        self._draw.ellipse(corners, fill or None, line or None, max(1, round(width * z)))

    def text(self, at: Point, text: str, size: float, fill: str) -> None:
        z = self._ZOOM
        self._draw.text((at[0] * z, at[1] * z), text, fill, _font(int(size * z)), anchor="mm")
