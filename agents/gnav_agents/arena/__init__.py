"""The arena: agents meet in tournaments and are ranked by how rarely they are eliminated.

plan.py says what a tournament is to be, fields.py and schedule.py who sits where in which block, play.py plays units
of blocks side by side and asking.py asks the agents, executors.py brings units to workers and store.py keeps them,
sums.py, bootstrap.py and figures.py turn entries into a `Summary` with intervals, ratings.py and metagame.py say what
follows from it, tables.py, plots.py and html.py show it. tournament.py joins them, comparison.py for two agents.

    >>> from gnav_agents.arena import run_tournament
    >>> result = run_tournament(["tips", "uniform"], seats=4, blocks=20, seed=1)
    >>> [row.agent for row in result.summary.leaderboard]
    ['tips', 'uniform']
"""

from gnav_agents.arena.plan import Plan, make_plan
from gnav_agents.arena.play import PlayedMatch
from gnav_agents.arena.summary import Estimate, Row, Summary, read_summary
from gnav_agents.arena.tournament import Result, play_in_folder, run_tournament

__all__ = [
    "Estimate",
    "Plan",
    "PlayedMatch",
    "Result",
    "Row",
    "Summary",
    "make_plan",
    "play_in_folder",
    "read_summary",
    "run_tournament",
]
