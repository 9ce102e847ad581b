"""A ruleset explained to a person: each card, and what else one needs to know to play."""

from rich.table import Table as Grid

from gnav_env.cards import Language, display_name
from gnav_env.effects import TRADE, Effect
from gnav_env.rules import Rules

__all__ = ["explain_cards", "explain_rules"]


def explain_cards(rules: Rules, language: Language = "english") -> Grid:
    """What each card does when asked, turned from the stock, compared; cards that do the same share a row."""
    rows: list[tuple[list[str], tuple[str, str, str, str]]] = []
    for rank, copies in rules.deck.items():
        does = (
            str(copies),
            _asked(rules.effect(rank)),
            _turned(rules.effect(rank, from_stock=True)),
            _compared(rules, rank),
        )
        name = display_name(rank, language)
        if rows and rows[-1][1] == does:
            rows[-1][0].append(name)
        else:
            rows.append(([name], does))
    grid = Grid("card", "copies", "when asked", "from the stock", "at the showdown", show_edge=False)
    for names, does in rows:
        grid.add_row(", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]} … {names[-1]}", *does)
    return grid


def explain_rules(rules: Rules) -> list[str]:
    """The rest of the rules, in sentences."""
    said = [
        f"{rules.title or rules.name}: {_lives(rules.lives)} each, lost ones go to {_whom(rules.loss_to)}, "
        f"fines to {_whom(rules.fine_to)}.",
        "EXCHANGE asks the next seat for its card; the dealer, who acts last, turns the stock.",
        "At the showdown the lowest card loses a life; all that are tied lose.",
    ]
    if rules.challenged_matador_turn == "skip":
        said.append("A seat whose matador has answered a challenge has had its turn.")
    else:
        said.append("A seat whose matador has answered a challenge still gets its turn.")
    if rules.stand_requires == "matador":
        said.append("Only a matador lets you STAND, unless you cannot EXCHANGE.")
    if not rules.matador_may_be_offered:
        said.append("A matador may not be exchanged by its holder.")
    if rules.speech == "silent":
        said.append("A card that answers is not shown.")
    if rules.knock == "dealt" and rules.specials:
        said.append("Who is dealt a special card must knock.")
    said.append(f"The match ends after {rules.num_deals} deals." if rules.num_deals else "The last with lives wins.")
    return said


def _asked(effect: Effect) -> str:
    return "changes hands" if effect == TRADE else _answers(effect)


def _turned(effect: Effect) -> str:
    return "is taken" if effect == TRADE else _answers(effect).replace("goes on to the next", "turns the next card")


def _answers(effect: Effect) -> str:
    if effect.redirect:
        return "goes on to the next"
    said = ["refuses"]
    said += [f"challenger pays {effect.pay}"] if effect.pay else []
    said += ["trades undone"] if effect.undo == "all" else []
    said += ["deal stops"] if effect.stop else []
    return ", ".join(said)


def _compared(rules: Rules, rank: str) -> str:
    said: list[str] = []
    mine = sorted((special for special in rules.specials if special.rank == rank), key=lambda s: s.count)
    for number, special in enumerate(mine):
        more = " or more" if number == len(mine) - 1 and special.count < rules.deck[rank] else ""
        others = "loses, with the lowest of the rest" if special.others == "lowest" else "alone loses"
        sits = " and sits out a deal" if special.sit_out and rules.sit_out == "auto" else ""
        said.append(f"{special.count}{more}: who holds it {others}{sits}")
    if rules.loss.get(rank, 1) != 1:
        said.append(f"a loser with it pays {rules.loss[rank]}")
    return "; ".join(said)


def _lives(number: int) -> str:
    return f"{number} {'life' if number == 1 else 'lives'}"


def _whom(receiver: str) -> str:
    return {"pool": "the pool", "holder": "the holder of the card", "none": "nobody"}[receiver]
