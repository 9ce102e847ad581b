"""`kernel`, the one door to numba: flags, and a cache that knows when any source has changed.

Every compiled function of the project is marked ``@kernel``. numba's own cache looks at the file that holds a
function and at no other (numba issue 1833), so a kernel that calls a kernel of another file can come back stale.
Here the cache folder is named after the contents of all sources of the package, and after whatever else changes
machine code without numba's notice (bounds checks).

With ``NUMBA_DISABLE_JIT=1`` a kernel is the plain Python function. It computes the same bytes, slowly.
"""

import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

__all__ = ["IS_COMPILED", "cache_folder", "cache_is_cold", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

IS_COMPILED: bool = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def _cache_root() -> Path:
    """The folder that holds all our numba caches: `GNAV_CACHE_DIR`, or the user's cache folder."""
    chosen = os.environ.get("GNAV_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "gnav" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gnav"


@cache
def _source_key(package_folder: Path) -> str:
    digest = hashlib.sha256()
    home = Path(__file__).parent
    for folder in sorted({package_folder, home}):
        for source in sorted(folder.rglob("*.py")):
            digest.update(source.name.encode())
            digest.update(source.read_bytes())
    bounds = os.environ.get("NUMBA_BOUNDSCHECK", "")
    digest.update(f"numba {numba.__version__} numpy {np.__version__} bounds {bounds}".encode())
    return digest.hexdigest()[:16]


def cache_folder(package_folder: Path | None = None) -> Path:
    """The cache folder for the kernels of a package (default: this one). It need not exist."""
    return _cache_root() / f"kernels-{_source_key(package_folder or Path(__file__).parent)}"


def cache_is_cold() -> bool:
    """True if the kernels of this version have not been compiled yet, so that first use takes its time."""
    return IS_COMPILED and not any(cache_folder().glob("*/*.nbi"))


def kernel(function: F) -> F:
    """`function`, compiled at its first call: no GIL, no bounds checks, IEEE division, cached on disk.

    Kernels of one table take its record, batch kernels (`…_all`) take structured arrays. In plain Python mode
    unsigned arithmetic wraps silently, as it does when compiled.
    """
    if not IS_COMPILED:

        @wraps(function)
        def plain(*arguments: Any) -> Any:
            with np.errstate(over="ignore"):
                return function(*arguments)

        return plain  # type: ignore[return-value]
    package = sys.modules[function.__module__].__name__.partition(".")[0]
    module_file = Path(inspect.getfile(function))
    folder = next((p for p in module_file.parents if p.name == package), module_file.parent)
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(cache_folder(folder))  # type: ignore[attr-defined]
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[return-value]
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
