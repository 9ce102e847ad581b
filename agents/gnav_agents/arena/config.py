"""A tournament in a YAML file, as `gnav tournament FILE` reads it; options of the command come on top."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gnav_agents.arena.fields import MIXED
from gnav_agents.arena.plan import DEFAULT_BLOCKS, DEFAULT_GAINS, DEFAULT_TIME_LIMIT
from gnav_agents.sections import Section, validated
from gnav_env._yaml import read_yaml

__all__ = ["ArenaConfig", "read_config", "split_fields", "split_names", "split_numbers"]


def split_names(text: Any) -> Any:
    """The names in ``a,b,c``; what is no text is left alone."""
    return tuple(name.strip() for name in text.split(",")) if isinstance(text, str) else text


def split_numbers(numbers: Any) -> Any:
    """The numbers in ``2,6`` or in a single number; what is neither is left alone."""
    if isinstance(numbers, str):
        return tuple(int(part) if part.isdecimal() else part for part in split_names(numbers))
    return (numbers,) if isinstance(numbers, int) else numbers


def split_fields(text: Any) -> Any:
    """The fields in ``mixed,invasion=50`` with their numbers of blocks, None where none is said; lists too."""
    names = split_names(text)
    if not isinstance(names, (list, tuple)):
        return text
    fields: dict[str, Any] = {}
    for name in names:
        kind, sign, num_blocks = str(name).rpartition("=")
        kind, num_blocks = (kind.strip(), num_blocks.strip()) if sign else (str(name), "")
        if kind in fields:
            raise ValueError(f"field {kind} is listed twice")
        fields[kind] = int(num_blocks) if num_blocks.isdecimal() else num_blocks if sign else None
    return fields


_Blocks = Annotated[int, Field(ge=1, strict=True)]


class ArenaConfig(Section):
    """What `plan.make_plan` takes, but for what only a person at the keyboard may allow."""

    agents: Annotated[tuple[str, ...], BeforeValidator(split_names)]
    rules: str = "pagat"
    seats: Annotated[tuple[Annotated[int, Field(strict=True)], ...] | None, BeforeValidator(split_numbers)] = None
    """Numbers of seats; left out: 6, or the nearest that the ruleset allows."""
    fields: Annotated[dict[str, _Blocks | None], BeforeValidator(split_fields)] = {MIXED: None}
    """Kinds of fields, with numbers of blocks where `blocks` is not what is wanted."""
    blocks: int = Field(default=DEFAULT_BLOCKS, ge=1)
    seed: int = Field(default=0, ge=0, lt=2**63)
    time_limit: float = Field(default=DEFAULT_TIME_LIMIT, gt=0)
    gains: Literal["bound", "exact", "none"] = DEFAULT_GAINS


def read_config(path: Path | None, options: Mapping[str, tuple[str, Any]]) -> ArenaConfig:
    """The tournament in the file at `path`, if there is one, with `options` on top.

    `options` are by the names of the keys: the option as it was written, for errors, and its value (None: not given).
    Raises `YamlError` that names file and line, or the option, and what would have been right.
    """
    data = {} if path is None else read_yaml(path)
    origins: dict[tuple[str, ...], str] = {}
    for key, (option, value) in options.items():
        if value is not None:
            data[key] = value
            origins[key,] = option
    return validated(ArenaConfig, data, path or "gnav tournament", origins)
