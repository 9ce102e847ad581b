"""A section of a YAML file as checked data; mistakes are told with their place and what would be right.

training/config.py and arena/config.py say which sections there are.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gnav_env._yaml import line_of, nearest
from gnav_env.errors import YamlError

__all__ = ["Section", "validated"]

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A part of the file: frozen, and strange keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def validated(kind: type[S], data: Any, path: str | Path, origins: Mapping[tuple[str, ...], str] | None = None) -> S:
    """The `kind` of section that `data` from `read_yaml` describes.

    Raises `YamlError` that names file and line, or, for keys in `origins`, where the value came from instead.
    """
    try:
        return kind.model_validate(_plain(data, kind))
    except ValidationError as error:
        mistakes = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
        raise YamlError(_sentence(kind, mistakes[0], data, path, origins or {})) from None


def _plain(data: Any, kind: Any = None) -> Any:
    """`data` without ruamel's types; what is empty in a section (`kind`) counts as left out."""
    if isinstance(data, Mapping):
        if not (isinstance(kind, type) and issubclass(kind, Section)):
            return {str(key): _plain(value) for key, value in data.items()}
        kinds = {name: field.annotation for name, field in kind.model_fields.items()}
        return {str(key): _plain(value, kinds.get(str(key))) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return data


def _sentence(
    kind: type[Section], error: Any, data: Any, path: str | Path, origins: Mapping[tuple[str, ...], str]
) -> str:
    """Where the mistake is, and what would be right."""
    keys: tuple[Any, ...] = error["loc"]
    name = ".".join(str(key) for key in keys)
    origin = next((text for at, text in origins.items() if at == keys[: len(at)]), None)
    line = line_of(data, keys)
    where = origin or (f"{path}:{line}" if line else f"{path}")
    if error["type"] == "extra_forbidden":
        known = _keys_at(kind, keys[:-1])
        return f"{where}: unknown key {name!r}{nearest(str(keys[-1]), known)}; the keys are {', '.join(known)}"
    if error["type"] == "missing":
        return f"{where}: the key {name!r} is missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "value_error":
        return f"{where}: {name + ': ' if name else ''}{message}"
    return f"{where}: {name} is {error['input']!r}: {message[:1].lower()}{message[1:]}"


def _keys_at(kind: type[Section], keys: Iterable[Any]) -> list[str]:
    """The keys of the section at `keys`."""
    section: Any = kind
    for key in keys:
        section = section.model_fields[key].annotation
    return list(section.model_fields)
