"""A summary, and a sequential test, as plots: SVG for a page or a file, the same bytes for the same data.

Text stays text, so the page's font is used and a reader can search it. Every plot is made for a given width in which
letters are `TEXT` high; html.py lets it grow and shrink with the page. Nothing is told by colour alone.
"""

import html
import io
import math
import re
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnav_agents.arena.summary import Curve, Estimate, Matrix, Row
from gnav_agents.arena.tables import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gnav_agents.arena.sequential import SequentialTest

__all__ = [
    "TEXT",
    "Plot",
    "forest_plot",
    "loss_plot",
    "matrix_plot",
    "rank_plot",
    "sequential_plot",
    "survival_plot",
]

TEXT = 10.5
"""Height of all letters, in units of the plots' widths."""

_WIDTH = 400
_LINE = 20
"""Height of an agent's line."""
_LETTERS = 20
"""Names longer than this lose their middle; the tables have them whole."""
_PANEL_LETTERS = 17

_BLUE, _ORANGE, _DARK, _GREY, _PALE = "#0b5fa5", "#c2570c", "#404040", "#8a8a8a", "#e4e4e4"
# Okabe and Ito's colours, told apart by the colour-blind, so ordered that neighbours differ in lightness too
_CAUSES = ("#0b5fa5", "#f0b030", "#009e73", "#e6a3cc", "#d55e00", "#9fd3f2", "#7a4a9c", "#b0b0b0")


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plot as an `<svg>` element, or file, that names itself to those who cannot see it."""

    svg: str
    width: float
    """Of its own coordinates."""


def forest_plot(rows: Sequence[Row]) -> Plot:
    """Relative elimination rates with their intervals, an agent on each line.

    A full dot is the best, a ring is level with it, a square behind.
    """
    with _style("forest"):
        figure, axes = _lines(rows)
        axes.axvline(1, color=_GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        for line, row in enumerate(rows):
            rate = row.figures["relative_elimination_rate"]
            color = _DARK if row.standing == "behind" else _BLUE
            if rate.low is not None and rate.high is not None:
                axes.plot([rate.low, rate.high], [line, line], color=color, linewidth=2, solid_capstyle="butt")
            if rate.value is not None:
                axes.plot(
                    rate.value,
                    line,
                    marker="s" if row.standing == "behind" else "o",
                    markersize=5 if row.standing == "behind" else 7,
                    markeredgewidth=1.5,
                    color=color,
                    markerfacecolor="white" if row.standing == "level" else color,
                )
            _at_the_end(axes, line, number(rate.value, 3))
        axes.set_xlabel("relative elimination rate (1 is par)")
        return _finish(figure, f"Forest plot of the relative elimination rate with its 95 % interval: {_span(rows)}")


def rank_plot(rows: Sequence[Row]) -> Plot:
    """Ranks as dots on bars that say where they lie in resamples, an agent on each line."""
    with _style("ranks"):
        figure, axes = _lines(rows)
        for line, row in enumerate(rows):
            ends = [row.rank_low - 0.3, row.rank_high + 0.3]
            axes.plot(ends, [line, line], color="#a9cbe8", linewidth=9, solid_capstyle="butt")
            axes.plot(row.rank, line, marker="o", markersize=5, color=_BLUE)
        last = max(len(rows), *(row.rank_high for row in rows))
        axes.set_xticks(range(1, last + 1, math.ceil(last / 13)))
        axes.set_xlim(0.4, last + 0.6)
        axes.set_xlabel("rank")
        ranks = ", ".join(f"{row.agent} {row.rank_low} to {row.rank_high}" for row in rows)
        return _finish(figure, f"Ranks with their 95 % intervals: {ranks}")


def loss_plot(rows: Sequence[Row]) -> Plot:
    """Lives paid a deal as bars of causes, the dearest cause first, an agent on each line."""
    causes = _causes(rows)
    with _style("losses"):
        figure, axes = _lines(rows, extra=_LINE * math.ceil(len(causes) / 4))
        for line, row in enumerate(rows):
            left = 0.0
            for color, names in zip(_CAUSES, causes.values(), strict=False):
                paid = sum((row.losses[name].value or 0.0) for name in names if name in row.losses)
                axes.barh(line, paid, left=left, height=0.7, color=color, edgecolor="white", linewidth=0.7)
                left += paid
            _at_the_end(axes, line, number(left, 3))
        axes.set_xlabel("lives paid for each deal")
        axes.set_xlim(left=0)
        keys: list[Any] = [_key(color) for color, _ in zip(_CAUSES, causes, strict=False)]
        figure.legend(keys, list(causes), loc="outside upper right", ncols=min(len(causes), 4), frameon=False)
        return _finish(figure, f"Lives paid for each deal by {len(rows)} agents, by cause: {', '.join(causes)}")


def survival_plot(curves: Sequence[Curve], agents: Sequence[str]) -> Plot:
    """Kaplan-Meier curves of one number of seats, a panel for each of `agents`, in this order.

    Each panel has the agent's curve with its band, the first agent's as a dashed line, and in grey the span of all.
    It ends where no agent loses another hundredth of its entries.
    """
    import numpy as np

    by_agent = {curve.agent: _steps(curve) for curve in curves}
    shown = [(place, agent) for place, agent in enumerate(agents, 1) if agent in by_agent]
    end = max(_last_deal(curve) for curve in curves)
    deals = np.arange(end + 1)
    alive = np.stack([_extended(steps, end) for steps in by_agent.values()])  # [agents, deals, 3]
    num_columns = min(3, len(shown))
    num_rows = math.ceil(len(shown) / num_columns)
    num_seats = curves[0].num_seats
    with _style(f"survival {num_seats}"):
        figure, panels = _panels(num_rows, num_columns)
        for panel in panels[len(shown) :]:
            panel.set_visible(False)
        for panel in panels[max(0, len(shown) - num_columns) : len(shown)]:
            panel.tick_params(labelbottom=True)
            panel.set_xlabel("deals")
        first = _extended(by_agent[shown[0][1]], end)
        for panel, (place, agent) in zip(panels, shown, strict=False):
            own = _extended(by_agent[agent], end)
            span = alive[:, :, 0]
            panel.fill_between(deals, np.nanmin(span, 0), np.nanmax(span, 0), step="post", color=_PALE, linewidth=0)
            panel.fill_between(deals, own[:, 1], own[:, 2], step="post", color="#8dbbe0", linewidth=0)
            panel.step(deals, first[:, 0], where="post", color=_ORANGE, linewidth=1, linestyle=(0, (3, 2)))
            panel.step(deals, own[:, 0], where="post", color=_BLUE, linewidth=1.5)
            panel.set_title(f"{place} {_short(agent, _PANEL_LETTERS)}", fontsize=TEXT, loc="left", pad=3)
            panel.set_ylim(0, 1.02)
            panel.set_xlim(0, end)
            panel.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
        what = f"Share of entries not eliminated after so many deals, {num_seats} seats"
        return _finish(figure, f"{what}: {_halves(curves)}")


def matrix_plot(matrix: Matrix, *, name: str, par: float, digits: int) -> Plot:
    """A heat map of `matrix` in percent, row against column, white at `par`, blue above, orange below.

    Cells are italic if their interval holds par or they have none. Columns are numbered as the rows are.
    """
    import numpy as np

    agents, size = matrix.agents, len(matrix.agents)
    edges = np.arange(size + 1) - 0.5
    values = np.array([[cell.value for cell in row] for row in matrix.cells], float)
    above = values - par
    shades = above / max(np.nanmax(np.abs(above), initial=0.0), 1e-9)  # -1 to 1, NaN where there is no figure
    with _style(name):
        from matplotlib.colors import LinearSegmentedColormap

        colors = LinearSegmentedColormap.from_list("par", [_ORANGE, "#f7f7f7", _BLUE], bad=_PALE)
        figure, axes = _lines_of(agents, width=max(_WIDTH, 130 + 27 * size), line=24, extra=4)
        axes.pcolormesh(edges, edges, shades, cmap=colors, vmin=-1, vmax=1, edgecolors="white", linewidth=1)
        for (y, x), shade in np.ndenumerate(shades):
            cell = matrix.cells[y][x]
            if cell.value is not None:
                axes.text(
                    x,
                    y,
                    _cell(cell.value, digits, is_signed=par == 0),
                    ha="center",
                    va="center_baseline",
                    fontstyle="italic" if _includes(cell, par) else "normal",
                    color="white" if abs(shade) > 0.6 else "black",
                    in_layout=False,
                )
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_xticks(range(size), [f"{place}" for place in range(1, size + 1)])
        axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.spines[:].set_visible(False)
        return _finish(figure, f"Heat map of {name}, {size} agents against each other, row against column, in percent")


def sequential_plot(test: "SequentialTest") -> Plot:
    """The log-likelihood ratios of a sequential test after each look, between the bounds that end it."""
    from matplotlib.figure import Figure

    blocks = [0, *(look.num_blocks for look in test.history)]
    lines = (
        (f"A better by {test.delta:g}", [0.0, *(look.llr_better for look in test.history)], _BLUE, "solid"),
        (f"B better by {test.delta:g}", [0.0, *(look.llr_worse for look in test.history)], _ORANGE, (0, (4, 2))),
    )
    with _style("sequential"):
        figure = Figure(figsize=(_WIDTH / 72, 240 / 72), layout="constrained")
        axes: Any = figure.add_subplot()
        for bound, words, side in ((test.upper, "found", "bottom"), (test.lower, "not found", "top")):
            axes.axhline(bound, color=_GREY, linewidth=1)
            axes.text(0.01, bound, words, transform=axes.get_yaxis_transform(), va=side, color=_DARK)
        for label, ratios, color, dashes in lines:
            axes.plot(blocks, ratios, label=label, color=color, linestyle=dashes, linewidth=1.5)
        axes.set_ylim(1.5 * test.lower, 1.5 * test.upper)
        axes.set_xlim(left=0)
        axes.set_xlabel("blocks")
        axes.set_ylabel("log-likelihood ratio")
        figure.legend(loc="outside upper right", ncols=2, frameon=False, handlelength=2)
        ends = ", ".join(f"{label} {number(ratios[-1], 2)}" for label, ratios, _, _ in lines)
        return _finish(figure, f"Log-likelihood ratios after {blocks[-1]} blocks: {ends}; A is {test.verdict}")


@contextmanager
def _style(name: str) -> Generator[None]:
    """Matplotlib as this file wants it, whatever the user has made of it; ids in the SVG are made with `name`."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # letters that matplotlib's own font lacks are drawn by the page's
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": name,
                "text.parse_math": False,
                "font.size": TEXT,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.edgecolor": _GREY,
                "xtick.color": _GREY,
                "ytick.color": _GREY,
                "xtick.labelcolor": "black",
                "ytick.labelcolor": "black",
                "xtick.labelsize": TEXT,
                "ytick.labelsize": TEXT,
                "legend.fontsize": TEXT,
                "legend.handlelength": 1.0,
                "legend.handletextpad": 0.4,
                "legend.columnspacing": 1.0,
            }
        )
        yield


