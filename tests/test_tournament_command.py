"""`gnav tournament` and `gnav merge`: what they are told, in a file and in options, is what is played and kept."""

import json
import shlex
from pathlib import Path

import pytest

from gnav_agents.arena import gains, read_summary
from gnav_agents.arena.config import read_config
from gnav_agents.arena.plan import DEFAULT_BLOCKS, DEFAULT_GAINS, DEFAULT_TIME_LIMIT, plan_of
from gnav_agents.arena.store import ERRORS, RESULTS, Store
from gnav_agents.arena.tournament import REPORTS
from gnav_env.errors import GnavError
from tournaments import Shell, contents, make_units_small

LONG_NIGHT = Path(__file__).parents[1] / "configs" / "variants" / "long_night.yaml"
SMALL = ("--agents", "stand, threshold:IV", "--seats", "3", "--blocks", "5")

FILE = """\
# a small tournament
agents: [tips, uniform, "threshold:IV"]
rules: letters
seats: [3, 5]
fields:
  mixed: 6
  invasion:
blocks: 8
seed: 4
time_limit: 2.5
"""


@pytest.fixture
def gnav(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gains, "_NUM_DEALS", 600)  # quick, if not worth much
    return Shell(monkeypatch, capsys)


def plan_in(folder):
    """The plan of what a folder holds."""
    return plan_of(Store(folder).plan["identity"])


# ------------------------------------------------------------------------------------------------------- playing


def test_the_command_ranks_the_agents_it_is_given_and_writes_the_folder(gnav, tmp_path):
    assert gnav("tournament", *SMALL, "--out", "a", "--record", "matches") == 0
    assert "threshold:IV" in gnav.out and "stand" in gnav.out
    assert "15 matches in" in gnav.out and "decisions/s" in gnav.out
    assert len(list((tmp_path / "matches").iterdir())) == 15
    assert set(contents(tmp_path / "a")) >= {RESULTS, ERRORS, *REPORTS}
    assert all(name in gnav.out for name in (RESULTS, *REPORTS))
    assert gnav("replay", *sorted((tmp_path / "matches").iterdir())[:1]) == 0
    assert gnav("tournament", *SMALL, "--out", "a") == 0
    assert "0 matches in" in gnav.out and "15 were there already" in gnav.out


def test_without_a_name_the_folder_is_called_after_what_is_played(gnav, tmp_path):
    assert gnav("tournament", "--agents", "tips,uniform", "--rules", "le_her", "--blocks", "3") == 0
    folder = tmp_path / "results" / "le_her-2-seats-mixed-3-seed-0"
    assert plan_in(folder).seats == (2,)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--agents", "tips,uniform,threshold:IV", "--seats", "2,5", "--fields", "mixed,reference:threshold:IV=3,self"),
        ("--agents", "uniform,stand", "--rules", str(LONG_NIGHT), "--fields", "invasion=4,mixed=7"),
        ("--agents", "uniform", "--rules", "le_her", "--time-limit", "0.5", "--trust", "--seed", str(2**63 - 1)),
    ],
    ids=["fields", "rules from a file", "the rest"],
)
def test_the_command_in_the_summary_plays_the_same_tournament_again_byte_for_byte(gnav, tmp_path, arguments):
    assert gnav("tournament", *arguments, "--blocks", "6", "--out", "a") == 0
    command = shlex.split(json.loads((tmp_path / "a" / "summary.json").read_text())["command"])
    assert command[0] == "gnav"
    assert gnav(*command[1:], "--out", "b") == 0
    assert contents(tmp_path / "b") == contents(tmp_path / "a")


def test_shards_are_played_by_their_numbers_and_merged_into_the_whole(gnav, tmp_path, monkeypatch):
    make_units_small(monkeypatch, 6)
    assert gnav("tournament", *SMALL, "--out", "whole") == 0
    for number in range(2):
        assert gnav("tournament", *SMALL, "--shard", f"{number}/2", "--out", f"shard{number}") == 0
        assert f"gnav merge shard{number} ... --out FOLDER" in gnav.out
    assert gnav("merge", "shard1", "shard0", "--out", "merged") == 0
    assert "threshold:IV" in gnav.out
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")
    assert gnav("merge", "shard1", "--out", "half") == 2
    assert "missing" in gnav.err
    assert gnav("merge", "shard0", "shard1", "--out", "shard0") == 2
    assert gnav("merge", "nowhere", "--out", "merged") == 2
    assert "nowhere" in gnav.err


