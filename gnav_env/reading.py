"""Rulesets in YAML: read, with the line of each mistake, and written."""

from collections.abc import Mapping
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any

from gnav_env._yaml import line_of, nearest, read_yaml, reject_unknown_keys
from gnav_env.effects import Effect, Special
from gnav_env.errors import RulesError, YamlError
from gnav_env.rules import Rules

__all__ = ["read_rules", "rules_from_dict", "rules_to_yaml"]

_BY_RANK = ("deck", "effects", "from_stock", "when_exchanged", "loss", "names")
"""Options that map ranks to values. With `based_on` all but the deck are merged rank by rank."""


def rules_from_dict(data: Mapping[str, Any], named: Mapping[str, Rules], *, where: str = "rules") -> Rules:
    """The ruleset in `data`, either whole or as changes to one of `named` (``based_on: pagat``).

    With `based_on`, what is said rank by rank is merged rank by rank; all other keys replace the base's.
    Raises `YamlError`, with the line if `data` comes from `read_yaml`; `where` is the file's name.
    """
    known = [item.name for item in fields(Rules)]
    reject_unknown_keys(data, ["based_on", *known], where)
    values: dict[str, Any] = {}
    base_name = data.get("based_on")
    if base_name is not None:
        if not isinstance(base_name, str) or base_name not in named:
            raise YamlError(
                f"{_at(data, ['based_on'], where)}: unknown ruleset {base_name!r}"
                f"{nearest(str(base_name), named)}; named rulesets are {', '.join(named)}"
            )
        base = named[base_name]
        values = {item.name: getattr(base, item.name) for item in fields(base)}
        values.update(title="", source="")
    for key, value in data.items():
        if key == "based_on":
            continue
        try:
            values[key] = _read_value(key, value, values.get(key))
        except (RulesError, TypeError) as error:
            raise YamlError(f"{_at(data, [key], where)}: {error}") from None
    if "name" not in data:
        raise YamlError(f"{where}: a ruleset needs a name of its own: add `name: my_rules`")
    if "deck" not in values:
        raise YamlError(f"{where}: a ruleset needs a deck, or `based_on:` one of {', '.join(named)}")
    try:
        return Rules(**values)
    except RulesError as error:
        named_in_error = [key for key in data if str(error).startswith(str(key))]
        key = max(named_in_error, key=lambda key: len(str(key)), default=None)  # names, and not name
        raise YamlError(f"{_at(data, [key] if key else [], where)}: {error}") from None


def read_rules(path: str | Path, named: Mapping[str, Rules]) -> Rules:
    """The ruleset in the YAML file at `path`, which may build on one of `named`.

    Raises `YamlError` with path, line and what would be right.
    """
    return rules_from_dict(read_yaml(path), named, where=str(path))


def rules_to_yaml(rules: Rules, *, all_options: bool = True) -> str:
    """The ruleset as YAML text that `read_rules` reads; without `all_options` only what is not as usual."""
    from ruamel.yaml import YAML

    stream = StringIO()
    yaml = YAML(typ="rt")
    yaml.default_flow_style = None
    yaml.width = 100
    yaml.dump(rules.to_dict(all_options=all_options), stream)
    return stream.getvalue()


def _at(data: Any, keys: list[Any], where: str) -> str:
    line = line_of(data, keys)
    return f"{where}:{line}" if line else where


def _read_value(key: str, value: Any, base: Any) -> Any:
    """One field of `Rules` from its plain form; `base` is the value that `based_on` brought."""
    if key in _BY_RANK:
        if not isinstance(value, Mapping):
            raise RulesError(f"{key} must map ranks to values, not {value!r}")
        read = {str(rank): item for rank, item in value.items()}
        if key in ("effects", "from_stock"):
            takes = key == "from_stock"
            read = {rank: Effect.from_atoms([] if takes and item == "take" else item) for rank, item in read.items()}
        elif key in ("when_exchanged", "names"):
            read = {rank: item if isinstance(item, (list, dict)) else str(item) for rank, item in read.items()}
        return read if key == "deck" else {**(base or {}), **read}
    if key in ("specials", "immune") and not isinstance(value, (list, tuple)):
        raise RulesError(f"{key} must be a list, not {value!r}")
    if key == "specials":
        return tuple(Special.from_mapping(item) for item in value)
    if key == "immune":
        return tuple(str(rank) for rank in value)
    return value
