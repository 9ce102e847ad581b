"""Pictures of a table show what their observer may see, legibly, and the same each time."""

import sys
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gnav_env.drawing import Point, draw, font, picture_size
from gnav_env.errors import GnavError
from gnav_env.render import Window, render_rgb, render_svg, render_text
from gnav_env.state import NOBODY
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from gnav_env.words import Narrator

EVENTS = [
    "seat 0 asks seat 1 (Horse: goes on), seat 2 (House: goes on), the stock (Cat: refused, pays 1, trades undone)",
    "showdown: " + ", ".join(f"seat {seat} Cuckoo" for seat in range(40)),
    "seat 3 is out, place 4",
]


def _table(rules: str = "pagat", num_seats: int = 6, num_deals: int = 3) -> Table:
    """A table in the middle of a deal, with most things on it that can be there."""
    table = Table(rules, num_seats, seed=4)
    rng = np.random.default_rng(num_seats)
    for number in range(num_deals):
        table.deal()
        num_actions = 0
        while table.to_act is not None and (number < num_deals - 1 or num_actions < num_seats // 2):
            table.act(int(rng.choice(table.legal_actions())))
            num_actions += 1
    if table.to_act is None:
        table.deal()
    return table


class Boxes:
    """A canvas that notes where texts stand."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, float, float, float, float]] = []

    def polygon(self, points: Sequence[Point], fill: str) -> None: ...

    def box(self, at: Point, size: Point, fill: str, line: str = "", width: float = 0, radius: float = 0) -> None: ...

    def disc(self, at: Point, radius: float, fill: str, line: str = "", width: float = 0) -> None: ...

    def text(self, at: Point, text: str, size: float, fill: str) -> None:
        left, top, right, bottom = font(size).getbbox(text, anchor="mm")
        self.texts.append((text, at[0] + left, at[1] + top, at[0] + right, at[1] + bottom))


@pytest.mark.parametrize("rules", ["pagat", "double", "hypp"])
@pytest.mark.parametrize("num_seats", [2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 20, 21, 25, 30, 37, 40])
def test_no_text_runs_into_another_or_off_the_picture(rules: str, num_seats: int) -> None:
    num_seats = min(num_seats, VARIANTS[rules].seat_limit)
    canvas = Boxes()
    draw(canvas, _table(rules, num_seats), None, EVENTS)
    width, height = picture_size(num_seats)
    for index, (text, left, top, right, bottom) in enumerate(canvas.texts):
        assert left >= 0, text
        assert top >= 0, text
        assert right <= width, text
        assert bottom <= height, text
        for other, left2, top2, right2, bottom2 in canvas.texts[:index]:
            overlaps = left < right2 and left2 < right and top < bottom2 and top2 < bottom
            assert not overlaps, f"{text!r} runs into {other!r}"


def test_the_text_shows_what_the_observer_knows() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(["2", "9", "cat", "fool", "7"])
    table.act(1)
    assert render_text(table, observer=1, events=["so it goes"]).splitlines() == [
        "pagat: deal 1, pool 0, stock 38, seat 1 to act",
        "  seat  lives  card  turn",
        "  0     ●●●    IX    traded with seat 1",
        "> 1     ●●●    II",
        "  2     ●●●    ?",
        "  3 D   ●●●    Fool  knocked",
        "  so it goes",
    ]
    assert render_text(table, observer=NOBODY).count("?") == 3
    assert "?" not in render_text(table)
    assert "knocked" in render_text(table)


def test_a_picture_does_not_show_what_the_observer_does_not_know() -> None:
    table = Table("pagat", 4, first_dealer=3)
    table.deal(["2", "9", "cat", "dragon", "7"])
    assert {">II<", ">IX<", ">Cat<", ">Dragon<"} == _faces(render_svg(table))
    assert _faces(render_svg(table, observer=2)) == {">Cat<"}
    assert _faces(render_svg(table, observer=NOBODY)) == set()
    with pytest.raises(GnavError, match="observer must be a seat"):
        render_svg(table, observer=4)


def _faces(svg: str) -> set[str]:
    return {face for face in (">II<", ">IX<", ">Cat<", ">Dragon<", ">VII<") if face in svg}


def test_svg_is_well_formed_whatever_is_said() -> None:
    table = _table()
    svg = render_svg(table, events=['<b>"Cat" & house</b>'])
    root = ElementTree.fromstring(svg)
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {'<b>"Cat" & house</b>', "stock", "pool", f"deal {table.deals}, seat {table.to_act} to act"} <= texts


@pytest.mark.parametrize("num_seats", [2, 20, 37])
def test_the_same_table_gives_the_same_pixels(num_seats: int) -> None:
    table = _table(num_seats=num_seats)
    picture = render_rgb(table)
    assert picture.dtype == np.uint8
    assert picture.shape == ((800, 1200, 3) if num_seats <= 20 else (1000, 1600, 3))
    assert np.array_equal(picture, render_rgb(table.copy()))
    table.act(table.legal_actions()[0])
    assert not np.array_equal(picture, render_rgb(table))


def test_a_table_can_be_drawn_from_before_the_first_deal_to_after_the_last() -> None:
    table = Table("pagat", 2, seed=1)
    pictures = [render_rgb(table)]
    assert "deal 0, pool 0, stock 42" in render_text(table)
    while not table.is_over:
        table.deal()
        told: list[str] = []
        while table.to_act is not None:
            before = table.copy()
            table.act(0)
            told += Narrator().act(before, table)
        pictures.append(render_rgb(table, events=told))
    assert "the match is over" in render_text(table)
    assert "wins" in render_svg(table)
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)


@pytest.mark.filterwarnings("ignore:pkg_resources:UserWarning", "ignore::DeprecationWarning")
def test_a_window_shows_pictures_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame: Any = pytest.importorskip("pygame")
    window = Window("a test")
    picture = render_rgb(_table())
    window.show(picture)
    window.show(picture)
    assert not window.is_closed
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(shown, picture)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(picture)
    assert window.is_closed
    window.show(picture)
    window.close()
    assert pygame.display.get_surface() is None


def test_a_window_without_pygame_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(GnavError, match=r"gnav\[human\]"):
        Window()
