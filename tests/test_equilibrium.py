"""The agent `equilibrium` and the files of solved deals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gnav_agents.equilibrium import Equilibrium
from gnav_agents.solve.deal import SolvedDeal, solve_deal
from gnav_agents.solve.solution import load_solution, read_header, save_solution
from gnav_env import VARIANTS, GnavError, Table
from gnav_env.state import net_lives

PAGAT = VARIANTS["pagat"].replace(name="house_pagat", ante=1)
"""As pagat, but nothing that comes with the package is for it."""
SEATS = (2, 3, 4)


@pytest.fixture(scope="module")
def solved() -> dict[int, SolvedDeal]:
    return {number: solve_deal(PAGAT, number) for number in SEATS}


@pytest.fixture(scope="module")
def folder(solved: dict[int, SolvedDeal], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("solved")
    for number, deal in solved.items():
        save(path / f"{number}.npz", deal)
    return path


def save(path: Path, deal: SolvedDeal) -> None:
    save_solution(path, deal.tree, deal.stand, nash_conv=deal.nash_conv, solved={"rounds": deal.num_rounds})


def looks(tables: list[Table]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """What the seats to act at the tables see, [B, F], and may do, [B, A]."""
    rows = [table.observe(table.to_act) for table in tables if table.to_act is not None]
    return np.stack([row for row, _ in rows]), np.stack([row for _, row in rows])


def played(agent: Equilibrium, tables: list[Table], rng: np.random.Generator) -> int:
    """Deals of `tables` are over; so many choices had no state."""
    num_unknown = 0
    while waiting := [table for table in tables if table.to_act is not None]:
        observation, mask = looks(waiting)
        num_unknown += int((agent.find(observation)[1] < 0).sum())
        for table, action in zip(waiting, agent.act(observation, mask, rng), strict=True):
            table.act(int(action))
    return num_unknown


@pytest.mark.parametrize("num_seats", SEATS)
def test_played_deals_are_worth_what_the_solver_says(
    num_seats: int, solved: dict[int, SolvedDeal], folder: Path
) -> None:
    agent = Equilibrium(PAGAT, num_seats, folder)
    tables = [Table(PAGAT, num_seats, match=match, first_dealer=num_seats - 1) for match in range(4000)]
    for table in tables:
        table.deal()
    assert played(agent, tables, np.random.default_rng(0)) == 0
    lives = np.array([[net_lives(table.record, seat) for seat in range(num_seats)] for table in tables])
    error = lives.std(axis=0, ddof=1) / np.sqrt(len(tables))
    assert (np.abs(lives.mean(axis=0) - solved[num_seats].values) < 4 * error).all()


def test_in_whole_matches_seats_fall_and_smaller_tables_are_played(folder: Path) -> None:
    agent, rng = Equilibrium(PAGAT, 4, folder), np.random.default_rng(0)
    tables = [Table(PAGAT, 4, match=match) for match in range(150)]
    num_unknown, sizes = 0, set[int]()
    while running := [table for table in tables if not table.is_over]:
        for table in running:
            table.deal()
        sizes |= set(agent.find(looks(running)[0])[0].tolist())
        num_unknown += played(agent, running, rng)
    assert sizes == {2, 3, 4}
    assert num_unknown == 0


def test_two_seats_that_are_left_of_six_play_as_two(folder: Path) -> None:
    agent = Equilibrium(PAGAT, 4, folder)
    small = [Table(PAGAT, 2, match=match, first_dealer=1) for match in range(50)]
    large = [Table(PAGAT, 6, first_dealer=4, lives=[0, 0, 3, 0, 3, 0]) for _ in small]
    for two, six in zip(small, large, strict=True):
        two.deal()
        cards = two.deck
        six.deal([cards[2], cards[3], cards[0], cards[4], cards[1], cards[5], *cards[6:]])
    of_small, of_large = (agent.probabilities(*looks(tables)) for tables in (small, large))
    np.testing.assert_array_equal(of_large, of_small)
    assert 0 < of_small[:, 0].mean() < 1


def test_a_seat_that_no_table_knows_keeps_the_better_half(folder: Path) -> None:
    agent = Equilibrium(PAGAT, 4, folder)
    for card, stand in (("2", 0), ("11", 1)):
        table = Table(PAGAT, 6, first_dealer=5)
        table.deal([card, "5", "6", "7", "8", "9"])
        assert agent.find(looks([table])[0])[1].tolist() == [-1]
        assert agent.probabilities(*looks([table])).tolist() == [[stand, 1 - stand]]


def test_what_is_illegal_is_not_played(folder: Path) -> None:
    agent = Equilibrium(PAGAT, 2, folder)
    table = Table(PAGAT, 2, first_dealer=1)
    table.deal()
    observation, _ = looks([table])
    for mask in ([1, 0], [0, 1]):
        assert agent.probabilities(observation, np.array([mask], np.int8)).tolist() == [mask]


def test_a_solution_comes_back_as_it_was_and_is_the_same_bytes_each_time(
    solved: dict[int, SolvedDeal], tmp_path: Path
) -> None:
    deal = solved[3]
    stand = deal.stand.copy()
    stand[:40] = np.linspace(0, 1, 40)
    for name in ("one.npz", "other.npz"):
        save_solution(tmp_path / name, deal.tree, stand, nash_conv=0.25, solved={"rounds": 7})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()
    solution = load_solution(tmp_path / "one.npz", PAGAT)
    np.testing.assert_array_equal(solution.stand, stand)
    header = read_header(tmp_path / "one.npz")
    assert header == solution.header
    assert (header.rules_name, header.num_seats, header.num_states) == ("house_pagat", 3, deal.tree.num_states)
    assert (header.nash_conv, header.solved) == (0.25, {"rounds": 7})


def test_four_seats_take_a_few_kilobytes(folder: Path) -> None:
    assert (folder / "4.npz").stat().st_size < 6000


def test_policies_that_are_none_are_not_saved(solved: dict[int, SolvedDeal], tmp_path: Path) -> None:
    deal = solved[2]
    for stand in (deal.stand[1:], deal.stand + 0.5, deal.stand * np.nan):
        with pytest.raises(GnavError, match=f"{deal.tree.num_states} probabilities"):
            save_solution(tmp_path / "x.npz", deal.tree, stand, nash_conv=0.0, solved={})


def test_files_of_other_rules_broken_ones_and_pickles_are_refused(folder: Path, tmp_path: Path) -> None:
    path = folder / "2.npz"
    with pytest.raises(GnavError, match="not of letters"):
        load_solution(path, "letters")
    with pytest.raises(GnavError, match="not of letters"):
        Equilibrium("letters", 2, path)
    with pytest.raises(GnavError, match="no such file"):
        load_solution(tmp_path / "none.npz", PAGAT)
    broken = tmp_path / "broken.npz"
    for content in (b"", b"words", path.read_bytes()[:700]):
        broken.write_bytes(content)
        with pytest.raises(GnavError, match="is no solved deal, or is damaged"):
            load_solution(broken, PAGAT)
    np.savez(broken, **changed(path, rows=np.array([{}], object)))
    with pytest.raises(GnavError, match="is no solved deal, or is damaged"):
        load_solution(broken, PAGAT)


def changed(path: Path, **arrays: Any) -> dict[str, Any]:
    """The arrays of the file, with others in the place of some."""
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files} | arrays


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("kind", lambda kind: kind + 1000),
        ("kind", lambda kind: kind[:-1]),
        ("holders", lambda holders: holders + 9),
        ("stands", lambda stands: stands[:-1]),
        ("mixed_stand", lambda chances: chances + 1),
        ("mixed", lambda numbers: numbers + np.uint32(10_000)),
        ("ranks", lambda ranks: ranks * np.uint32(0)),
    ],
)
def test_numbers_that_mean_nothing_are_refused(folder: Path, tmp_path: Path, name: str, change: Any) -> None:
    path = tmp_path / "2.npz"
    np.savez(path, **changed(folder / "2.npz", **{name: change(changed(folder / "2.npz")[name])}))
    with pytest.raises(GnavError, match="damaged"):
        load_solution(path, PAGAT)


def test_another_version_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "2.npz"
    header = json.loads(changed(folder / "2.npz")["header"].tobytes()) | {"format": 99}
    np.savez(path, **changed(folder / "2.npz", header=np.frombuffer(json.dumps(header).encode(), np.uint8)))
    with pytest.raises(GnavError, match="another version"):
        read_header(path)


def test_a_number_of_seats_that_is_not_solved_is_an_error_at_the_door(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GnavError, match=r"a deal of 5, 6 seats .* gnav solve deal --rules house_pagat --seats 5"):
        Equilibrium(PAGAT, 6, folder)
    with pytest.raises(GnavError, match="a deal of 2 seats"):
        Equilibrium(PAGAT, 3, folder / "3.npz")
    with pytest.raises(GnavError, match="has no solved deals"):
        Equilibrium(PAGAT, 2, tmp_path)
