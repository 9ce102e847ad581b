"""Gnav, a card game of exchange and bluff, as a reinforcement-learning environment.

    >>> import gnav_env, pettingzoo
    >>> env = pettingzoo.make("aec", "gnav/gnav-v0", num_seats=6)

Importing this package makes the environments known: ``gnav/gnav-v0`` to PettingZoo, ``gnav/Gnav-v0`` to Gymnasium.
`Table` is one match to look at and play, `Tables` many at once, `Rules` a ruleset as data.
"""

import gymnasium
import pettingzoo

from gnav_env.effects import Effect, Special
from gnav_env.errors import GnavError, IllegalAction, RulesError, YamlError
from gnav_env.rules import Rules
from gnav_env.state import EXCHANGE, STAND
from gnav_env.table import Table
from gnav_env.variants import VARIANTS, get_rules
from gnav_env.vector import Tables

__all__ = [
    "EXCHANGE",
    "STAND",
    "VARIANTS",
    "Effect",
    "GnavError",
    "IllegalAction",
    "Rules",
    "RulesError",
    "Special",
    "Table",
    "Tables",
    "YamlError",
    "get_rules",
]

if "gnav/gnav-v0" not in pettingzoo.aec_registry:
    pettingzoo.register("aec", "gnav/gnav-v0", "gnav_env.aec:env")
if "gnav/Gnav-v0" not in gymnasium.registry:
    gymnasium.register("gnav/Gnav-v0", "gnav_env.single:GnavSingle", vector_entry_point="gnav_env.single:GnavVector")
