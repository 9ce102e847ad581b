"""How fast Gnav is, as ratios against peers measured in the same run.

    python scripts/bench.py                  every part
    python scripts/bench.py aec batch        some parts
    python scripts/bench.py --seconds 0.5    shorter turns

Machines differ and are noisy: two things are measured turn by turn, A B A B ..., and the ratio is the median of the
turns' ratios. Time is CPU time of the process, so that a library that uses several threads is charged for all of them.
Peers that are not installed are left out with a note (extras `bench` and `peers`).

`solve` counts no decisions but information states x iterations: rounds of regret matching over the exact tree of a
deal, against OpenSpiel's CFR on Leduc poker (left out where OpenSpiel, the extra `openspiel`, is not installed).
"""

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count=1")

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable

Chunk = Callable[[], int]
"""Some work; it gives back the number of decisions that it made, or of information states that it went through."""

TURNS = 7


def peer(name: str) -> Any:
    """The module of a peer; `ImportError` if it is not installed."""
    return importlib.import_module(name)


def rate(chunk: Chunk, seconds: float) -> float:
    """Decisions per CPU second over at least `seconds` of it."""
    decisions, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds or not decisions:
        decisions += chunk()
    return decisions / spent


def compare(ours: Chunk, peer: Chunk, seconds: float) -> tuple[float, float, float]:
    """Median rates of both and the median of their ratios, turn by turn."""
    ours()
    peer()
    pairs = [(rate(ours, seconds), rate(peer, seconds)) for _ in range(TURNS)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


class Report:
    """The table of results."""

    def __init__(self) -> None:
        self.table = RichTable("what", "decisions / CPU s", "peer", "ratio", "wanted", title="Gnav, speed")

    def add(self, what: str, ours: float, peer: str = "", ratio: float | None = None, wanted: str = "") -> None:
        """A row."""
        self.table.add_row(what, f"{ours:,.0f}", peer, "" if ratio is None else f"{ratio:.2f}", wanted)

    def note(self, what: str, text: str) -> None:
        """A row without figures."""
        self.table.add_row(what, "", text, "", "")


def aec_chunk(environment: Any, num_steps: int = 400) -> Chunk:
    """`last()` and `step()` with legal actions in turn, dead steps and resets included but not counted."""
    environment.reset(seed=1)
    count = 0

    def chunk() -> int:
        nonlocal count
        decisions = 0
        for _ in range(num_steps):
            if not environment.agents:
                environment.reset()
            view, _, termination, truncation, _ = environment.last()
            if termination or truncation:
                environment.step(None)
                continue
            legal = np.flatnonzero(view["action_mask"])
            count += 1
            environment.step(int(legal[count % len(legal)]))
            decisions += 1
        return decisions

    return chunk


def bench_aec(report: Report, seconds: float) -> None:
    """The AEC environment against PettingZoo's Leduc hold'em."""
    from pettingzoo.utils import wrappers

    from gnav_env.aec import env

    def make(num_seats: int) -> Any:
        return env(num_seats=num_seats)

    few, many, ratio = compare(aec_chunk(make(20)), aec_chunk(make(3)), seconds)
    report.add("AEC, 20 seats", few, f"3 seats: {many:,.0f}", ratio, ">= 0.7")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pettingzoo.classic import leduc_holdem_v4
    except ImportError as error:
        report.note("AEC against leduc_holdem_v4", f"left out: {error}; install the extra bench")
        return
    ours, peer, ratio = compare(aec_chunk(make(6)), aec_chunk(leduc_holdem_v4.env()), seconds)
    report.add("AEC, 6 seats, last + step", ours, f"leduc_holdem_v4: {peer:,.0f}", ratio, ">= 15")
    wrapped = wrappers.OrderEnforcingWrapper(
        wrappers.AssertOutOfBoundsWrapper(wrappers.TerminateIllegalWrapper(make(6), illegal_reward=-1))
    )
    ours, peer, ratio = compare(aec_chunk(wrapped), aec_chunk(leduc_holdem_v4.env()), seconds)
    report.add("the same in PettingZoo's wrappers", ours, f"leduc_holdem_v4: {peer:,.0f}", ratio, ">= 2")


def tables_chunk(num_tables: int = 1024, num_steps: int = 32) -> Chunk:
    """Random actions at many tables, with observations and masks, through the numpy API."""
    from gnav_env import Tables

    tables = Tables("pagat", 6, num_tables, seed=1)
    actions = np.random.default_rng(1).integers(0, 2, (num_steps, num_tables))

    def chunk() -> int:
        for step in range(num_steps):
            tables.step(actions[step])
        return num_steps * num_tables

    return chunk


def pgx_chunk(num_tables: int = 1024, num_steps: int = 64) -> Chunk:
    """Pgx's Leduc hold'em, compiled, vectorised, random legal actions, observations and auto-reset."""
    jax, jnp, pgx = peer("jax"), peer("jax.numpy"), peer("pgx")
    auto_reset = peer("pgx.experimental.wrappers").auto_reset
    environment = pgx.make("leduc_holdem")
    step = jax.vmap(auto_reset(environment.step, environment.init))

    def run(state: Any, key: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            state, key, total = carry
            key, draw, chance = jax.random.split(key, 3)
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            action = jax.random.categorical(draw, logits, axis=1)
            state = step(state, action, jax.random.split(chance, num_tables))
            return (state, key, total + state.observation.sum()), None

        return jax.lax.scan(body, (state, key, 0.0), None, length=num_steps)[0]

    compiled = jax.jit(run)
    state = jax.jit(jax.vmap(environment.init))(jax.random.split(jax.random.PRNGKey(0), num_tables))
    carry = [state, jax.random.PRNGKey(1)]

    def chunk() -> int:
        state, key, total = compiled(*carry)
        total.block_until_ready()
        carry[:] = [state, key]
        return num_tables * num_steps

    return chunk


def open_spiel_chunk(num_games: int = 60) -> Chunk:
    """OpenSpiel's 3-player Leduc from Python, information state tensors read at each decision."""
    game = peer("pyspiel").load_game("leduc_poker(players=3)")
    luck = np.random.default_rng(1)

    def chunk() -> int:
        decisions = 0
        for _ in range(num_games):
            state = game.new_initial_state()
            while not state.is_terminal():
                legal = state.legal_actions()
                if not state.is_chance_node():
                    state.information_state_tensor()
                    decisions += 1
                state.apply_action(legal[int(luck.random() * len(legal))])
        return decisions

    return chunk


def bench_batch(report: Report, seconds: float) -> None:
    """Many tables a step, with observations, against Pgx and OpenSpiel."""
    ours = tables_chunk()
    for name, make_peer, wanted in (
        ("Pgx leduc_holdem", pgx_chunk, ">= 4"),
        ("OpenSpiel leduc_poker(players=3)", open_spiel_chunk, ">= 15"),
    ):
        try:
            peer_chunk = make_peer()
        except ImportError as error:
            report.add("batched step, 1,024 tables", rate(ours, seconds), f"{name} left out: {error}")
            continue
        mine, peer, ratio = compare(ours, peer_chunk, seconds)
        report.add("batched step, 1,024 tables", mine, f"{name}: {peer:,.0f}", ratio, wanted)


def bench_matches(report: Report, seconds: float) -> None:
    """Whole matches of threshold players inside one kernel."""
    from gnav_env import VARIANTS
    from gnav_env.state import TABLE
    from gnav_env.stepping import play_thresholds_all

    rules = VARIANTS["pagat"]
    table, places = np.zeros(1, TABLE), np.zeros((2000, 6), np.int8)
    thresholds = np.full(6, rules.rank_numbers["6"])
    first = 0

    def chunk() -> int:
        nonlocal first
        first += 2000
        return int(play_thresholds_all(table, rules.compiled, thresholds, 1, first, 2000, places))

    chunk()
    rates = [rate(chunk, seconds) for _ in range(TURNS)]
    report.add(
        "whole matches, 6 seats, thresholds, one kernel",
        statistics.median(rates),
        f"best turn: {max(rates):,.0f}",
        None,
        ">= 15,000,000",
    )


def bench_training(report: Report, seconds: float) -> None:
    """The environment's share of training time: 64 x 64 network, 1,024 tables."""
    try:
        import torch

        from gnav_agents.training.config import read_config
        from gnav_agents.training.trainer import Trainer
    except ImportError as error:
        report.note("training", f"left out: {error}; install the extra train")
        return
    torch.set_num_threads(1)
    config = read_config(Path(__file__).parents[1] / "configs" / "train" / "quickstart.yaml")
    trainer = Trainer(config, Path())  # makes the learner; only run() would write to the folder
    tables = trainer.model.fields[0].tables
    step, in_tables = tables.step, 0.0

    def timed_step(actions: Any, rows: Any = None) -> None:
        nonlocal in_tables
        start = time.process_time()
        step(actions, rows)
        in_tables += time.process_time() - start

    tables.step = timed_step
    trainer.model.iterate(config.total_decisions)  # warm
    in_tables, start, before = 0.0, time.process_time(), trainer.decisions
    for _ in range(4):
        trainer.model.iterate(config.total_decisions)
    spent = time.process_time() - start
    report.add(
        "training, 64 x 64, 1,024 tables",
        (trainer.decisions - before) / spent,
        "environment's share of the time",
        in_tables / spent,
        "<= 0.10",
    )


def sweeps_chunk(num_seats: int) -> Chunk:
    """A round of regret matching over all information states of a deal of pagat, in one thread."""
    from gnav_agents.solve.deal import deal_tree
    from gnav_agents.solve.payoffs import lives_payoffs
    from gnav_agents.solve.sweep import REGRET, Sweeper
    from gnav_env import VARIANTS

    tree = deal_tree(VARIANTS["pagat"], num_seats)
    sweeper = Sweeper(tree, lives_payoffs(tree))

    def chunk() -> int:
        sweeper.sweep(REGRET)
        return tree.num_states

    return chunk


def cfr_chunk(make_solver: Callable[[Any], Any]) -> Chunk:
    """An iteration of an OpenSpiel solver over all information states of Leduc poker."""
    game = peer("pyspiel").load_game("leduc_poker")
    solver = make_solver(game)
    num_states = len(peer("open_spiel.python.policy").TabularPolicy(game).state_lookup)

    def chunk() -> int:
        solver.evaluate_and_update_policy()
        return num_states

    return chunk


def bench_solve(report: Report, seconds: float) -> None:
    """Information states x iterations a second, against OpenSpiel's CFR in C++ and in Python."""
    what = "solve, pagat {} seats: states x iterations"
    three, four = sweeps_chunk(3), sweeps_chunk(4)
    try:
        compiled = cfr_chunk(peer("pyspiel").CFRSolver)
        plain = cfr_chunk(peer("open_spiel.python.algorithms.cfr").CFRSolver)
    except ImportError as error:
        for num_seats, ours in ((3, three), (4, four)):
            ours()
            report.add(what.format(num_seats), rate(ours, seconds), f"OpenSpiel's CFR left out: {error}")
        return
    for num_seats, ours, other, name in (
        (3, three, compiled, "C++"),
        (4, four, compiled, "C++"),
        (3, three, plain, "Python"),
    ):
        mine, theirs, ratio = compare(ours, other, seconds)
        report.add(what.format(num_seats), mine, f"OpenSpiel's {name} CFR, leduc_poker: {theirs:,.0f}", ratio)


_FIRST_STEP = """
import time
start = time.perf_counter()
import pettingzoo, gnav_env
env = pettingzoo.make("aec", "gnav/gnav-v0")
env.reset(seed=1)
env.last()
env.step(0)
print(time.perf_counter() - start)
"""


SCRIPTED = ("uniform", "stand", "exchange", "threshold:III", "threshold:V", "threshold:VII", "tips", "counting")


def tournament_chunk(agents: tuple[str, ...], num_blocks: int) -> Chunk:
    """A whole tournament at six seats in one process: made, played, kept, figured out and reported."""
    from gnav_agents.arena import make_plan, play_in_folder

    plan = make_plan(agents, blocks=num_blocks)

    def chunk() -> int:
        with tempfile.TemporaryDirectory() as folder:
            return play_in_folder(plan, folder).num_decisions

    return chunk


def bench_arena(report: Report, seconds: float) -> None:
    """Tournaments, statistics and files included, beside the bare batch of tables."""
    from gnav_agents.learned import Network, save_agent
    from gnav_env.observation import num_features
    from gnav_env.variants import get_rules

    # a report takes two seconds, however long the tournament: 11 million decisions a turn leave them their place
    ours, _, ratio = compare(tournament_chunk(SCRIPTED, max(500, int(40_000 * seconds))), tables_chunk(), seconds)
    report.add("tournament, 6 seats, scripted agents", ours, "bare batched step", ratio, "1,000,000/s")
    rng = np.random.default_rng(0)
    sizes = [num_features(6), 128, 128, 2]
    weights = [rng.normal(0, inputs**-0.5, (inputs, outputs)) for inputs, outputs in pairwise(sizes)]
    network = Network(
        tuple(weight.astype(np.float32) for weight in weights),
        tuple(np.zeros(size, np.float32) for size in sizes[1:]),
    )
    rules = get_rules("pagat")
    with tempfile.TemporaryDirectory() as folder:
        save_agent(folder, network, {"rules": {"name": rules.name, "hash": rules.hash}})
        ours, _, ratio = compare(tournament_chunk((folder,), max(200, int(2000 * seconds))), tables_chunk(), seconds)
    report.add("tournament, 6 seats, a learned 2x128 alone", ours, "bare batched step", ratio, "100,000/s")


def bench_start(report: Report, seconds: float) -> None:
    """Import and first step of a new process, with a cold and with a warm cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GNAV_CACHE_DIR": folder}

        def first_step() -> float:
            done = subprocess.run(
                [sys.executable, "-c", _FIRST_STEP],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            return float(done.stdout)

        cold = first_step()
        kernels = sorted({path.name.split("-")[0] for path in Path(folder).rglob("*.nbi")})
        files = sorted({name.partition(".")[0] for name in kernels})
        warm = statistics.median(first_step() for _ in range(3))
    report.note("import and first step, warm cache", f"{warm:.2f} s (wanted < 3 s)")
    report.note(
        "import and first step, cold cache",
        f"{cold:.1f} s; compiles {len(kernels)} kernels: {', '.join(files)}",
    )


PARTS: dict[str, Callable[[Report, float], None]] = {
    "aec": bench_aec,
    "batch": bench_batch,
    "matches": bench_matches,
    "arena": bench_arena,
    "solve": bench_solve,
    "training": bench_training,
    "start": bench_start,
}


def main() -> None:
    """Measure the parts asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "all"], default="all", help="what to measure")
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds a turn (default: 1)")
    options = parser.parse_args()
    report = Report()
    for name in PARTS:
        if name not in options.parts and "all" not in options.parts:
            continue
        print(f"measuring {name} ...", file=sys.stderr)
        PARTS[name](report, options.seconds)
    Console(width=160).print(report.table)


if __name__ == "__main__":
    main()