def test_another_tournament_in_the_folder_is_refused_unless_it_may_be_replaced(gnav, tmp_path):
    assert gnav("tournament", *SMALL, "--out", "a") == 0
    before = contents(tmp_path / "a")
    assert gnav("tournament", *SMALL, "--seed", "1", "--out", "a") == 2
    assert "holds another tournament" in gnav.err and "--overwrite" in gnav.err
    assert contents(tmp_path / "a") == before
    assert gnav("tournament", *SMALL, "--seed", "1", "--out", "a", "--overwrite") == 0
    assert read_summary(tmp_path / "a").plan.seed == 1


STRANGERS = """
class Raising:
    def act(self, observation, action_mask, rng):
        raise RuntimeError("boom")

class Illegal:
    def act(self, observation, action_mask, rng):
        return [7] * len(action_mask)
"""


def test_who_fails_is_told_on_the_screen_and_with_strict_ends_the_run(gnav, tmp_path):
    (tmp_path / "outsiders.py").write_text(STRANGERS)
    arguments = ("tournament", "--agents", "tips,outsiders:Raising,outsiders:Illegal", "--seats", "3", "--blocks", "2")
    assert gnav(*arguments, "--out", "a") == 0
    forfeits = read_summary(tmp_path / "a").counts.forfeits
    assert forfeits > 6
    assert f"{forfeits} entries were forfeited: a/errors.csv says by whom and why" in gnav.out
    rows = (tmp_path / "a" / ERRORS).read_text().splitlines()
    assert len(rows) == 1 + forfeits
    assert any("outsiders:Raising" in row and "RuntimeError: boom" in row for row in rows)
    assert any("outsiders:Illegal" in row and "an action is 0 (STAND) or 1 (EXCHANGE), not 7" in row for row in rows)
    assert gnav(*arguments, "--out", "b", "--strict") == 2
    assert "agent outsiders:" in gnav.err and "failed" in gnav.err and "Traceback" not in gnav.err
    assert RESULTS not in contents(tmp_path / "b")


# ----------------------------------------------------------------------------------------- a file and its options


def write(folder, text):
    path = folder / "small.yaml"
    path.write_text(text)
    return path


def test_a_file_says_what_is_played_and_options_come_on_top(gnav, tmp_path):
    write(tmp_path, FILE)
    assert gnav("tournament", "small.yaml", "--out", "a") == 0
    plan = plan_in(tmp_path / "a")
    assert plan.names == ("tips", "uniform", "threshold:IV")
    assert (plan.rules.name, plan.seats, plan.seed, plan.time_limit) == ("letters", (3, 5), 4, 2.5)
    assert plan.blocks == (("mixed", 6), ("invasion", 8))
    options = ("--agents", "tips,stand", "--seats", "4", "--fields", "self=3,mixed", "--seed", "9", "--blocks", "2")
    assert gnav("tournament", "small.yaml", *options, "--rules", "pagat", "--time-limit", "7", "--out", "b") == 0
    plan = plan_in(tmp_path / "b")
    assert plan.names == ("tips", "stand")
    assert (plan.rules.name, plan.seats, plan.seed, plan.time_limit) == ("pagat", (4,), 9, 7)
    assert plan.blocks == (("self", 3), ("mixed", 2))


def test_what_is_left_out_is_as_usual(tmp_path):
    config = read_config(write(tmp_path, "agents: tips\n"), {})
    assert dict(config) == {
        "agents": ("tips",),
        "rules": "pagat",
        "seats": None,
        "fields": {"mixed": None},
        "blocks": DEFAULT_BLOCKS,
        "seed": 0,
        "time_limit": DEFAULT_TIME_LIMIT,
        "gains": DEFAULT_GAINS,
    }


