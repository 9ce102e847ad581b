"""From names to agents: ours, other packages', trained ones and modules; what is said if there is none."""

import re
import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnav_agents import learned, registry
from gnav_agents.best_response import BestResponse
from gnav_agents.compact import Compact
from gnav_agents.counting import Counting
from gnav_agents.registry import agent_file, agent_names, describe_agents, is_foreign, made_of, make_agent
from gnav_agents.rollout import Rollout
from gnav_agents.threshold import Threshold
from gnav_agents.tips import Tips
from gnav_agents.uniform import Uniform
from gnav_env import GnavError, get_rules

FOXES = """
import numpy as np

class Plain:
    def act(self, observation, action_mask, rng):
        return action_mask.argmax(axis=1)

class Knowing(Plain):
    def __init__(self, rules, *, num_seats):
        self.rules, self.num_seats = rules, num_seats

class Seated(Plain):
    def __init__(self, num_seats, patience=3):
        self.num_seats, self.patience = num_seats, patience

class Taking(Plain):
    def __init__(self, **options):
        self.options = options

class Demanding(Plain):
    def __init__(self, patience):
        pass

class Mute:
    pass

def breed(rules):
    return Knowing(rules, num_seats=0)

reynard = Plain()
number = 7
"""


@pytest.fixture
def _foxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current directory has a module `foxes`, and the path is as with the `gnav` command."""
    (tmp_path / "foxes.py").write_text(FOXES, encoding="utf-8")
    (tmp_path / "needy.py").write_text("import no_such_package_of_foxes\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("foxes", "needy"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package offers `fox`, and a `tips` of its own."""
    offered = [
        EntryPoint(name="fox", value="foxes:Knowing", group=registry.ENTRY_POINTS),
        EntryPoint(name="tips", value="foxes:Plain", group=registry.ENTRY_POINTS),
    ]

    def entry_points(group: str) -> list[EntryPoint]:
        assert group == registry.ENTRY_POINTS
        return offered

    monkeypatch.setattr(registry, "entry_points", entry_points)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("uniform", Uniform),
        ("stand", Threshold),
        ("exchange", Threshold),
        ("threshold:VII", Threshold),
        ("tips", Tips),
        ("counting", Counting),
        ("compact", Compact),
        ("rollout:10", Rollout),
        ("best_response:threshold:VII", BestResponse),
        ("best_response:best_response:tips", BestResponse),
    ],
)
def test_our_agents_are_made_by_name(name: str, kind: type) -> None:
    assert isinstance(make_agent(name), kind)


@pytest.mark.parametrize("rank", ["VII", "vii", "7"])
def test_a_rank_may_be_written_in_several_ways(rank: str) -> None:
    assert make_agent(f"threshold:{rank}").level == get_rules("pagat").rank_numbers["7"]  # type: ignore[attr-defined]