def _lines(rows: Sequence[Row], extra: float = 0) -> tuple["Figure", Any]:
    """A figure with a line for each row, and its axes."""
    return _lines_of([row.agent for row in rows], extra=extra)


def _lines_of(
    agents: Sequence[str], *, width: float = _WIDTH, line: float = _LINE, extra: float = 0
) -> tuple["Figure", Any]:
    """A figure with a line for each of `agents`, the first on top, numbered."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, (line * len(agents) + 44 + extra) / 72), layout="constrained")
    axes: Any = figure.add_subplot()
    axes.set_yticks(range(len(agents)), [f"{place} {_short(agent)}" for place, agent in enumerate(agents, 1)])
    axes.set_ylim(len(agents) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return figure, axes


def _panels(num_rows: int, num_columns: int) -> tuple["Figure", list[Any]]:
    """A figure of small axes that share their scales, and the axes row by row."""
    from matplotlib.figure import Figure

    left, right, bottom, top = 46, 8, 38, 18
    panel, gap = 62, 23
    height = bottom + num_rows * panel + (num_rows - 1) * gap + top
    figure = Figure(figsize=(_WIDTH / 72, height / 72))
    figure.subplots_adjust(left / _WIDTH, bottom / height, 1 - right / _WIDTH, 1 - top / height, 0.1, gap / panel)
    axes: Any = figure.subplots(num_rows, num_columns, sharex=True, sharey=True, squeeze=False)
    return figure, list(axes.ravel())


def _finish(figure: "Figure", label: str) -> Plot:
    """The figure as an element; `label` says what is to be seen."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Creator": None, "Date": None, "Format": None, "Type": None})
    text = stream.getvalue()
    width, height = (round(72 * float(side), 2) for side in figure.get_size_inches())
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)  # the page has its rules
    body = re.sub(r"(font-size: [\d.]+px); font-family: [^;\"]*", r"\1", body)  # and its font
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # the same in every plot, and nothing points there
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" font-family="sans-serif"'
    view = f'viewBox="0 0 {width:g} {height:g}"'
    opening = f'<svg {names} {view} role="img" aria-label="{html.escape(label)}">'
    return Plot(svg=f"{opening}{body.rstrip()}\n", width=width)


