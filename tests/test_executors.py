"""Executors: every unit comes back exactly once, whatever happens to those who play it, and nobody is left over."""

import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import count, takewhile
from pathlib import Path

import pytest

from gnav_agents.arena.executors import run_units
from gnav_env.errors import GnavError

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: the extra `ray`")


class Unsendable(Exception):
    """Cannot be made again from its only argument, so pickle gives an error in whoever receives it."""

    def __init__(self, subject, tone):
        super().__init__(f"a {tone} of {subject}")


def square(unit):
    return unit * unit


def facts(unit):
    return os.getpid(), os.environ.get("OMP_NUM_THREADS"), [0] * (200_000 + unit)


def slow(unit, *, seconds):
    time.sleep(seconds)
    return unit * 10, os.getpid()


def where(unit):
    import ray

    time.sleep(0.3)
    return os.getpid(), ray.get_runtime_context().get_node_id()


def refuse(unit, *, bad):
    if unit == bad:
        raise GnavError(f"unit {unit} will not do")
    return unit


def refuse_strangely(unit):
    raise Unsendable("woe", "tale")


def make_unsendable(unit):
    return lambda: unit


def die(unit, *, folder, bad, times):
    """Kills its process at unit `bad`, the first `times` times."""
    tries = Path(folder) / f"{unit}-{time.monotonic_ns()}"
    tries.touch()
    if unit == bad and len(list(Path(folder).glob(f"{unit}-*"))) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


def note_pid(unit, *, folder):
    (Path(folder) / f"{os.getpid()}").touch()
    time.sleep(60 if unit else 0)
    return unit


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pids(folder):
    return [int(path.name) for path in Path(folder).iterdir() if path.name.isdigit()]


