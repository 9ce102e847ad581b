"""Where units of work are played: in this process, in several on this machine, or on a Ray cluster.

An executor knows numbers of units and a function that plays one; what comes back may come in any order. play.py plays
a unit, store.py keeps what came of it. Only the caller's process writes files.

Units depend on nothing but their number, so a unit whose process or node was lost is simply played again.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from gnav_agents.files import require
from gnav_env.errors import GnavError

__all__ = ["EXECUTORS", "check_executor", "num_cores", "run_units"]

T = TypeVar("T")

EXECUTORS = ("serial", "process", "ray")
"""What `run_units` can be told to play with."""

_REPLAYS = 3  # how often a unit is played again after its process was lost
_GRACE = 5.0  # seconds that an idle worker has to leave by itself
_ONE_THREAD: dict[str, str] = dict.fromkeys(
    (
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)


def num_cores() -> int:
    """Cores that this process may use, 1 or more."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_units(
    play: Callable[[int], T],
    units: Iterable[int],
    *,
    executor: str = "serial",
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[tuple[int, T]]:
    """Each of `units` with what `play` makes of it, as they finish, in any order.

    Args:
        play: a function of a module, or a `functools.partial` of one with plain data: other processes get it by
            pickle. What is dear to make (agents, tables) it makes itself and keeps for the next unit.
        units: numbers, each once.
        executor: `serial`, one after another in this process as they are asked for; `process`, in new processes of
            this machine with one thread each; `ray`, on a Ray cluster, for which the extra `ray` is needed.
        workers: how many units are played at once, 1 or more. By default 1 with `serial`, a core each with `process`
            and a local Ray, and with `address` as many as the cluster has CPUs when it is asked.
        address: of a Ray cluster, `auto` or `host:port`; without it a local Ray is started, and stopped at the end.
            Its nodes need the same packages, and our modules at the same paths as here. A Ray that this process has
            joined before is used as it is, and not left at the end.

    Whoever stops asking (`close()`, an exception in the loop) ends all workers at once.

    Raises `GnavError` for arguments that cannot be, and while playing for a unit that has ended its process four
    times; what `play` raises comes out as it is.
    """
    check_executor(executor, workers, address)
    if executor == "serial":
        return ((unit, play(unit)) for unit in units)
    if executor == "process":
        return _play_in_processes(play, units, workers or num_cores())
    return _play_on_ray(_import_ray(is_local=address is None), play, units, workers, address)


def check_executor(executor: str, workers: int | None, address: str | None) -> None:
    """Raise `GnavError` for arguments that `run_units` cannot have."""
    if executor not in EXECUTORS:
        raise GnavError(f"executor must be {', '.join(EXECUTORS[:-1])} or {EXECUTORS[-1]}, not {executor!r}")
    if workers is not None and workers < 1:
        raise GnavError(f"workers must be 1 or more, not {workers}")
    if executor == "serial" and workers not in (None, 1):
        raise GnavError(f"executor serial has one worker, not {workers}: use process or ray for more")
    if address is not None and executor != "ray":
        raise GnavError(f"an address belongs to the executor ray, not to {executor}")
    if executor == "ray":
        require("ray", "ray")


@contextmanager
def _environment(variables: Mapping[str, str]) -> Generator[None, None, None]:
    """Meanwhile the environment has these variables, and whoever is started now keeps them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _attempt(play: Callable[[int], T], unit: int) -> tuple[T | None, Exception | None]:
    """What came of the unit, and what was raised if nothing came."""
    try:
        return play(unit), None
    except Exception as error:
        told = error
        try:
            copy(error)  # made again from its arguments, as by pickle
        except Exception:
            told = RuntimeError(f"unit {unit}: {type(error).__name__}: {error}")
        # an exception travels without its traceback, a note goes with it
        told.add_note(f"while unit {unit} was played:\n{traceback.format_exc()}")
        return None, told


# -------------------------------------------------------------------------------------------------- processes


def _work(connection: Connection, play: Callable[[int], Any]) -> None:
    """What a worker does until the other end of `connection` is closed: a unit comes in, its answer goes out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, who ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            unit = connection.recv()
            answer = _attempt(play, unit)
            try:
                connection.send(answer)
            except OSError:
                raise
            except Exception as error:  # what was to be sent cannot be pickled
                connection.send((None, RuntimeError(f"unit {unit}: {answer[1] or error!r}")))