def _at_the_end(axes: Any, line: int, text: str) -> None:
    """`text` stands right of the axes, on that line."""
    axes.text(1.02, line, text, transform=axes.get_yaxis_transform(), va="center_baseline")


def _key(color: str) -> Any:
    """What stands for a cause in a legend."""
    from matplotlib.patches import Patch

    return Patch(color=color)


def _short(name: str, letters: int = _LETTERS) -> str:
    """`name`, its middle left out if it is long."""
    half = (letters - 1) // 2
    return name if len(name) <= letters else f"{name[:half]}…{name[-half:]}"


def _span(rows: Sequence[Row]) -> str:
    """The figures of the first and the last in words."""
    ends = (rows[0], rows[-1]) if len(rows) > 1 else (rows[0],)
    return " to ".join(f"{row.agent} {number(row.figures['relative_elimination_rate'].value, 3)}" for row in ends)


def _causes(rows: Sequence[Row]) -> dict[str, tuple[str, ...]]:
    """The causes of loss by what stands for them, the dearest first; those beyond the colours are `other`."""
    totals: dict[str, float] = {}
    for row in rows:
        for cause, paid in row.losses.items():
            totals[cause] = totals.get(cause, 0.0) + (paid.value or 0.0)
    names = [cause for cause in sorted(totals, key=lambda cause: -totals[cause]) if totals[cause] > 0]
    room = len(_CAUSES)
    if len(names) <= room:
        return {name: (name,) for name in names}
    return {name: (name,) for name in names[: room - 1]} | {"other": tuple(names[room - 1 :])}


