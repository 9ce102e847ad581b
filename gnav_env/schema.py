"""A JSON schema of the YAML files that reading.py reads, for editors: they complete keys and mark mistakes in writing.

It is made from `Rules`: an option's description is the docstring under its field. What it cannot say (whether the
deck has a rank of that name) is left to the reader.
"""

import ast
import inspect
import json
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import Any

from gnav_env.compiled import MAX_CARDS, MAX_RANKS, MAX_SEATS
from gnav_env.effects import ATOM_PATTERN, SPECIAL_ROWS, Special
from gnav_env.rules import Rules, option_choices, usual_value

__all__ = ["field_docs", "rules_schema"]

_PUNCTUATION = r"\s!-,./:-@\[-^`{-~"
_NAME = f"^[^{_PUNCTUATION}]+$"
_RANK = f"^[^_{_PUNCTUATION}-]+$"
_KEY = {"type": ["string", "integer"]}
"""A rank as a value: YAML reads ``12`` as a number."""


def _integer(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


def _by_rank(value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "propertyNames": {"pattern": _RANK}, "additionalProperties": value, **more}


def _needs(pattern: str, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"contains": {"pattern": pattern}}, "then": then}


_ATOMS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "pattern": f"^({ATOM_PATTERN})$"},
    "uniqueItems": True,
    "allOf": [
        _needs("^(redirect|bargain)$", {"maxItems": 1}),
        _needs("^(pay|undo|stop)", {"contains": {"const": "refuse"}}),
    ],
}
_SPECIAL: dict[str, Any] = {
    "type": "object",
    "description": inspect.cleandoc(Special.__doc__ or ""),
    "properties": {
        "rank": _KEY,
        "count": _integer(1, SPECIAL_ROWS),
        "holder": {"type": "string", "pattern": rf"^(lose|rank_above +[^_{_PUNCTUATION}-]+)$"},
        "others": {"enum": ["lowest", "none"]},
        "bonus": _integer(0, 10),
        "sit_out": {"type": "boolean"},
    },
    "required": ["rank", "count"],
    "additionalProperties": False,
}
_FIELDS: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "pattern": _NAME},
    "deck": _by_rank(_integer(0, MAX_CARDS), minProperties=2, maxProperties=MAX_RANKS),
    "effects": _by_rank(_ATOMS),
    "from_stock": _by_rank({"anyOf": [{"const": "take"}, _ATOMS]}),
    "when_exchanged": _by_rank(_KEY),
    "loss": _by_rank(_integer(0, 100)),
    "specials": {"type": "array", "items": _SPECIAL},
    "immune": {"type": "array", "items": _KEY},
    "lives": _integer(1, 100),
    "ante": _integer(0, 100),
    "min_players": _integer(2, MAX_SEATS),
    "max_players": _integer(2, MAX_SEATS),
    "matador_may_be_offered": {"type": "boolean"},
    "first_dealer": {"anyOf": [{"const": "random"}, _integer(0, MAX_SEATS - 1)]},
    "end": {"type": "string", "pattern": "^(last_survivor|deals:0*([1-9][0-9]{0,3}|10000))$"},
    "names": _by_rank(_KEY),
}
"""What the values of the options may be, where they are neither one of a few words nor any text."""


@cache
def field_docs(cls: type) -> dict[str, str]:
    """The docstring under each field of a dataclass that has one, on one line, read from its source."""
    tree = ast.parse(inspect.cleandoc(inspect.getsource(cls)))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef))
    docs: dict[str, str] = {}
    for item, after in pairwise(body):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and isinstance(after, ast.Expr):
            text = after.value.value if isinstance(after.value, ast.Constant) else None
            if isinstance(text, str):
                docs[item.target.id] = " ".join(text.replace("``", "`").split())
    return docs


def rules_schema(named: Iterable[str]) -> dict[str, Any]:
    """The schema (JSON Schema, draft 2020-12) of a ruleset in YAML that may build on one of `named`."""
    based_on = {
        "enum": list(named),
        "description": "A named ruleset that this one builds on. What is said rank by rank, but for the deck, is "
        "merged rank by rank; any other key takes the place of the base's.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A ruleset of Gnav or a relative",
        "description": "Either whole, with a deck, or as changes to a named ruleset (based_on).",
        "type": "object",
        "properties": {"based_on": based_on, **{item.name: _option(item.name) for item in fields(Rules)}},
        "required": ["name"],
        "anyOf": [{"required": ["deck"]}, {"required": ["based_on"]}],
        "additionalProperties": False,
    }


def _option(name: str) -> dict[str, Any]:
    """The schema of one option."""
    choices = option_choices().get(name)
    schema = {"enum": list(choices)} if choices else _FIELDS.get(name, {"type": "string"})
    usual = usual_value(name)
    says = "" if usual in (..., "", {}, ()) else f" Usually: {usual if isinstance(usual, str) else json.dumps(usual)}."
    if name == "specials":
        docs = field_docs(Special)
        items = {
            key: {**value, "description": docs[key]} if key in docs else value
            for key, value in _SPECIAL["properties"].items()
        }
        schema = {**schema, "items": {**_SPECIAL, "properties": items}}
    return {"description": field_docs(Rules)[name] + says, **schema}
