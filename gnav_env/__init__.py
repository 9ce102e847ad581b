"""Gnav, a card game of exchange and bluff, as a reinforcement-learning environment.

    >>> import gnav_env
    >>> table = gnav_env.Table("pagat", num_seats=3, seed=1)

PettingZoo finds the environment as ``gnav/gnav-v0``, Gymnasium as ``gnav/Gnav-v0``, once this package is imported.
"""
from gnav_env.rules import Rules
from gnav_env.table import Table
from gnav_env.variants import VARIANTS, get_rules