@pytest.mark.parametrize(
    ("text", "seats"),
    [("seats: 6", (6,)), ("seats: [2, 6]", (2, 6)), ('seats: "2, 6,12"', (2, 6, 12)), ("seats:", None)],
)
def test_seats_are_a_number_a_list_or_text(tmp_path, text, seats):
    assert read_config(write(tmp_path, f"agents: [tips]\n{text}\n"), {}).seats == seats


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("fields: mixed", {"mixed": None}),
        ("fields: mixed, reference:threshold:IV=20,self = 3", {"mixed": None, "reference:threshold:IV": 20, "self": 3}),
        ("fields: [invasion, mixed=5]", {"invasion": None, "mixed": 5}),
        ("fields:\n  mixed: 7\n  reference:tips:\n  self: 2", {"mixed": 7, "reference:tips": None, "self": 2}),
    ],
)
def test_fields_are_a_mapping_a_list_or_text(tmp_path, text, fields):
    found = read_config(write(tmp_path, f"agents: tips, uniform\n{text}\n"), {}).fields
    assert list(found.items()) == list(fields.items())


@pytest.mark.parametrize(
    ("line", "wrong", "sentence"),
    [
        (4, "seats: [3, x]", "small.yaml:4: seats.1 is 'x'"),
        (4, "saets: 3", "small.yaml:4: unknown key 'saets' (did you mean 'seats'?); the keys are agents, rules"),
        (4, "seats: 2.5", "small.yaml:4: seats is"),
        (6, "  mixed: 0", "small.yaml:6: fields.mixed is 0: input should be greater than or equal to 1"),
        (6, "  mixed: many", "small.yaml:6: fields.mixed is 'many'"),
        (8, "blocks: 0", "small.yaml:8: blocks is 0"),
        (8, "blocks: 1e400", "small.yaml:8: blocks is"),
        (9, "seed: -1", "small.yaml:9: seed is -1: input should be greater than or equal to 0"),
        (9, "seed: [1", "small.yaml:"),
        (10, "time_limit: 0", "small.yaml:10: time_limit is 0"),
        (10, "trust: true", "small.yaml:10: unknown key 'trust'"),
        (2, "seed: 3", "small.yaml"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_line_and_nothing_is_left(gnav, tmp_path, line, wrong, sentence):
    lines = FILE.splitlines()
    lines[line - 1] = wrong
    write(tmp_path, "\n".join(lines) + "\n")
    assert gnav("tournament", "small.yaml", "--out", "a") == 2
    assert sentence in gnav.err
    assert not (tmp_path / "a").exists()


def test_a_file_without_agents_is_told_what_is_missing(tmp_path):
    with pytest.raises(GnavError, match="the key 'agents' is missing"):
        read_config(write(tmp_path, "seats: 6\n"), {})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "a tournament needs agents, as in --agents tips,uniform, or a file as in configs/arena"),
        (("nowhere.yaml",), "nowhere.yaml: there is no such file"),
        (("--agents", "tips", "--seats", "4,x"), "--seats: seats.1 is 'x'"),
        (("--agents", "tips", "--fields", "mixed=x"), "--fields: fields.mixed is 'x'"),
        (("--agents", "tips", "--fields", "mixed=0"), "--fields: fields.mixed is 0"),
        (("--agents", "tips", "--fields", "mixd"), "the fields are mixed, invasion, self and reference:AGENT"),
        (("--agents", "tips", "--blocks", "0"), "--blocks: blocks is 0"),
        (("--agents", "tips", "--seed", "-1"), "--seed: seed is -1"),
        (("--agents", "tips", "--time-limit", "-1"), "--time-limit: time_limit is -1"),
        (("--agents", "tips,,uniform"), "an agent's name is missing"),
        (("--agents", "tips,tips"), "agent tips is listed twice"),
        (("--agents", "tips,tipz"), "did you mean 'tips'"),
        (("--agents", "tips,runs/none"), "runs/none"),
        (("--agents", "tips", "--seats", "38"), "seats must be 2 to 37"),
        (("--agents", "tips", "--shard", "2/2"), "shard must be 0/N to N-1/N, not 2/2"),
        (("--agents", "tips", "--shard", "half"), "--shard half: write I/N"),
    ],
)
def test_a_tournament_that_cannot_be_is_a_sentence_and_leaves_no_folder(gnav, tmp_path, arguments, sentence):
    assert gnav("tournament", *arguments, "--out", "a") == 2
    assert sentence in gnav.err
    assert "Traceback" not in gnav.err
    assert not (tmp_path / "a").exists()


def test_files_that_run_code_are_read_only_with_trust(gnav, tmp_path):
    (tmp_path / "fox.zip").write_bytes(b"PK")
    assert gnav("tournament", "--agents", "tips,fox.zip", "--blocks", "2", "--out", "a") == 2
    assert "--trust" in gnav.err
    assert not (tmp_path / "a").exists()
