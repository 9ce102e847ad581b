"""An agent in a process of its own: whatever it does there, who asks it goes on. `Hosted` asks, `serve` answers.

The two talk through a socket, which is the child's standard input until the child has taken it away from there: each
message is a line of JSON and an array. So nothing is pickled, and what an agent prints goes to standard error. A child
ends when the socket does; while its agent has the word, an alarm of the operating system sees to that. It needs Linux
or macOS.
"""

import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from gnav_agents.agent import Masks, Observations
from gnav_agents.best_response import BestResponse
from gnav_agents.foreign import ForeignCodeWarning, require_trust
from gnav_agents.registry import made_of, make_agent
from gnav_env.errors import GnavError
from gnav_env.reading import rules_from_dict
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["SPLIT", "Hosted", "HostedError", "described"]

SPLIT = 8
"""A batch that failed is asked again in so many parts."""

_MAKING_SECONDS = 120.0
_GRACE_SECONDS = 2.0
"""How much longer than its time limit a child lives whose parent has gone."""
_LAST_SECONDS = 1.0
"""How long a child may take to end after the socket was closed."""
_HEAD = struct.Struct("<IQ")  # lengths of JSON and array, in bytes
_MOST_BYTES = 1 << 28
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from gnav_agents.hosted import serve; serve()"
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class HostedError(Exception):
    """A hosted agent gave no answer: it `raised`, `timed out`, or its process `died`; `is_lost` if for good."""

    def __init__(self, kind: Literal["raised", "timed out", "died"], detail: str, *, is_lost: bool = False) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: Literal["raised", "timed out", "died"] = kind
        self.detail = detail
        self.is_lost = is_lost


