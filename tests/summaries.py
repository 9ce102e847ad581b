"""Plausible summaries of tournaments that nobody played, for the tests of what is made of a `Summary`."""

from collections.abc import Sequence

import numpy as np

from gnav_agents.arena.summary import (
    STATISTICS,
    Counts,
    Curve,
    Estimate,
    FieldReport,
    Gain,
    Matrix,
    Metagame,
    Row,
    RulesName,
    Summary,
    TournamentPlan,
)

ZOO = (
    "counting",
    "runs/quickstart/best",
    "tips",
    "threshold:III",
    "threshold:IV",
    "threshold:V",
    "threshold:VI",
    "threshold:II",
    "threshold:VII",
    "threshold:VIII",
    "stand",
    "uniform",
    "exchange",
)
TRICKY = (
    "runs/a-very-long-name-of-an-experiment/with-seed-1234567890/checkpoints/best",
    "den:Fox[bold]</b>&co<script>",
    "den:pipe|and`tick$x_1$",
    "tips",
)
CAUSES = {"lowest": 0.8, "fool": 0.1, "dragon": 0.06, "cat": 0.04}
NOTHING = Estimate(value=None, low=None, high=None)


def make_summary(
    agents: Sequence[str] = ZOO,
    *,
    seats: Sequence[int] = (6,),
    has_invasion: bool = False,
    has_cycle: bool = False,
    has_intervals: bool = True,
    num_level: int = 0,
    forfeits: int = 0,
    num_blocks: int = 16_000,
) -> Summary:
    """A tournament that `agents` left in this order, `num_level` of them level with the first.

    Without intervals it had a single block; `forfeits` are the last agent's.
    """
    width = 0.004 if has_intervals else None
    fields = {"mixed": num_blocks} | ({"invasion": num_blocks // 10} if has_invasion else {})
    by_seats = [
        _field("mixed", n, blocks, _rows(agents, n, width, num_level, forfeits))
        for n in seats
        for blocks in [num_blocks]
    ]
    invaders = [
        _field("invasion", n, fields["invasion"], _rows(agents, n, width, num_level, 0, is_rated=False))
        for n in seats
        if has_invasion
    ]
    return Summary(
        command=f"gnav tournament --agents '{','.join(agents)}' --seats {','.join(map(str, seats))}",
        plan=TournamentPlan(
            rules=RulesName(name="pagat", hash="0123456789abcdef"),
            agents=tuple(agents),
            digests={agent: "5e" * 32 for agent in agents if agent.startswith("runs/")},
            seats=tuple(seats),
            fields=fields,
            seed=0,
            time_limit=10.0,
        ),
        versions={"gnav": "0.1.0", "numpy": "2.3.0"},
        counts=Counts(
            matches=sum(field.num_matches for field in (*by_seats, *invaders)),
            cut_matches=0,
            decisions=123_456_789,
            forfeits=forfeits,
        ),
        rating_zero="uniform" if "uniform" in agents else "mean",
        leaderboard=_rows(agents, seats[0], width, num_level, forfeits),
        fields=(*by_seats, *invaders),
        survival=tuple(_curve(agent, place, n) for n in seats for place, agent in enumerate(agents)),
        outlive=_matrix(agents, 0.5, 0.01),
        invasion=_matrix(agents, 0.0, 0.02) if has_invasion else None,
        metagame=_metagame(agents, has_cycle) if has_invasion else None,
    )


def _field(name: str, num_seats: int, num_blocks: int, rows: tuple[Row, ...]) -> FieldReport:
    return FieldReport(
        field=name,
        num_seats=num_seats,
        num_blocks=num_blocks,
        num_matches=num_blocks * num_seats,
        pair_spread=0 if name == "mixed" else None,
        rows=rows,
    )


def _around(value: float, width: float | None) -> Estimate:
    value = round(value, 6)
    if width is None:
        return Estimate(value=value, low=None, high=None)
    return Estimate(value=value, low=round(value - width, 6), high=round(value + width, 6))


def _rows(
    agents: Sequence[str],
    num_seats: int,
    width: float | None,
    num_level: int,
    forfeits: int,
    *,
    is_rated: bool = True,
) -> tuple[Row, ...]:
    rows: list[Row] = []
    for place, agent in enumerate(agents):
        rate = 0.91 + 0.27 * (place / max(len(agents) - 1, 1)) ** 1.5
        values = dict.fromkeys(STATISTICS, 1.0) | {
            "relative_elimination_rate": rate,
            "elimination_rate": min(0.99, rate * (num_seats - 1) / num_seats),
            "hazard": 4 + 3 * rate,
            "placement": 1.25 - 0.7 * rate,
            "win_share": max(0.02, 1.2 - rate) / 2,
            "early_elimination": rate / 7,
            "loss_rate": 0.3 * rate,
            "mean_deals": 16 / rate,
        }
        rows.append(
            Row(
                rank=place + 1,
                rank_low=max(1, place),
                rank_high=min(len(agents), place + 2),
                standing="best" if place == 0 else "level" if place <= num_level else "behind",
                agent=agent,
                entries=96_000,
                forfeits=forfeits if place == len(agents) - 1 else 0,
                figures={name: _around(value, width) for name, value in values.items()},
                losses={cause: _around(0.3 * rate * share, width) for cause, share in CAUSES.items()},
                rating=_around(1500 * (1.2 - rate), 6) if is_rated else None,
                gain=_gain(agent, place, num_seats, width),
            )
        )
    return tuple(rows)


def _gain(agent: str, place: int, num_seats: int, width: float | None) -> Gain:
    """The first agent's is exact, the second one's says nothing, the fourth has failed."""
    if place == 3:
        return Gain(agent=agent, num_seats=num_seats, how="none", reason=f"agent {agent} failed: it is <b>ill</b>")
    value = -0.001 if place == 1 else 0.01 * (place + 1)
    if place == 0 or width is None:
        return Gain(agent=agent, num_seats=num_seats, how="exact", value=value)
    low, high = round(value - width, 6), round(value + width, 6)
    return Gain(agent=agent, num_seats=num_seats, how="bound", value=value, low=low, high=high, num_deals=10_000)


def _curve(agent: str, place: int, num_seats: int) -> Curve:
    deals = np.arange(1, 4 + 6 * num_seats)
    scale = 2.5 * num_seats / (1 + 0.04 * place)
    alive = 1 / num_seats + (1 - 1 / num_seats) * np.exp(-((deals / scale) ** 2.2))
    at_risk = 96_000 * np.exp(-((deals / scale) ** 3))
    return Curve(
        num_seats=num_seats,
        agent=agent,
        deals=tuple(deals.tolist()),
        alive=tuple(alive.round(6).tolist()),
        low=tuple((alive - 0.01).round(6).tolist()),
        high=tuple((alive + 0.01).round(6).tolist()),
        at_risk=tuple(at_risk.astype(int).tolist()),
    )


def _matrix(agents: Sequence[str], par: float, width: float) -> Matrix:
    """The better a row's place the better it does, but for agents who meet themselves and two who never met."""
    cells = [
        [NOTHING if row == column else _around(par + 0.02 * (column - row), width) for column in range(len(agents))]
        for row in range(len(agents))
    ]
    if len(agents) > 3:
        cells[2][3] = cells[3][2] = NOTHING
    return Matrix(agents=tuple(agents), cells=tuple(map(tuple, cells)))


def _metagame(agents: Sequence[str], has_cycle: bool) -> Metagame:
    weights = np.exp(-np.arange(len(agents)))
    weights = (weights / weights.sum()).round(6)
    return Metagame(
        alpha_rank=dict(zip(agents, weights.tolist(), strict=True)),
        nash={agent: float(place == 0) for place, agent in enumerate(agents)},
        nash_value={agent: round(-0.02 * place, 6) for place, agent in enumerate(agents)},
        cycle=tuple(agents[:3]) if has_cycle else (),
    )
