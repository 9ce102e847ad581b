"""`Summary`: what a tournament found, as the data that summary.json holds and that every report is made of.

figures.py fills it in, report.py and html.py show it, `gnav leaderboard` reads it back. Its JSON schema is
docs/summary.schema.json, made from these classes.
"""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gnav_env.errors import GnavError

__all__ = [
    "DEFINITIONS",
    "LEVEL",
    "NUM_RESAMPLES",
    "STATISTICS",
    "SUMMARY",
    "Counts",
    "Curve",
    "Estimate",
    "FieldReport",
    "Gain",
    "Matrix",
    "Metagame",
    "Row",
    "RulesName",
    "Summary",
    "TournamentPlan",
    "read_summary",
]

SCHEMA = 3
"""Rises when the meaning or the names of what stands in the files change."""

SUMMARY = "summary.json"

LEVEL = 0.95
NUM_RESAMPLES = 2000

STATISTICS = (
    "relative_elimination_rate",
    "elimination_rate",
    "hazard",
    "placement",
    "win_share",
    "early_elimination",
    "loss_rate",
    "mean_deals",
)
"""What is told of every agent, in this order; the first one ranks. `DEFINITIONS` says what they are."""

DEFINITIONS = {
    "entry": "one seat of one match, played by one agent",
    "block": "one shoe (the decks of a match, keyed by seat) and its line-ups, each played once for every rotation "
    "over the seats (above 8 seats: 8 rotations, equally spaced). Sampled actions use luck keyed by shoe, seat and "
    "deal, so that agents who are compared meet the same luck. The block is the unit of analysis",
    "field": "mixed: all agents, so balanced that every pair meets equally often at every seat distance; "
    "reference:A: one candidate among copies of A; invasion: each agent so among copies of each other; self: a table "
    "of copies of one agent",
    "eliminated": "the seat lost its last life and others outlived it, or it forfeited; the last seats of a match are "
    "not eliminated when they fall together and share it, nor are seats that have lives when the match ends",
    "elimination_rate": "share of the agent's entries that were eliminated",
    "relative_elimination_rate": "seats x eliminations of the agent / eliminations of all seats of the same matches, "
    "both summed over the agent's entries: its elimination rate in units of its tables' mean rate; 1 is par, lower is "
    "better",
    "hazard": "eliminations for each 100 deals in which the agent had lives, up to its elimination",
    "placement": "mean over entries of 1 - (place - 1) / (seats - 1), where seats that fall together have the mean of "
    "their places; 1 is always first, 0 always last, 0.5 is par",
    "win_share": "mean over entries of 1 / (seats that share the first place), 0 for other places; 1 / seats is par",
    "early_elimination": "mean over entries of 1 / (seats that fell first together) if the seat was among the first of "
    "its table to be eliminated, otherwise 0; 1 / seats is par where somebody always is",
    "loss_rate": "lives paid, less lives received as fines, for each deal in which the agent had a card",
    "losses": "lives paid for each deal in which the agent had a card, by cause: lowest (at the showdown), or the rank "
    "of the card that lost or that took a fine",
    "mean_deals": "mean over entries of the deals in which the agent had a card",
    "survival": "Kaplan-Meier estimate of the share of entries not eliminated after so many deals; who was still there "
    "when the match was over never is, who was cut off is censored there",
    "outlive": "row against column, over all pairs of entries of the two in the same match: the share in which the row "
    "agent was placed before the column agent, a tie being half; 0.5 is par",
    "invasion": "row among columns: 1 - relative elimination rate of one row agent among seats - 1 copies of the "
    "column agent; 0 is par, higher is better for the invader",
    "rating": "Plackett-Luce strengths fitted to the places of all matches at once (ties by Efron's rule), in Elo "
    "points: under the model a lead of 100 means odds of 1.78 to 1 to be placed before the other. The model fits only "
    "roughly; the outlive matrix has the shares themselves. Without `uniform` the mean of the agents that have a "
    "rating is 0; an agent that nothing ties to the others has none",
    "forfeits": "entries in which the agent failed, ran out of time or acted illegally: placed last, eliminated in "
    "that deal; a player who stands keeps the seat going for the others",
    "gain": "best-response gain: lives a deal that a seat would save by the best response to a table of copies of the "
    "agent, mean over the seats in the order of action, everybody with full lives. bound: measured in held-out deals "
    "for a reply that was learned from others, so a lower bound, with a 95 % interval of its own (normal, over deals); "
    "0 is shown where it is less, since nobody has to depart. exact: the best response itself, and the gain is the "
    "agent's exploitability",
    "interval": "95 % bootstrap percentile interval over blocks, 2000 resamples, the percentiles widened for few "
    "blocks (Hesterberg, The American Statistician 69, 2015); above 512 blocks they are pooled in 512 groups of "
    "neighbours, equal in size give or take one",
    "rank": "by relative_elimination_rate; rank_low to rank_high is where the rank lies in as many resamples",
    "standing": "best: the first; behind: the difference to the first is beyond doubt at 5 % after Holm's correction "
    "for all pairs of agents, by Student's t with the bootstrap's standard error; level: it is not",
    "alpha_rank": "share of the time that a population would be found playing each agent, if mutants take over by how "
    "they invade; mean over 100 resamples of the invasion matrix. Nash averaging likewise: the maximum-entropy "
    "equilibrium of the antisymmetric part of that matrix",
    "aggregate": "with several numbers of seats a figure is the mean over them, each with the same weight; agents "
    "differ more at small tables, which therefore tell more in it",
}
"""What the words of a report mean."""