class Hosted:
    """The agent called `name` in a process of its own, for tables of `num_seats` with `rules`.

    It is asked like any agent, and each question has `time_limit` seconds to be answered. A process that has been too
    slow or has died is made anew when the next question comes. Close it, or use it in a ``with``. Not to be carried
    into another process, by fork or otherwise: make another there.

    Raises `GnavError` if the agent cannot be made, or not within two minutes; files that can run code need `trust`, as
    in `gnav_agents.registry.make_agent`.
    """

    def __init__(
        self, name: str, rules: str | Rules, num_seats: int, *, time_limit: float, trust: bool = False
    ) -> None:
        if not 0 < time_limit < math.inf:
            raise GnavError(f"time_limit must be a number of seconds above 0, not {time_limit}")
        if not hasattr(signal, "setitimer"):
            raise GnavError(
                f"agent {name}: an agent that is not ours has a process of its own, which needs Linux or macOS"
            )
        rules = get_rules(rules)
        rules.check_seats(num_seats)
        require_trust(made_of(name), trust=trust)
        self.name = name
        self.time_limit = time_limit
        self.most_rows = sys.maxsize
        """How many decisions to ask for at once, so that an answer may be expected in time."""
        self._order = {
            "name": name,
            "rules": rules.to_dict(),
            "num_seats": num_seats,
            "time_limit": time_limit,
            "trust": trust,
        }
        self._child: _Child | None = None
        self._is_policy = False
        self._start()

    @property
    def probabilities(self) -> Callable[[Observations, Masks], NDArray[Any]] | None:
        """What gives the agent's probabilities, as in `gnav_agents.agent.Policy`; None if it has none."""
        return self._ask_probabilities if self._is_policy else None

    def act(self, observation: Observations, action_mask: Masks, rng: np.random.Generator) -> NDArray[Any]:
        """What the agent answers, an array of any shape; `HostedError` if it does not. `rng` gives one seed."""
        return self._ask("act", observation, action_mask, int(rng.integers(1 << 63)))

    def close(self) -> None:
        """The process has ended."""
        if self._child is not None:
            self._drop(patience=_LAST_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask_probabilities(self, observation: Observations, action_mask: Masks) -> NDArray[Any]:
        return self._ask("probabilities", observation, action_mask, 0)

    def _ask(self, method: str, observation: Observations, action_mask: Masks, seed: int) -> NDArray[Any]:
        if self._child is None:
            try:
                self._start()
            except GnavError as error:
                raise HostedError("died", f"it could not be started again: {error}", is_lost=True) from None
        rows, width = observation.shape
        question = {"method": method, "rows": rows, "width": width, "seed": seed}
        arrays = [observation.astype(np.float32, copy=False), action_mask.astype(np.int8, copy=False)]
        began = monotonic()
        try:
            reply, answer = self._exchange(question, arrays, self.time_limit)
        except HostedError as error:
            if error.kind == "timed out":
                self.most_rows = max(1, rows // SPLIT)
            raise
        if "error" in reply:
            raise HostedError("raised", str(reply["error"]))
        if rows == self.most_rows:
            # what takes a quarter of the limit has room for a busy machine
            growth = min(SPLIT, self.time_limit / (4 * max(monotonic() - began, 1e-9)))
            self.most_rows = max(rows, int(rows * growth))
        try:
            return np.frombuffer(answer, np.dtype(reply["dtype"])).reshape(reply["shape"])
        except (KeyError, TypeError, ValueError) as error:
            self._drop()
            raise HostedError("died", f"its process talks nonsense: {error}") from None

    def _start(self) -> None:
        """The agent is there and waits, or a `GnavError` says why it cannot be made."""
        self._child = _Child()
        try:
            reply, _ = self._exchange(self._order, [], _MAKING_SECONDS)
        except HostedError as error:
            raise GnavError(f"agent {self.name}: it could not be made: {error.detail}") from None
        if "error" in reply:
            self.close()
            raise GnavError(str(reply["error"]))
        self._is_policy = bool(reply.get("is_policy"))

    def _exchange(
        self, message: dict[str, Any], arrays: list[NDArray[Any]], seconds: float
    ) -> tuple[dict[str, Any], bytearray]:
        """What the child says to `message`; a child that says nothing in time or at all is no more."""
        assert self._child is not None
        ends = monotonic() + seconds
        try:
            _send(self._child.channel, message, arrays, ends)
            return _receive(self._child.channel, ends)
        except TimeoutError:
            self._drop()
            raise HostedError("timed out", f"no answer within {seconds:g} s") from None
        except (OSError, ValueError) as error:
            ending = self._drop(patience=_LAST_SECONDS)
            raise HostedError("died", ending or f"its process talks nonsense: {error}") from None
        except BaseException:
            self._drop()  # its answer would be taken for that to another question
            raise

    def _drop(self, *, patience: float = 0.0) -> str:
        """The process is no more; how it ended by itself within `patience` seconds, or an empty text."""
        assert self._child is not None
        ending = self._child.end(patience=patience)
        self._child = None
        return ending


class _Child:
    """The process of a hosted agent and the socket to it."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps(sys.path)],
                stdin=theirs.fileno(),
                stdout=2,
                env={**_ONE_THREAD, **os.environ},
                start_new_session=True,  # Ctrl-C is for the parent, which then ends its children
            )
        self._finalizer = weakref.finalize(self, _end, self.process, self.channel, os.getpid(), 0.0)

    def end(self, *, patience: float) -> str:
        """The process is no more, killed unless it ends within `patience` seconds; how it did, or an empty text."""
        self._finalizer.detach()
        return _end(self.process, self.channel, os.getpid(), patience)


def _end(process: subprocess.Popen[bytes], channel: socket.socket, owner: int, patience: float) -> str:
    """`process` is no more, if `owner` is this process; how it ended by itself, or an empty text."""
    channel.close()
    if os.getpid() != owner:
        return ""  # a copy that a fork made
    ending = ""
    with suppress(subprocess.TimeoutExpired):
        code = process.wait(patience)
        ending = f"its process ended with exit code {code}" if code >= 0 else f"its process ended by {_signal(-code)}"
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # its children too, if it has some
    process.wait()
    return ending


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _send(channel: socket.socket, message: dict[str, Any], arrays: list[NDArray[Any]], ends: float | None) -> None:
    """`message` and the `arrays` are on their way; `TimeoutError` if not at the time `ends`."""
    text = json.dumps(message).encode()
    head = _HEAD.pack(len(text), sum(array.nbytes for array in arrays))
    channel.settimeout(_left(ends))
    # at once, so that who waits is woken once
    channel.sendall(b"".join([head, text, *(np.ascontiguousarray(array).data for array in arrays)]))


def _receive(channel: socket.socket, ends: float | None) -> tuple[dict[str, Any], bytearray]:
    """The next message and its array; `TimeoutError` if there is none at the time `ends`, otherwise `OSError`."""
    num_text, num_data = _HEAD.unpack(_read(channel, _HEAD.size, ends))
    if max(num_text, num_data) > _MOST_BYTES:
        raise ValueError(f"a message of {num_text + num_data} bytes")
    return json.loads(_read(channel, num_text, ends)), _read(channel, num_data, ends)


def _read(channel: socket.socket, size: int, ends: float | None) -> bytearray:
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        channel.settimeout(_left(ends))
        count = channel.recv_into(view[at:])
        if not count:
            raise ConnectionError("the other end was closed")
        at += count
    return data


def _left(ends: float | None) -> float | None:
    """Seconds until the time `ends`, hardly any if it has passed; None if there is no such time."""
    return None if ends is None else max(ends - monotonic(), 1e-6)


def described(error: BaseException) -> str:
    """`error` in one line that is not too long, whatever it is."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(it cannot say what)"
    kind = type(error).__name__
    return f"{kind}: {text[:300]}" if text else kind


# What follows runs in the child.


def serve() -> None:
    """Make the agent that the parent orders, answer its questions, and end this process with the socket."""
    with open(os.devnull, "rb") as nothing:
        channel = socket.socket(fileno=os.dup(0))
        os.dup2(nothing.fileno(), 0)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        order, _ = _receive(channel, None)
        with _alarm(_MAKING_SECONDS):
            agent, reply = _make(order)
        _send(channel, reply, [], None)
        while agent is not None:
            question, data = _receive(channel, None)
            with _alarm(order["time_limit"]):
                reply, answer = _answer(agent, question, data)
            _send(channel, reply, answer, None)
    except OSError:
        pass  # the parent has gone or wants no more
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)  # threads of the agent would wait for ever


def _make(order: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The agent that is ordered, or None, and what to say to the parent."""
    name = order["name"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForeignCodeWarning)  # the parent has said so
            agent: Any = make_agent(name, rules_from_dict(order["rules"], {}), order["num_seats"], trust=order["trust"])
            if isinstance(agent, BestResponse):
                agent.prepare(order["num_seats"])  # which takes longer than a decision may
        return agent, {"is_policy": callable(getattr(agent, "probabilities", None))}
    except GnavError as error:
        return None, {"error": str(error)}
    except BaseException as error:
        return None, {"error": f"agent {name}: it could not be made: {described(error)}"}


def _answer(agent: Any, question: dict[str, Any], data: bytearray) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """What the agent answers, as a message and its array."""
    rows, width = question["rows"], question["width"]
    observation = np.frombuffer(data, np.float32, rows * width).reshape(rows, width)
    action_mask = np.frombuffer(data, np.int8, offset=observation.nbytes).reshape(rows, -1)
    try:
        if question["method"] == "probabilities":
            answer = agent.probabilities(observation, action_mask)
        else:
            rng = np.random.Generator(np.random.Philox(key=question["seed"]))
            answer = agent.act(observation, action_mask, rng)
        answer = np.asarray(answer)
        if answer.dtype.kind not in "biuf":
            raise TypeError(f"an answer is an array of numbers, not of {answer.dtype}")
        return {"dtype": answer.dtype.str, "shape": answer.shape}, [answer]
    except BaseException as error:
        return {"error": described(error)}, []


@contextmanager
def _alarm(seconds: float) -> Generator[None]:
    """The operating system ends this process if the block takes much longer than `seconds`.

    The parent kills a child that is late; this is for a child whose parent has gone, and works while compiled code
    lets no Python run.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
