"""The compiled form of a ruleset: one record that kernels read. `Rules.compiled` (rules.py) makes it."""

import numpy as np

from gnav_env.effects import SPECIAL_ROWS

__all__ = ["MAX_CARDS", "MAX_RANKS", "MAX_SEATS", "RULES"]

MAX_SEATS = 51
MAX_CARDS = 84
MAX_RANKS = 24

TO_POOL, TO_HOLDER, TO_NOBODY = 0, 1, 2
"""Where lives go."""
TIED_ALL, TIED_FIRST, TIED_UNIQUE, TIED_UNEQUAL = 0, 1, 2, 3
"""Who loses of those that are tied for lowest."""
ENDS_AT_ONCE, COMPARED, FINISHES = 0, 1, 2
"""What a seat that falls in mid-deal means: its card is dead and one seat left ends the match; its card is compared
all the same; its card is dead and the deal is played to its end."""
PLAY_OFF, JOINT, CARRY_OVER, ALL_REENTER = 0, 1, 2, 3
"""What follows when the last seats fall together."""

NOT_COMPARED = -1
"""The height of a card that is out of the comparison."""

RULES = np.dtype(
    (
        np.record,
        [
            ("num_cards", np.int16),
            ("num_ranks", np.int16),
            ("num_redirecting", np.int16),  # redirecting cards in the deck
            ("per_rank", np.float32),  # 1 / ranks, 1 / (ranks - 1), 1 / lives, to scale observations
            ("per_step", np.float32),
            ("per_life", np.float32),
            ("deck", np.int8, (MAX_CARDS,)),  # ranks of the sorted deck, lowest first
            ("copies", np.int8, (MAX_RANKS,)),  # by rank, as all that follow; rank 0 is the lowest
            ("cards_below", np.int8, (MAX_RANKS,)),  # cards of lower ranks in the deck
            ("matadors_in_deck", np.int8),
            ("asked", np.int16, (MAX_RANKS,)),  # effect bits when asked by a seat
            ("asked_fine", np.int8, (MAX_RANKS,)),
            ("turned", np.int16, (MAX_RANKS,)),  # effect bits when turned from the stock
            ("turned_fine", np.int8, (MAX_RANKS,)),
            ("loss", np.int8, (MAX_RANKS,)),
            ("matador", np.int8, (MAX_RANKS,)),
            ("when_exchanged", np.int8, (MAX_RANKS,)),  # the rank that it is from then on, mostly itself
            ("dealt_as", np.int8, (MAX_RANKS,)),  # the rank in the deck that it is, mostly itself
            ("height", np.int8, (MAX_RANKS,)),  # as what it is compared, in half ranks, or NOT_COMPARED
            ("special", np.int8, (MAX_RANKS,)),  # 1 if the rank is not simply ranked at the showdown
            ("special_loses", np.int8, (MAX_RANKS, SPECIAL_ROWS)),  # by rank and number of holders - 1
            ("special_height", np.int8, (MAX_RANKS, SPECIAL_ROWS)),  # ... instead of `height`
            ("special_spares", np.int8, (MAX_RANKS, SPECIAL_ROWS)),  # 1: the others lose nothing
            ("special_bonus", np.int8, (MAX_RANKS, SPECIAL_ROWS)),  # lives that the holder wins
            ("special_sits_out", np.int8, (MAX_RANKS, SPECIAL_ROWS)),
            ("counts_dealt", np.int8),  # specials are counted as dealt, not at the showdown
            ("lives", np.int16),
            ("ante", np.int16),
            ("direction", np.int8),  # from a seat to the next: 1 clockwise, -1
            ("skips", np.int8),  # a seat whose card answered has had its turn
            ("stand_needs_matador", np.int8),
            ("matador_stays", np.int8),  # a matador may not be offered
            ("fine_to", np.int8),
            ("loss_to", np.int8),
            ("mid_deal_out", np.int8),
            ("ties", np.int8),
            ("all_out", np.int8),
            ("keeps_rest", np.int8),  # deals go on from the rest of the deck until it is too short
            ("heals", np.int8),  # a deal survived gives all lost lives back
            ("spoken", np.int8),  # the face of a card that answers is public
            ("knocks", np.int8),  # a seat dealt a special rank knocks
            ("knock_tells", np.int8),  # ... and there is just one such rank, so that a knock tells the card
            ("num_deals", np.int16),  # the match ends after so many; 0: with the last survivor
        ],
    )
)
"""The compiled form of `Rules`: one record, read by kernels."""
