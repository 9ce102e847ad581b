"""What reports and agents are written with: files that are whole or not there, CSV and JSON that repeat exactly."""

import csv
import importlib.metadata
import importlib.util
import io
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnav_env.errors import GnavError
from gnav_env.observation import OBSERVATION_VERSION

__all__ = ["csv_text", "json_text", "require", "rounded", "versions", "write_files"]

_DIGITS = 6


def require(extra: str, *packages: str) -> None:
    """Raise `GnavError` with the extra of ours that brings them if one of `packages` is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise GnavError(f'this needs {package}, which is not installed: pip install "gnav[{extra}]"')


def write_files(folder: str | Path, contents: Mapping[str, bytes]) -> None:
    """The files `contents` are in `folder`, all of them or, with a `GnavError`, none.

    Everything is written beside its place before anything is moved there.
    """
    folder = Path(folder)
    waiting = {name: folder / f".{name}.new" for name in contents}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            with waiting[name].open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for name, path in waiting.items():
            if (folder / name).exists():
                shutil.copymode(folder / name, path)
            path.replace(folder / name)
    except OSError as error:
        for path in waiting.values():
            if path.exists():
                path.unlink()
        raise GnavError(f"{folder}: cannot be written to: {error.strerror or error}") from None


def rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for CSV and JSON: floats rounded to six digits, None for NaN."""
    return {
        name: (None if np.isnan(value) else round(value, _DIGITS)) if isinstance(value, float) else value
        for name, value in row.items()
    }


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """`rows`, one or more with the same keys, as CSV with a line for the names."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rounded(row) for row in rows)
    return stream.getvalue()


def json_text(data: Mapping[str, Any]) -> str:
    """`data` as JSON for people too."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def versions() -> dict[str, str]:
    """The versions of what a result depends on."""
    found = {"observation": str(OBSERVATION_VERSION), "python": platform.python_version()}
    for package in ("gnav", "numba", "numpy", "scipy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