def _steps(curve: Curve) -> Any:
    """Alive, low and high from deal 0 on, [deals, 3]."""
    import numpy as np

    return np.vstack([np.ones(3), np.column_stack([curve.alive, curve.low, curve.high]).astype(float)])


def _extended(steps: Any, end: int) -> Any:
    """`steps` up to deal `end`, the last one repeated."""
    import numpy as np

    return np.pad(steps, ((0, max(0, end + 1 - len(steps))), (0, 0)), mode="edge")[: end + 1]


def _last_deal(curve: Curve) -> int:
    """The deal after which no more than a hundredth of the entries were eliminated, or 1."""
    to_fall = [deal for deal, alive in zip(curve.deals, curve.alive, strict=True) if alive > curve.alive[-1] + 0.01]
    return max(to_fall, default=0) + 1


def _halves(curves: Sequence[Curve]) -> str:
    """For each agent the deal after which at most half were left."""
    words: list[str] = []
    for curve in curves:
        halves = [deal for deal, alive in zip(curve.deals, curve.alive, strict=True) if alive <= 0.5]
        words.append(f"{curve.agent} at half after {halves[0]} deals" if halves else f"{curve.agent} never at half")
    return ", ".join(words)


def _cell(value: float, digits: int, *, is_signed: bool) -> str:
    """A share as a percentage, with its sign if it counts from 0."""
    text = number(100 * value, digits)
    return f"+{text}" if is_signed and value > 0 and text.strip("0.") else text


def _includes(cell: Estimate, par: float) -> bool:
    """Whether `par` cannot be ruled out."""
    return cell.low is None or cell.high is None or cell.low <= par <= cell.high
