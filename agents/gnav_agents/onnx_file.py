"""Networks in .onnx files, from observations to logits, run by ONNX Runtime. For foreign.py.

Such a file is data: a graph of operators that are part of the runtime. Operators of one's own come in libraries, and
none is ever registered here.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations
from gnav_env.errors import GnavError

__all__ = ["read_network"]

_ERRORS_ONLY = 3


def read_network(path: Path) -> tuple[Callable[[Observations, Masks], NDArray[Any]], int | None]:
    """The network at `path`, observation [B, F] -> logits [B, A], and its F, or None if that is free.

    Its input is the only one, its first output has the logits. Raises `GnavError` if the file holds no such network, or
    if onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise GnavError(f"it needs {error.name}, which is not installed: pip install 'gnav[onnx]'") from None

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise GnavError(f"it is no ONNX network: {error}") from None
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 2:
        found = ", ".join(f"{item.name}: {item.type} {item.shape}" for item in inputs)
        raise GnavError(f"its input should be one tensor(float) [B, F], not {found or 'none'}")
    num_rows, width = inputs[0].shape
    if isinstance(num_rows, int):
        raise GnavError(f"its batch size is fixed at {num_rows}; export it with a first dimension that is free")
    source, target = inputs[0].name, session.get_outputs()[0].name

    def preferences(observation: Observations, action_mask: Masks) -> NDArray[Any]:
        return np.asarray(session.run([target], {source: observation})[0])

    return preferences, width if isinstance(width, int) else None