class _Part(BaseModel):
    """Every part of a summary: nothing else may stand in it, and it stays as it was made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Estimate(_Part):
    """A figure with its 95 % interval; null where there is none (no denominator, a single block)."""

    value: float | None
    low: float | None
    high: float | None


class Gain(_Part):
    """What a best response gains over an agent among its like, in lives a deal; see `DEFINITIONS`."""

    agent: str
    num_seats: int = Field(description="0: the mean over the numbers of seats")
    how: Literal["exact", "bound", "none"]
    value: float | None = Field(default=None, description="of a bound: may be below 0, which says nothing")
    low: float | None = Field(default=None, description="of a bound: its 95 % interval")
    high: float | None = None
    num_deals: int | None = Field(default=None, description="held-out deals of a bound, and those learned from")
    reason: str = Field(default="", description="why there is none")


class Row(_Part):
    """One agent; `DEFINITIONS` says what the figures mean."""

    rank: int
    rank_low: int
    rank_high: int
    standing: str = Field(description="best, level or behind")
    agent: str
    entries: int
    forfeits: int
    figures: dict[str, Estimate] = Field(description="by the names of STATISTICS")
    losses: dict[str, Estimate] = Field(description="lives paid a deal by cause")
    rating: Estimate | None = Field(description="Elo points; null where the field says nothing of it")
    gain: Gain | None = Field(default=None, description="null if gains were not wanted")


class FieldReport(_Part):
    """One field at one number of seats."""

    field: str
    num_seats: int
    num_blocks: int
    num_matches: int
    pair_spread: int | None = Field(description="mixed field: most meetings of a pair at a seat distance, less fewest")
    rows: tuple[Row, ...] = Field(description="best first")


class Curve(_Part):
    """A Kaplan-Meier curve of one agent in the first field; lists run over `deals`."""

    num_seats: int
    agent: str
    deals: tuple[int, ...] = Field(description="1, 2, 3 ...")
    alive: tuple[float, ...] = Field(description="share of entries not eliminated after so many deals")
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_risk: tuple[int, ...] = Field(description="entries with lives as the deal began")


class Matrix(_Part):
    """Row agent against column agent, both in the order of `agents`, the leaderboard's."""

    agents: tuple[str, ...]
    cells: tuple[tuple[Estimate, ...], ...]


class Metagame(_Part):
    """What the invasion matrix says as a game between agents."""

    alpha_rank: dict[str, float] = Field(description="mass of the stationary distribution, mean over resamples")
    nash: dict[str, float] = Field(description="maximum-entropy equilibrium of Nash averaging, mean over resamples")
    nash_value: dict[str, float] = Field(description="what the agent gains against that mixture")
    cycle: tuple[str, ...] = Field(
        description="agents of which each invades the next one better, beyond doubt; or none"
    )


class Counts(_Part):
    """How much was played."""

    matches: int
    cut_matches: int = Field(description="cut off at the environment's limit, survivors placed by lives")
    decisions: int
    forfeits: int


class RulesName(_Part):
    """A ruleset."""

    name: str
    hash: str


class TournamentPlan(_Part):
    """What was to be played: two tournaments with the same plan have the same results."""

    rules: RulesName
    agents: tuple[str, ...]
    digests: dict[str, str] = Field(description="SHA-256 of the file of each agent that comes from one")
    seats: tuple[int, ...]
    fields: dict[str, int] = Field(description="field -> number of blocks; the first one makes the leaderboard")
    seed: int
    time_limit: float = Field(description="seconds that a foreign agent has for a decision")


class Summary(_Part):
    """summary.json."""

    schema_version: int = SCHEMA
    command: str
    plan: TournamentPlan
    versions: dict[str, str]
    counts: Counts
    rating_zero: str = Field(description="the agent whose rating is 0, or `mean`")
    leaderboard: tuple[Row, ...] = Field(description="the first field, mean over the numbers of seats, best first")
    fields: tuple[FieldReport, ...]
    survival: tuple[Curve, ...]
    outlive: Matrix | None = Field(description="first field, mean over the numbers of seats")
    invasion: Matrix | None = Field(description="null unless the field `invasion` was played")
    metagame: Metagame | None
    definitions: dict[str, str] = DEFINITIONS

    def to_json(self) -> str:
        """As it is written."""
        return json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def read_summary(path: str | Path) -> Summary:
    """The summary in the file at `path`, or in `summary.json` of the folder there; `GnavError` if there is none."""
    path = Path(path)
    if path.is_dir():
        path = path / SUMMARY
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and data.get("schema_version", SCHEMA) != SCHEMA:
            raise GnavError(f"{path}: has schema {data['schema_version']}, this Gnav reads schema {SCHEMA}")
        return Summary.model_validate(data)
    except FileNotFoundError:
        raise GnavError(f"{path}: there is no such file; a finished tournament leaves one in its folder") from None
    except (OSError, UnicodeDecodeError, ValidationError, json.JSONDecodeError) as error:
        first = str(error).splitlines()[0]
        raise GnavError(f"{path}: is not the summary of a tournament: {first}") from None
