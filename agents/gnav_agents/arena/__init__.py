"""The arena: agents meet in tournaments and are ranked by how rarely they are eliminated.

setup.py says what a tournament is to be, schedule.py who sits where in which block, play.py plays units of
blocks side by side, statistics.py turns the entries into figures with intervals, tournament.py joins them,
and report.py shows and writes what came of it.

    >>> from gnav_agents.arena import run_tournament
    >>> result = run_tournament(["tips", "uniform"], num_seats=4, num_blocks=20, seed=1)
    >>> [row.agent for row in result.rows]
    ['tips', 'uniform']
"""

from gnav_agents.arena.play import PlayedMatch
from gnav_agents.arena.statistics import Estimate, Row
from gnav_agents.arena.tournament import Result, run_tournament

__all__ = ["Estimate", "PlayedMatch", "Result", "Row", "run_tournament"]
