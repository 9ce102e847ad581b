"""The compiler: it changes no byte, and its cache is never stale."""

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gnav_agents
import gnav_env
from gnav_env import VARIANTS, Tables
from gnav_env._jit import IS_COMPILED, cache_folder
from matches import seats_for


def digest(num_steps: int = 60) -> str:
    """A hash of all that some matches of every ruleset leave: records, observations, masks."""
    sha = hashlib.sha256()
    for rules in VARIANTS.values():
        num_seats = seats_for(rules, 4)
        tables = Tables(rules, num_seats, 3, seed=5)
        luck = np.random.default_rng(2)
        for _ in range(num_steps):
            wish = luck.integers(0, 2, 3)
            legal = tables.action_mask[np.arange(3), wish] != 0
            tables.step(np.where(legal, wish, 1 - wish))
            for seat in range(num_seats):
                sha.update(tables.observe(np.full(3, seat)).tobytes())
            sha.update(tables.observation.tobytes() + tables.action_mask.tobytes() + tables.records.tobytes())
    return sha.hexdigest()


def printed(code: str, **variables: str) -> str:
    """What a new Python prints that runs `code`, with these environment variables."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(not IS_COMPILED, reason="compares compiled with plain Python")
def test_compiled_and_plain_python_leave_the_same_bytes() -> None:
    code = "import test_jit; print(test_jit.digest())"
    assert printed(code, NUMBA_DISABLE_JIT="1") == digest()


def test_an_edit_in_another_file_is_another_cache(tmp_path: Path) -> None:
    """numba looks only at the file that holds a kernel (numba issue 1833)."""
    package = tmp_path / "gnav_env"
    shutil.copytree(Path(gnav_env.__file__).parent, package)
    before = cache_folder(package)
    shutil.copytree(package, tmp_path / "edited" / "gnav_env")
    with (tmp_path / "edited" / "gnav_env" / "cards.py").open("a") as file:
        file.write("# an edit\n")
    assert cache_folder(tmp_path / "edited" / "gnav_env").name != before.name


def test_bounds_checks_have_a_cache_of_their_own() -> None:
    code = "from gnav_env._jit import cache_folder; print(cache_folder())"
    names = {printed(code, NUMBA_BOUNDSCHECK=value) for value in ("0", "1")}
    assert len(names) == 2


@pytest.mark.slow
def test_no_kernel_reaches_outside_its_arrays() -> None:
    """The same matches with numba's bounds checks on, at the most seats that each deck serves."""
    code = (
        "import numpy as np, test_jit\n"
        "from gnav_env import VARIANTS, Tables\n"
        "for rules in VARIANTS.values():\n"
        "    tables = Tables(rules, rules.seat_limit, 2, seed=1)\n"
        "    for step in range(400):\n"
        "        tables.step(np.where(tables.action_mask.all(1), step % 2, tables.action_mask[:, 1]))\n"
        "print(test_jit.digest())"
    )
    assert printed(code, NUMBA_BOUNDSCHECK="1") == digest()


def test_no_kernel_makes_records_of_its_own() -> None:
    """numba frees an array of records once nothing but a record of it is looked at; callers hold on to theirs."""
    sources = [source for package in (gnav_env, gnav_agents) for source in Path(package.__path__[0]).rglob("*.py")]
    makers = {
        f"{source.name}: {function.name}"
        for source in sources
        for function in ast.walk(ast.parse(source.read_text()))
        if isinstance(function, ast.FunctionDef)
        and any(ast.unparse(one) == "kernel" for one in function.decorator_list)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("np.zeros", "np.empty", "np.full")
        if any(isinstance(argument, ast.Name) and argument.id.isupper() for argument in call.args[1:])
    }
    assert makers == set()
