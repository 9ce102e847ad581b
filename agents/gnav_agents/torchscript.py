"""TorchScript modules in .pt or .ts files, from observations to logits. For foreign.py.

`torch.jit.load` unpickles nothing the Python way, but what it loads is a program: its operators can write files
(`torch.save` is one of them), and a module's `__setstate__` runs them while it is loaded. Who can write files can run
code, so such a file has to be trusted.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations
from gnav_env.errors import GnavError

__all__ = ["read_module"]


def read_module(path: Path) -> tuple[Callable[[Observations, Masks], NDArray[Any]], None]:
    """The module at `path`, observation [B, F] -> logits [B, A], and None, since how much it reads is not known.

    From here on torch works with one thread. Raises `GnavError` if there is no such module in the file, or if torch
    is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise GnavError(f"it needs {error.name}, which is not installed: pip install 'gnav[train]'") from None

    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            # torch would rather have another format, which is no matter of who plays against this file
            warnings.simplefilter("ignore", DeprecationWarning)
            module = torch.jit.load(path, map_location="cpu")
    except (RuntimeError, ValueError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise GnavError(f"it is no TorchScript module, as torch.jit.save writes it ({first_line})") from None
    module.eval()

    def preferences(observation: Observations, action_mask: Masks) -> NDArray[Any]:
        with torch.no_grad():
            return module(torch.from_numpy(observation)).numpy()

    return preferences, None