def test_ranks_are_those_of_the_ruleset() -> None:
    for name in ("K", "king", "Konge"):
        agent: Any = make_agent(f"threshold:{name}", "joker_fool")
        assert agent.level == get_rules("joker_fool").rank_numbers["K"]
    with pytest.raises(GnavError, match=r"deck of pagat has no rank 'K'; its ranks are Cuckoo, Dragon, .*Fool$"):
        make_agent("threshold:K")
    with pytest.raises(GnavError, match=r"no rank 'huse' \(did you mean 'house'\?\)"):
        make_agent("threshold:huse")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("threshold", "agent threshold: it needs a rank, for example threshold:IV"),
        ("threshold:", "agent threshold: it needs a rank"),
        ("rollout", "agent rollout: it needs a number of deals, for example rollout:100"),
        ("rollout:many", "rollout: the number of deals must be 1 to 100000, not 'many'"),
        ("best_response", "agent best_response: it needs an agent, for example best_response:tips"),
        ("best_response:tipz", r"unknown agent 'tipz' \(did you mean 'tips'\?\)"),
        ("best_response:threshold", "agent threshold: it needs a rank"),
        ("equilibrium:nowhere.npz", "nowhere.npz: there is no such file"),
        ("uniform:3", "agent uniform: it takes no argument, so write uniform and not uniform:3"),
        ("tips:", "agent tips: it takes no argument"),
        ("tipz", r"unknown agent 'tipz' \(did you mean 'tips'\?\); the agents are uniform, stand, exchange"),
        ("treshold:VII", r"\(did you mean 'threshold'\?\).* there is no module treshold either"),
        ("", "unknown agent ''"),
        ("no_such_folder/best", "agent no_such_folder/best: .* does not exist"),
    ],
)
def test_a_name_without_an_agent_brings_a_sentence_that_helps(name: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        make_agent(name)


def test_rules_and_seats_are_checked_at_the_door() -> None:
    with pytest.raises(GnavError, match="unknown ruleset"):
        make_agent("tips", "pagta")
    with pytest.raises(GnavError, match="seats must be 3 to"):
        make_agent("tips", "letters", 2)


@pytest.mark.usefixtures("_foxes")
def test_a_module_in_the_current_directory_can_be_named() -> None:
    agent = make_agent("foxes:Plain")
    mask = np.array([[0, 1], [1, 1]], np.int8)
    assert list(agent.act(np.zeros((2, 150), np.float32), mask, np.random.default_rng(0))) == [1, 0]


@pytest.mark.usefixtures("_foxes")
def test_a_class_is_called_with_what_it_takes_of_rules_and_num_seats() -> None:
    knowing: Any = make_agent("foxes:Knowing", "letters", 4)
    assert (knowing.rules.name, knowing.num_seats) == ("letters", 4)
    seated: Any = make_agent("foxes:Seated", num_seats=5)
    assert (seated.num_seats, seated.patience) == (5, 3)
    taking: Any = make_agent("foxes:Taking", num_seats=5)
    assert taking.options == {"rules": get_rules("pagat"), "num_seats": 5}
    bred: Any = make_agent("foxes:breed", "letters")
    assert bred.rules.name == "letters"


@pytest.mark.usefixtures("_foxes")
def test_an_object_with_act_is_used_as_it_is() -> None:
    assert make_agent("foxes:reynard") is sys.modules["foxes"].reynard


@pytest.mark.usefixtures("_foxes")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("foxes:Mute", r"agent foxes:Mute: Mute has no method act\(observation, action_mask, rng\)"),
        ("foxes:number", "agent foxes:number: int has no method act"),
        ("foxes:Plane", r"module foxes has no Plane \(did you mean 'Plain'\?\)"),
        ("foxes:Demanding", "agent foxes:Demanding: it may take rules= and num_seats= .*'patience'"),
        ("wolves:Plain", "unknown agent 'wolves:Plain'.* there is no module wolves either"),
        ("foxes.cubs:Plain", "unknown agent 'foxes.cubs:Plain'"),
        (
            "needy:Plain",
            "agent needy:Plain: its module needs no_such_package_of_foxes, which is not installed",
        ),
    ],
)
def test_what_is_wrong_with_a_module_is_said(name: str, message: str) -> None:
    with pytest.raises(GnavError, match=message):
        make_agent(name)


@pytest.mark.usefixtures("_foxes", "_offered")
def test_an_installed_package_can_offer_an_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    agent: Any = make_agent("fox", "letters", 4)
    assert (agent.rules.name, agent.num_seats) == ("letters", 4)
    assert "fox" in agent_names()
    assert describe_agents()["fox"].startswith("foxes:Knowing, from")
    with pytest.raises(GnavError, match=r"unknown agent 'foks' \(did you mean 'fox'\?\)"):
        make_agent("foks")


@pytest.mark.usefixtures("_foxes", "_offered")
def test_a_name_of_ours_wins_over_that_of_another_package() -> None:
    assert isinstance(make_agent("tips"), Tips)
    assert agent_names().count("tips") == 1
    assert describe_agents()["tips"] == "the advice that texts of the rules give"


@pytest.mark.usefixtures("_foxes")
def test_a_best_response_is_as_foreign_as_the_agent_that_it_answers() -> None:
    assert is_foreign("best_response:foxes:Plain")
    assert not is_foreign("best_response:threshold:VII")
    assert agent_file("foxes:Plain") is not None
    assert agent_file("best_response:foxes:Plain") == agent_file("foxes:Plain")
    assert agent_file("best_response:tips") is None
    assert made_of("best_response:best_response:foxes:Plain") == "foxes:Plain"
    assert made_of("threshold:VII") == "threshold:VII"
    with pytest.raises(GnavError, match="foxes:Plain does not say its probabilities, and its best response is made"):
        make_agent("best_response:foxes:Plain")


@pytest.mark.parametrize(("name", "folder"), [("runs/x", "runs/x/best"), ("runs/x/best", "runs/x/best")])
def test_the_folder_of_a_run_or_of_a_trained_agent_is_a_name(
    name: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = tmp_path / "runs" / "x" / "best"
    best.mkdir(parents=True)
    (best / "agent.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    loaded: list[Any] = []

    def load_agent(path: Path, **options: Any) -> Any:
        loaded.append((path, options))
        return types.SimpleNamespace(act=None)

    monkeypatch.setattr(learned, "load_agent", load_agent)
    make_agent(name, "letters", 5)
    assert loaded == [(Path(folder), {"rules": get_rules("letters"), "num_seats": 5})]


def test_a_folder_without_an_agent_is_no_name(tmp_path: Path) -> None:
    with pytest.raises(GnavError, match=r"has agent.json in it or in its best/, and this one has not"):
        make_agent(str(tmp_path))


def test_every_agent_is_described() -> None:
    described = describe_agents()
    assert [re.split(r"[:\[]", name)[0] for name in described][: len(agent_names())] == agent_names()
    assert all(described.values())
