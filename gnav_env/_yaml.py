"""YAML 1.2 with line numbers, so that an error can say where it is and what would be right.

PyYAML reads ``no`` as False and ``1e6`` as a string; ruamel.yaml does neither and remembers lines.
"""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gnav_env.errors import YamlError

__all__ = ["line_of", "nearest", "parse_yaml", "read_yaml", "reject_unknown_keys"]


def read_yaml(path: str | Path) -> Any:
    """The mapping in the file at `path`; its parts know their lines (see `line_of`).

    Raises `YamlError` if the file is missing, is not YAML, or does not hold a mapping.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        folder = path.parent
        there = sorted(p.name for p in folder.glob("*.y*ml")) if folder.is_dir() else []
        hint = f"; that folder has {', '.join(there)}" if there else ""
        raise YamlError(f"{path}: there is no such file{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise YamlError(f"{path}: cannot be read as text: {error}") from None
    return parse_yaml(text, where=str(path))


def parse_yaml(text: str, *, where: str) -> Any:
    """The mapping in `text`, as `read_yaml` gives it; errors name `where` in place of a file."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        data = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise YamlError(f"{where}{line}: this is not YAML: {error.problem}") from None
    except YAMLError as error:
        raise YamlError(f"{where}: this is not YAML: {error}") from None
    if not isinstance(data, dict):
        what = "a list" if isinstance(data, list) else "nothing" if data is None else f"{data!r}"
        raise YamlError(f"{where}:1: a mapping was expected (`key: value` lines), not {what}")
    return data


def line_of(data: Any, keys: Iterable[Any]) -> int | None:
    """The line, from 1, of the value at `keys` in `data` from `read_yaml`; its nearest parent's if unknown."""
    line: int | None = None
    for key in keys:
        try:
            position = data.lc.key(key) if hasattr(data, "keys") else data.lc.item(key)
            line = position[0] + 1
            data = data[key]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line


def nearest(word: str, choices: Iterable[str]) -> str:
    """`` (did you mean 'tips'?)`` if one of `choices` is close to `word`, otherwise nothing.

    >>> nearest("tipz", ["tips", "stand"])
    " (did you mean 'tips'?)"
    """
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def reject_unknown_keys(data: Any, known: Iterable[str], where: str) -> None:
    """Raise `YamlError` for the first key of `data` that is not in `known`, with its line and the nearest right one."""
    known = list(known)
    for key in data:
        if key not in known:
            line = line_of(data, [key])
            at = f"{where}:{line}" if line else where
            raise YamlError(f"{at}: unknown key {key!r}{nearest(str(key), known)}; the keys are {', '.join(known)}")
