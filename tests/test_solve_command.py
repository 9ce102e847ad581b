"""`gnav solve`: what it counts, what it leaves behind, what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gnav_agents.cli import app
from gnav_agents.match_equilibrium import MatchEquilibrium
from gnav_agents.registry import make_agent
from gnav_agents.solve.match_file import MatchValues
from gnav_agents.solve.nashconv import NashConv
from gnav_agents.solve.situation_policy import SituationPolicy
from gnav_agents.solve.solution import read_header
from gnav_env import GnavError
from gnav_env.reading import rules_to_yaml
from gnav_env.variants import get_rules


def run(*words: object) -> str:
    """What the command prints."""
    result = CliRunner().invoke(app, ["solve", *map(str, words)], catch_exceptions=False, env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    return result.output


def test_information_states_are_counted() -> None:
    said = run("--count", "--rules", "pagat", "--seats", "2-3")
    assert "420" in said
    assert "3,101" in said
    assert "83 754 2,264" in said


def test_without_anything_it_says_what_it_can_do() -> None:
    assert "deal" in run()


def test_a_deal_is_solved_certified_and_played(tmp_path: Path) -> None:
    said = run("deal", "--seats", 2, "--out", tmp_path / "two.npz")
    assert "NashConv by going through all deals with the engine" in said
    assert read_header(tmp_path / "two.npz").nash_conv < 1e-6
    make_agent(f"equilibrium:{tmp_path / 'two.npz'}", "pagat", 2)
    with pytest.raises(GnavError, match="is there already"):
        run("deal", "--seats", 2, "--out", tmp_path / "two.npz")


def test_a_certificate_that_says_otherwise_is_an_error_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = NashConv(values=np.zeros(2), gains=np.array([1e-3, 0.0]))
    monkeypatch.setattr("gnav_agents.solve.nashconv.nash_conv", lambda *_, **__: wrong)
    with pytest.raises(GnavError, match=r"1.00e-03 by going through all deals"):
        run("deal", "--seats", 2, "--out", tmp_path / "two.npz")
    assert not (tmp_path / "two.npz").exists()


def test_what_cannot_be_written_is_said_before_anything_is_solved(tmp_path: Path) -> None:
    with pytest.raises(GnavError, match="is a folder: --out names the file"):
        run("deal", "--seats", 6, "--out", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(GnavError, match="cannot be written to"):
        run("deal", "--seats", 6, "--out", tmp_path / "file" / "six.npz")


def test_a_tolerance_that_is_not_reached_is_said(tmp_path: Path) -> None:
    assert "more than the tolerance" in run("deal", "--seats", 2, "--tolerance", 0, "--out", tmp_path / "two.npz")


def test_where_smaller_tables_are_missing_it_is_said(tmp_path: Path) -> None:
    said = run("deal", "--rules", "ranter", "--seats", 3, "--no-check", "--out", tmp_path / "three.npz")
    assert "with the tables of 2 to 2 seats in the same folder" in said
    with pytest.raises(GnavError, match="a deal of 2 seats"):
        make_agent(f"equilibrium:{tmp_path}", "ranter", 3)
    run("deal", "--rules", "ranter", "--seats", 2, "--no-check", "--out", tmp_path / "two.npz")
    run("deal", "--seats", 7, "--iterations", 1, "--out", tmp_path / "sampled.npz")  # is passed over
    make_agent(f"equilibrium:{tmp_path}", "ranter", 3)
    with pytest.raises(GnavError, match=r"has no solved deals of letters .*, only of ranter"):
        make_agent(f"equilibrium:{tmp_path}", "letters", 3)


def test_a_large_deal_is_solved_by_samples_and_played(tmp_path: Path) -> None:
    said = run("deal", "--seats", 7, "--iterations", 2, "--out", tmp_path / "seven.npz")
    assert "a lower bound" in said
    assert isinstance(make_agent(f"equilibrium:{tmp_path / 'seven.npz'}", "pagat", 7), SituationPolicy)


def test_the_abstraction_is_measured_where_the_exact_solver_reaches(tmp_path: Path) -> None:
    said = run("deal", "--seats", 3, "--sampled", "--iterations", 20, "--out", tmp_path / "three.npz")
    assert "a lower bound" in said
    loss = float(said.split("by the best responses themselves: ")[1].split()[0])
    assert 0 < loss < 0.01
    assert isinstance(make_agent(f"equilibrium:{tmp_path / 'three.npz'}", "pagat", 3), SituationPolicy)


def test_a_match_is_solved_and_played(tmp_path: Path) -> None:
    said = run("match", "--seats", 2, "--lives", 1, "--out", tmp_path / "match")
    assert "match_equilibrium:" in said
    values = MatchValues.load(tmp_path / "match" / "values.json")
    assert sum(values.value([1, 1])) == pytest.approx(1)
    assert f"--rules {tmp_path / 'match' / 'rules.yaml'}" in said.replace("\n", "")
    agent = make_agent(f"match_equilibrium:{tmp_path / 'match'}", str(tmp_path / "match" / "rules.yaml"), 2)
    assert isinstance(agent, MatchEquilibrium)
    with pytest.raises(GnavError, match="not for pagat"):
        make_agent(f"match_equilibrium:{tmp_path / 'match'}", "pagat", 2)


def test_what_comes_with_the_package_is_for_four_seats_at_most() -> None:
    make_agent("match_equilibrium", "pagat", 4)
    with pytest.raises(GnavError, match="is for 2 to 4 seats, not 5"):
        make_agent("match_equilibrium", "pagat", 5)
    with pytest.raises(GnavError, match="no match of letters comes with the package"):
        make_agent("match_equilibrium", "letters", 3)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("deal", "--seats", 1), "seats must be 2 to 6 to be solved exactly, not 1"),
        (("deal", "--rules", "kille", "--seats", 3), "cannot be solved exactly: it has when_exchanged"),
        (("--count", "--rules", "silent"), "speech: silent"),
        (("deal", "--rules", "{dealt}", "--seats", 2), "specials counted as they were dealt"),
        (("match", "--rules", "{reenter}", "--seats", 3), "seats that are out come back into it"),
    ],
)
def test_what_it_refuses_is_said(words: tuple[object, ...], error: str, tmp_path: Path) -> None:
    more = ("--out", tmp_path / "x.npz") if words[0] in ("deal", "match") else ()
    named = {}
    for name, change in (("dealt", {"count_at": "dealt"}), ("reenter", {"all_out": "all_reenter"})):
        named[name] = tmp_path / f"{name}.yaml"
        named[name].write_text(rules_to_yaml(get_rules("pagat").replace(**change)))
    with pytest.raises(GnavError, match=error):
        run(*(str(word).format(**named) for word in words), *more)
