"""The pictures of the studies. matplotlib is imported only here, when one is drawn."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnav_agents.studies.claims import Figure

__all__ = ["length_picture", "png", "tips_picture"]

_COLUMNS = 4


def length_picture(rows: Sequence[Mapping[str, Any]]) -> bytes | None:
    """A PNG: deals by seats with bands of 50 and 90 % of the matches, a panel for each ruleset.

    None without matplotlib.
    """
    try:
        from matplotlib.figure import Figure as Canvas
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        return None
    names = list(dict.fromkeys(row["rules"] for row in rows))
    num_columns = min(_COLUMNS, len(names))
    num_lines = -(-len(names) // num_columns)
    canvas = Canvas(figsize=(1 + 2.4 * num_columns, 0.8 + 1.9 * num_lines), layout="constrained")
    panels: Any = canvas.subplots(num_lines, num_columns, squeeze=False)
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for name, panel in zip(names, panels.flat, strict=False):
        alike = [row for row in rows if row["rules"] == name]
        seats = [row["seats"] for row in alike]
        for low, high, alpha in (("q05", "q95", 0.2), ("q25", "q75", 0.3)):
            ends = ([row[low] for row in alike], [row[high] for row in alike])
            panel.fill_between(seats, *ends, color="tab:blue", alpha=alpha, linewidth=0)
        panel.plot(seats, [row["q50"] for row in alike], color="tab:blue", marker=".", linewidth=1)
        cut = [row for row in alike if row["cut"]]
        panel.plot([row["seats"] for row in cut], [row["q50"] for row in cut], "x", color="tab:red")
        panel.set_ylim(bottom=0)
        panel.set_title(name, fontsize=9)
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    canvas.supxlabel("seats", fontsize=9)
    canvas.supylabel("deals a match: median, 50 and 90 % of the matches", fontsize=9)
    return png(canvas)


def tips_picture(figures: Sequence[Figure]) -> bytes | None:
    """A PNG: what EXCHANGE gains over STAND by card and position, a line of panels for each ruleset.

    None without matplotlib, or if no choice was found.
    """
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        return None
    gains = [f for f in figures if f.figure == "gain of EXCHANGE" and f.position is not None]
    if not gains:
        return None
    names = list(dict.fromkeys(figure.rules for figure in gains))
    seats = list(dict.fromkeys(figure.seats for figure in gains))
    canvas = Canvas(figsize=(1.5 + 2.2 * len(seats), 0.6 + 3.4 * len(names)), layout="constrained")
    panels: Any = canvas.subplots(len(names), len(seats), squeeze=False)
    shown: Any = None
    for line, name in enumerate(names):
        cards = list(dict.fromkeys(figure.card for figure in gains if figure.rules == name))
        for panel, num_seats in zip(panels[line], seats, strict=True):
            values = np.full((len(cards), num_seats), np.nan)
            for figure in gains:
                if figure.rules == name and figure.seats == num_seats and figure.position is not None:
                    values[cards.index(figure.card), num_seats - 1 - figure.position] = figure.estimate.value
            if np.isnan(values).all():
                panel.set_visible(False)
                continue
            shown = panel.imshow(values, cmap="RdBu", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
            panel.set_title(f"{name}, {num_seats} seats", fontsize=8)
            panel.set_xticks([0, num_seats - 1], ["eldest", "dealer"], fontsize=7)
            panel.set_yticks(range(len(cards)), cards if panel is panels[line][0] else [""] * len(cards), fontsize=7)
    bar = canvas.colorbar(shown, ax=panels, shrink=0.6)
    bar.set_label("lives that EXCHANGE gains over STAND", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return png(canvas)


def png(canvas: Any) -> bytes:
    """The picture with a palette, which takes a third of the space and looks the same."""
    from PIL import Image

    drawn, picture = io.BytesIO(), io.BytesIO()
    canvas.savefig(drawn, format="png", dpi=90, metadata={"Software": None})
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(256).save(picture, format="png", optimize=True)
    return picture.getvalue()
