"""A table to look at: as text, as SVG, as an RGB array, in a window.

Text says what words.py says; SVG and RGB array are the one picture of drawing.py on two canvases. Everywhere
`observer` is who looks: a seat sees the faces it knows, None sees all, NOBODY only those that are face up.
`events` are sentences, the newest last (see `words.Narrator`).
"""

import os
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_env.drawing import Point, draw, font, picture_size
from gnav_env.errors import GnavError
from gnav_env.table import Table
from gnav_env.views import SeatView, lives_in_words, num_stock, view_seats

__all__ = ["RENDER_MODES", "Renderer", "Window", "render_rgb", "render_svg", "render_text"]

RENDER_MODES = ("ansi", "rgb_array", "human")
"""What environments can show: a text, a picture, a window."""


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
        rows.append((name, lives_in_words(table, view.seat), _face(table, view), view.remarks))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{table.rules.name}: {_about_deal(table)}"]
    lines += ["  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows]
    return "\n".join([*lines, *(f"  {event}" for event in events)])


def render_svg(table: Table, observer: int | None = None, events: Sequence[str] = ()) -> str:
    """The table as an SVG document."""
    canvas = _Svg(picture_size(table.num_seats))
    draw(canvas, table, observer, events)
    return canvas.document


def render_rgb(table: Table, observer: int | None = None, events: Sequence[str] = ()) -> NDArray[np.uint8]:
    """The table as a picture, uint8 [H, W, 3]; the same table gives the same bytes.

    H, W is 800, 1200 for up to 20 seats and 1000, 1600 for more.
    """
    canvas = _Raster(picture_size(table.num_seats))
    draw(canvas, table, observer, events)
    return canvas.array


class Window:
    """A window that shows pictures; it opens with the first. Needs pygame, from the extra `gnav[human]`."""

    def __init__(self, title: str = "Gnav") -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            self._pygame: Any = import_module("pygame")
        except ImportError:
            raise GnavError("a window needs pygame: install it with `pip install 'gnav[human]'`") from None
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


class Renderer:
    """Shows tables in one of `RENDER_MODES`, as environments do it. `GnavError` for another mode."""

    def __init__(self, mode: str, title: str) -> None:
        if mode not in RENDER_MODES:
            raise GnavError(f"render_mode must be None or {' or '.join(RENDER_MODES)}, not {mode!r}")
        self._mode = mode
        self._window = Window(title) if mode == "human" else None

    def show(self, table: Table, observer: int | None = None) -> str | NDArray[np.uint8] | None:
        """The table as a text or a picture; None once the window shows it."""
        if self._mode == "ansi":
            return render_text(table, observer)
        picture = render_rgb(table, observer)
        if self._window is None:
            return picture
        self._window.show(picture)
        return None

    def close(self) -> None:
        """The window, if there is one, is gone."""
        if self._window is not None:
            self._window.close()


def _face(table: Table, view: SeatView) -> str:
    if not view.has_card:
        return ""
    return table.rules.card_name(view.rank) if view.rank else "?"


def _about_deal(table: Table) -> str:
    said = [f"deal {table.deals}", f"pool {table.pool}", f"stock {num_stock(table)}"]
    if table.stakes:
        said.insert(2, f"stakes {table.stakes}")
    if table.to_act is not None:
        said.append(f"seat {table.to_act} to act")
    return ", ".join([*said, *(["the match is over"] if table.is_over else [])])


class _Svg:
    """Writes what is drawn as SVG elements."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._elements: list[str] = []

    @property
    def document(self) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._size[0]} {self._size[1]}"'
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

    def __init__(self, size: tuple[int, int]) -> None:
        from PIL import Image, ImageDraw

        self._image = Image.new("RGB", (size[0] * self._ZOOM, size[1] * self._ZOOM))
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
        self._draw.text((at[0] * z, at[1] * z), text, fill, font(int(size * z)), anchor="mm")
