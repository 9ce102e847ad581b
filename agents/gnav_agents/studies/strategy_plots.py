"""The pictures of `gnav study strategy`. matplotlib is imported only here, when they are drawn."""

from collections.abc import Callable, Sequence
from typing import Any

from gnav_agents.studies.plots import png
from gnav_agents.studies.strategy import BEST, EQUILIBRIUM, Row

__all__ = ["strategy_pictures"]

_TICKS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
_LINEAR = 0.01
"""Up to here the axis of gains is linear, beyond it logarithmic."""


def strategy_pictures(rows: Sequence[Row]) -> dict[str, bytes | None]:
    """PNGs by name: thresholds, gains of agents and of thresholds, information, values. None without matplotlib."""
    drawn: dict[str, Callable[[Sequence[Row]], bytes]] = {
        "strategy.png": _thresholds,
        "strategy-gains.png": _gains,
        "strategy-information.png": _information,
        "strategy-values.png": _values,
    }
    try:
        return {name: draw(rows) for name, draw in drawn.items()}
    except ImportError:
        return dict.fromkeys(drawn)


def _thresholds(rows: Sequence[Row]) -> bytes:
    """Thresholds by position, a line for each number of seats, a panel for each ruleset."""
    canvas, panels, names = _panels(rows)
    for panel, name in zip(panels[0], names, strict=True):
        found = [row for row in rows if row.rules == name and row.topic == "threshold"]
        for nudge, num_seats, color in _lines(found):
            alike = [row for row in found if row.seats == num_seats]
            xs, ys = [row.position for row in alike], [row.value + nudge for row in alike]
            panel.plot(xs, ys, marker="o", markersize=4, linewidth=1, color=color, label=f"{num_seats} seats")
        cards = {int(row.value): row.card for row in found if row.card and row.value == int(row.value)}
        panel.set_yticks(sorted(cards), [cards[number] for number in sorted(cards)])
        _finish(panel, name, found)
    canvas.supylabel("lowest rank that is kept", fontsize=9)
    return png(canvas)


def _values(rows: Sequence[Row]) -> bytes:
    """Lives lost a deal by position."""
    canvas, panels, names = _panels(rows)
    for panel, name in zip(panels[0], names, strict=True):
        found = [row for row in rows if row.rules == name and row.topic == "value"]
        for _, num_seats, color in _lines(found):
            alike = [row for row in found if row.seats == num_seats]
            xs, ys = [row.position for row in alike], [row.value for row in alike]
            panel.plot(xs, ys, marker="o", markersize=4, linewidth=1, color=color, label=f"{num_seats} seats")
        panel.set_ylim(bottom=0)
        _finish(panel, name, found)
    canvas.supylabel("lives lost a deal", fontsize=9)
    return png(canvas)


def _gains(rows: Sequence[Row]) -> bytes:
    """Bars for agents, and the curve of thresholds beside them, for each ruleset."""
    names = list(dict.fromkeys(row.rules for row in rows))
    canvas = _canvas(9, 0.6 + 3.4 * len(names))
    panels: Any = canvas.subplots(len(names), 2, squeeze=False)
    found = [row for row in rows if row.topic == "gain" and row.position is None and row.what != EQUILIBRIUM]
    for (bars, curve), name in zip(panels, names, strict=True):
        alike = [row for row in found if row.rules == name]
        agents = [row for row in alike if not row.what.startswith("threshold:")]
        _bars(bars, agents, sorted(dict.fromkeys(row.what for row in agents), key=lambda what: what != BEST))
        bars.set_xscale("symlog", linthresh=_LINEAR, linscale=0.5)
        bars.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
        bars.set_xlabel("lives a deal that best responses gain, all seats together; equilibrium: 0", fontsize=8)
        bars.set_title(f"{name}: agents", fontsize=9)
        tried = [row for row in alike if row.what.startswith("threshold:")]
        cards = list(dict.fromkeys(row.card for row in tried))
        for _, num_seats, color in _lines(tried):
            ys = [row.value for row in tried if row.seats == num_seats]
            curve.plot(range(len(ys)), ys, marker=".", linewidth=1, color=color, label=f"{num_seats} seats")
        curve.set_xticks(range(len(cards)), cards, rotation=60)
        curve.set_yscale("log")
        curve.set_yticks(_TICKS[1:], [f"{tick:g}" for tick in _TICKS[1:]])
        curve.minorticks_off()
        curve.set_ylim(min(row.value for row in tried) * 0.8, max(row.value for row in tried) * 1.2)
        curve.set_title(f"{name}: all exchange below", fontsize=9)
        curve.legend(fontsize=7, frameon=False)
        _tidy(curve)
    return png(canvas)


def _information(rows: Sequence[Row]) -> bytes:
    """What not knowing costs all seats together, for each ruleset."""
    canvas, panels, names = _panels(rows)
    for panel, name in zip(panels[0], names, strict=True):
        found = [row for row in rows if row.rules == name and row.topic == "information" and row.position is None]
        _bars(panel, found, list(dict.fromkeys(row.what for row in found)))
        panel.set_title(name, fontsize=9)
    canvas.supxlabel("lives a deal that a best response loses without it, sum over the seats", fontsize=9)
    return png(canvas)


def _bars(panel: Any, rows: Sequence[Row], whats: Sequence[str]) -> None:
    """A group of bars for each of `whats`, in it one for each number of seats."""
    lines = _lines(rows)
    height = 0.8 / max(1, len(lines))
    for number, (_, num_seats, color) in enumerate(lines):
        by_what = {row.what: row.value for row in rows if row.seats == num_seats}
        ys = [whats.index(what) + (number + 0.5) * height - 0.4 for what in by_what]
        panel.barh(ys, list(by_what.values()), height, color=color, label=f"{num_seats} seats")
    panel.set_yticks(range(len(whats)), whats)
    panel.invert_yaxis()
    panel.legend(fontsize=7, frameon=False)
    _tidy(panel)


def _lines(rows: Sequence[Row]) -> list[tuple[float, int, Any]]:
    """For each number of seats how far its line is moved up, so that lines do not hide each other, and its colour."""
    from matplotlib import colormaps

    seats = list(dict.fromkeys(row.seats for row in rows))
    shades = colormaps["viridis"]
    last = max(1, len(seats) - 1)
    return [(0.06 * (n - last / 2), number, shades(0.9 * n / last)) for n, number in enumerate(seats)]


def _panels(rows: Sequence[Row]) -> tuple[Any, Any, list[str]]:
    """A panel for each ruleset, side by side."""
    names = list(dict.fromkeys(row.rules for row in rows))
    canvas = _canvas(1.2 + 3.6 * len(names), 3.6)
    return canvas, canvas.subplots(1, len(names), squeeze=False), names


def _canvas(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _finish(panel: Any, title: str, rows: Sequence[Row]) -> None:
    """Positions along the axis from the eldest to the dealer, and the legend."""
    last = max((row.position for row in rows if row.position is not None), default=0)
    panel.set_xticks(range(last + 1), ["dealer", *map(str, range(1, last + 1))])
    panel.invert_xaxis()
    panel.set_xlabel("seats that act later", fontsize=8)
    panel.set_title(title, fontsize=9)
    panel.legend(fontsize=7, frameon=False)
    _tidy(panel)


def _tidy(panel: Any) -> None:
    panel.tick_params(labelsize=7)
    panel.spines[["top", "right"]].set_visible(False)