def _end_with_parent() -> None:
    """This process has ended as soon as the one that started it has, in the middle of a unit too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class _Worker:
    """A process that plays one unit at a time.

    It has a pipe of its own and not a queue with others, so that its end can be seen at any time, it is known which
    unit went with it, and no other worker has lost anything.
    """

    def __init__(self, play: Callable[[int], Any]) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads hold
        self.connection, other_end = context.Pipe()
        self.unit: int | None = None
        self._process = context.Process(target=_work, args=(other_end, play), daemon=True)
        try:
            with _environment(_ONE_THREAD), _interrupts_later():
                self._process.start()
        finally:
            other_end.close()

    def begin(self, unit: int) -> None:
        """The worker plays `unit`; if it has died meanwhile, this is seen where its answer is awaited."""
        self.unit = unit
        with suppress(OSError):
            self.connection.send(unit)

    def end(self) -> str:
        """The process is over: how it ended, in words. One that still plays is not waited for."""
        self.connection.close()
        if self.unit is None:
            self._process.join(_GRACE)
        self._process.kill()
        self._process.join()
        code = self._process.exitcode or 0
        self._process.close()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


@contextmanager
def _interrupts_later() -> Generator[None, None, None]:
    """Ctrl-C comes to us afterwards, and never to a process that is started now."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _play_in_processes(play: Callable[[int], T], units: Iterable[int], num_workers: int) -> Iterator[tuple[int, T]]:
    waiting = deque(units)
    num_lost: Counter[int] = Counter()
    workers: dict[Connection, _Worker] = {}

    def add_worker() -> None:
        worker = _Worker(play)
        workers[worker.connection] = worker
        worker.begin(waiting.popleft())

    try:
        while len(workers) < num_workers and waiting:
            add_worker()
        while busy := [connection for connection, worker in workers.items() if worker.unit is not None]:
            for connection in wait(busy):
                worker = workers[connection]  # type: ignore[index]
                unit = worker.unit
                assert unit is not None
                try:
                    result, error = worker.connection.recv()
                except (EOFError, OSError):
                    del workers[worker.connection]
                    worker.unit = None  # it is on its way out: time to leave an exit code
                    how = worker.end()
                    num_lost[unit] += 1
                    if num_lost[unit] > _REPLAYS:
                        raise _lost(unit, f"its process ended with {how}") from None
                    waiting.appendleft(unit)
                    add_worker()
                    continue
                worker.unit = None
                if error is not None:
                    raise error
                if waiting:
                    worker.begin(waiting.popleft())
                yield unit, result
    finally:
        for connection in workers:
            connection.close()
        for worker in workers.values():
            worker.end()


def _lost(unit: int, how: str) -> GnavError:
    return GnavError(
        f"unit {unit} was lost {_REPLAYS + 1} times, the last time {how}: if memory was short, use fewer workers; "
        'a script of your own needs `if __name__ == "__main__":`; `serial` shows what else it may be'
    )


# -------------------------------------------------------------------------------------------------------- Ray

# Nothing is told to Ray's makers, and a warning of what a later Ray will do where there are GPUs is not for our users.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# Read when Ray is loaded: without clusters, as by default on macOS, Ray listens on the loopback address only.
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def _import_ray(*, is_local: bool) -> Any:
    """The package `ray`, which is there."""
    with _environment(_QUIET | _LOOPBACK if is_local else _QUIET):
        import ray
    return ray


def _play_on_ray(
    ray: Any, play: Callable[[int], T], units: Iterable[int], num_workers: int | None, address: str | None
) -> Iterator[tuple[int, T]]:
    is_ours = not ray.is_initialized()
    running: dict[Any, int] = {}
    try:
        if is_ours:
            _connect(ray, num_workers, address)
        limit = num_workers if address and num_workers else int(ray.cluster_resources().get("CPU", 1)) + 2
        # Ray itself plays again what went with a worker or a node
        variables = _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(_own_paths())}
        task = ray.remote(num_cpus=1, max_retries=_REPLAYS, runtime_env={"env_vars": variables})(_attempt)
        waiting = iter(units)
        while True:
            for unit in islice(waiting, limit - len(running)):
                running[task.remote(play, unit)] = unit
            if not running:
                return
            (answer, *_), _ = ray.wait(list(running))
            unit = running.pop(answer)
            try:
                result, error = ray.get(answer)
            except ray.exceptions.RayTaskError:
                raise
            except ray.exceptions.RayError as error:
                raise _lost(unit, f"Ray says: {str(error).strip().splitlines()[0]}") from None
            if error is not None:
                raise error
            yield unit, result
    finally:
        if is_ours:
            ray.shutdown()
        else:
            for answer in running:
                ray.cancel(answer, force=True)


def _connect(ray: Any, num_workers: int | None, address: str | None) -> None:
    """This process is the driver of the cluster at `address`, or of a Ray of its own."""
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        options |= {"num_cpus": num_workers or num_cores(), "include_dashboard": False}
    try:
        if address not in (None, "auto"):
            # Ray itself tries for minutes where nobody listens
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=_GRACE).close()
        with _environment(_QUIET):
            ray.init(address=address or "local", **options)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise GnavError(
            f"there is no Ray to be had at {address or 'this machine'}: {error}; an address is `auto` or `host:port`, "
            "and `ray start --head` starts a cluster"
        ) from None


def _own_paths() -> list[str]:
    """Where this process finds modules besides those that every Python of its kind has."""
    python = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}
    paths = [Path(entry or ".").resolve() for entry in sys.path]
    return [str(path) for path in paths if path.is_dir() and python.isdisjoint((path, *path.parents))]