# ---------------------------------------------------------------------------------------------------- the door


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": "cloud"}, "serial, process or ray, not 'cloud'"),
        ({"executor": "process", "workers": 0}, "workers must be 1 or more, not 0"),
        ({"executor": "serial", "workers": 2}, "serial has one worker, not 2"),
        ({"executor": "process", "address": "auto"}, "an address belongs to the executor ray"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_played(options, message):
    with pytest.raises(GnavError, match=message):
        run_units(square, range(3), **options)


def test_where_ray_is_missing_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(GnavError, match=r'pip install "gnav\[ray\]"'):
        run_units(square, range(3), executor="ray")


# -------------------------------------------------------------------------------------- serial and processes


def test_serial_plays_every_unit_exactly_once_and_in_order():
    assert list(run_units(square, range(3, 12))) == [(unit, unit * unit) for unit in range(3, 12)]


def test_serial_plays_a_unit_when_it_is_asked_for():
    played = []
    answers = run_units(played.append, iter([5, 6, 7]))
    assert played == []
    next(answers)
    assert played == [5]


def test_processes_play_every_unit_exactly_once_with_one_thread_each_and_our_environment_stays_as_it_was():
    before = dict(os.environ)
    answers = list(run_units(facts, iter(range(6)), executor="process", workers=2))
    assert dict(os.environ) == before
    assert sorted(unit for unit, _ in answers) == list(range(6))
    assert all(len(big) == 200_000 + unit for unit, (_, _, big) in answers)
    assert len({pid for _, (pid, _, _) in answers} - {os.getpid()}) == 2
    assert {threads for _, (_, threads, _) in answers} == {"1"}


def test_there_are_no_more_processes_than_units():
    units = run_units(partial(slow, seconds=0), [4], executor="process", workers=50)
    assert next(units)[0] == 4
    assert len(multiprocessing.active_children()) == 1
    assert list(units) == []
    assert multiprocessing.active_children() == []
    assert list(run_units(square, [], executor="process")) == []


@pytest.mark.parametrize("executor", ["serial", "process"])
def test_what_play_raises_reaches_the_caller_as_it_is(executor):
    with pytest.raises(GnavError) as caught:
        list(run_units(partial(refuse, bad=1), range(3), executor=executor, workers=1))
    assert type(caught.value) is GnavError
    assert str(caught.value) == "unit 1 will not do"
    assert any("in refuse" in line for line in [*map(str, caught.traceback), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize(
    ("play", "message"), [(refuse_strangely, "Unsendable: a tale of woe"), (make_unsendable, "pickle")]
)
def test_what_cannot_be_sent_is_told_instead(play, message):
    with pytest.raises(RuntimeError, match=f"unit 0: .*{message}"):
        list(run_units(play, [0], executor="process", workers=1))


def test_a_unit_whose_process_is_killed_is_played_again(tmp_path):
    play = partial(die, folder=str(tmp_path), bad=1, times=1)
    answers = list(run_units(play, range(4), executor="process", workers=2))
    assert sorted(answers) == [(unit, unit) for unit in range(4)]
    assert Counter(path.name[0] for path in tmp_path.iterdir()) == {"0": 1, "1": 2, "2": 1, "3": 1}


@pytest.mark.slow
def test_a_unit_that_always_kills_its_process_is_named_in_the_end(tmp_path):
    play = partial(die, folder=str(tmp_path), bad=1, times=99)
    with pytest.raises(GnavError, match=r"unit 1 was lost 4 times.*SIGKILL.*fewer workers"):
        list(run_units(play, range(3), executor="process", workers=2))
    assert len(list(tmp_path.glob("1-*"))) == 4


def test_who_stops_asking_ends_processes_in_mid_unit(tmp_path):
    answers = run_units(partial(note_pid, folder=str(tmp_path)), range(3), executor="process", workers=2)
    assert next(answers) == (0, 0)
    begin = time.monotonic()
    answers.close()
    assert time.monotonic() - begin < 5
    assert pids(tmp_path) and not any(is_running(pid) for pid in pids(tmp_path))


DRIVER = """
import sys
from functools import partial
from test_executors import note_pid
from gnav_agents.arena.executors import run_units

if __name__ == "__main__":
    for unit, _ in run_units(partial(note_pid, folder=sys.argv[1]), [1, 2], executor="process", workers=2):
        print(unit)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal to a process group")
def test_an_interrupt_ends_everything_at_once_and_the_workers_say_nothing(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    folder = tmp_path / "pids"
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    driver = subprocess.Popen(
        [sys.executable, script, folder], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        for _ in range(600):
            if len(pids(folder)) == 2:
                break
            time.sleep(0.05)
        os.killpg(driver.pid, signal.SIGINT)
        begin = time.monotonic()
        _, errors = driver.communicate(timeout=20)
    finally:
        driver.kill()
    assert time.monotonic() - begin < 5
    assert errors.count("Traceback") == errors.count("KeyboardInterrupt") == 1
    assert len(pids(folder)) == 2 and not any(is_running(pid) for pid in pids(folder))


# --------------------------------------------------------------------------------------------------------- Ray


@needs_ray
@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:1", "127.0.0.1:99999"])
def test_an_address_at_which_there_is_no_ray_is_refused(address):
    with pytest.raises(GnavError, match=f"no Ray to be had at {address}.*`auto` or `host:port`"):
        next(run_units(square, range(3), executor="ray", address=address))


@needs_ray
@pytest.mark.slow
def test_on_a_ray_of_its_own_every_unit_comes_back_and_ray_is_gone_afterwards():
    answers = dict(run_units(facts, range(5), executor="ray", workers=2))
    import ray

    assert sorted(answers) == list(range(5))
    assert os.getpid() not in {pid for pid, _, _ in answers.values()}
    assert {threads for _, threads, _ in answers.values()} == {"1"}
    assert not ray.is_initialized()


@needs_ray
@pytest.mark.slow
def test_a_ray_node_that_is_killed_in_mid_run_loses_nothing_and_doubles_nothing():
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        second = cluster.add_node(num_cpus=1)
        played, nodes, num_units = [], set(), 1000
        units = takewhile(lambda unit: unit < num_units, count())
        for unit, (pid, node) in run_units(where, units, executor="ray", address=cluster.address):
            played.append(unit)
            nodes.add(node)
            if num_units == 1000 and len(nodes) == 2 and node == second.node_id:  # it has just begun the next one
                cluster.remove_node(second, allow_graceful=False)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)  # which would else outlive its node for a moment
                num_units = len(played) + 12
        assert len(nodes) == 2 and num_units < 1000
        assert sorted(played) == list(range(num_units))

        with pytest.raises(GnavError) as caught:
            list(run_units(partial(refuse, bad=1), range(3), executor="ray", address=cluster.address))
        assert type(caught.value) is GnavError
        assert str(caught.value) == "unit 1 will not do"
        assert not ray.is_initialized()

        # a Ray that was joined before is used and not left
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        units = run_units(partial(slow, seconds=0.3), range(9), executor="ray")
        assert next(units)[0] in range(9)
        units.close()
        assert ray.is_initialized()
    finally:
        ray.shutdown()
        cluster.shutdown()
