"""An agent is asked for a batch: legal actions, or forfeits of just those rows in which it failed."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnav_agents.arena import asking
from gnav_agents.arena.asking import Entrant
from gnav_agents.arena.schedule import generator
from gnav_agents.hosted import Hosted, HostedError
from gnav_agents.registry import make_agent
from gnav_env.observation import num_features
from gnav_env.state import EXCHANGE, STAND

FEATURES = num_features(3)

MOODY = r'''
import ctypes
import os
import sys
import time

import numpy as np


class Moody:
    """Does what the first feature of a row says."""

    def act(self, observation, action_mask, rng):
        print("this is not for the arena")
        os.write(1, b"nor is this\n")
        for mood in observation[:, 0]:
            if mood == 1:
                raise KeyError("a bad mood")
            if mood == 2:
                sys.exit("enough")
            if mood == 3:
                os._exit(3)
            if mood == 4:
                ctypes.string_at(0)
            if mood == 5:
                while True:
                    try:
                        time.sleep(1)
                    except BaseException:
                        pass
            if mood == 6:  # compiled code that never lets Python run
                ctypes.PyDLL(None).sleep(1000)
            if mood == 7:
                time.sleep(0.05)
            if mood == 8:
                print(self, file=open("said", "w"))
                return ["EXCHANGE"] * len(observation)
        action = action_mask.argmax(axis=1)
        return np.where(observation[:, 0] == 9, 1, action)


class Lucky:
    """Draws for itself."""

    def act(self, observation, action_mask, rng):
        return np.where(action_mask.all(axis=1), rng.random(len(observation)) < 0.5, action_mask.argmax(axis=1))
'''


@pytest.fixture
def _moody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current directory has a module `moody`."""
    (tmp_path / "moody.py").write_text(MOODY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "moody", raising=False)


class Answers:
    """Has probabilities, or actions, which a function of the observation gives."""

    def __init__(self, answer: Callable[[Any], Any], *, is_policy: bool = False) -> None:
        self.answer = answer
        if is_policy:
            self.probabilities: Any = lambda observation, mask: answer(observation)

    def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
        return self.answer(observation)


def choose(entrant: Entrant, moods: Any, mask: Any = None, luck: Any = None, key: int = 0) -> asking.Answer:
    """What is answered to rows whose first feature is their mood; STAND alone is legal unless a mask is given."""
    observation = np.zeros((len(moods), FEATURES), np.float32)
    observation[:, 0] = moods
    if mask is None:
        mask = np.tile(np.array([1, 0], np.int8), (len(moods), 1))
    luck = np.full(len(moods), 0.5) if luck is None else np.asarray(luck)
    return entrant.choose(observation, np.asarray(mask, np.int8), luck, generator(1, key))


def test_luck_draws_from_probabilities() -> None:
    entrant = Entrant("half", Answers(lambda seen: np.full((len(seen), 2), 0.5), is_policy=True))
    answer = choose(entrant, [0, 0, 0], np.ones((3, 2)), luck=[0.0, 0.499, 0.5])
    assert (answer.actions.tolist(), answer.failures) == ([STAND, STAND, EXCHANGE], [])
    assert answer.actions.dtype == np.int64


def test_luck_beyond_all_rounding_draws_no_illegal_action() -> None:
    entrant = Entrant("nearly", Answers(lambda seen: np.array([[1 - 9e-7, 0.0]]), is_policy=True))
    answer = choose(entrant, [0], [[1, 0]], luck=[np.nextafter(1.0, 0.0)])
    assert (answer.actions.tolist(), answer.failures) == ([STAND], [])


@pytest.mark.parametrize(
    ("row", "mask", "detail"),
    [
        ([0.5, 0.6], [1, 1], r"probabilities are not negative and sum to 1, not \[0.5, 0.6\]"),
        ([-0.5, 1.5], [1, 1], "are not negative"),
        ([np.nan, 1.0], [1, 1], r"not \[nan, 1\]"),
        ([np.inf, -np.inf], [1, 1], r"not \[inf, -inf\]"),
        ([0.5, 0.5], [1, 0], "give EXCHANGE a chance, which is illegal here"),
        ([0.5, 0.5], [0, 1], "give STAND a chance, which is illegal here"),
    ],
)
def test_a_row_without_probabilities_is_forfeited_and_no_other(row: list[float], mask: list[int], detail: str) -> None:
    entrant = Entrant("odd", Answers(lambda seen: np.array([[0.0, 1.0], row, [0.0, 1.0]]), is_policy=True))
    answer = choose(entrant, [0, 0, 0], [[1, 1], mask, [0, 1]])
    assert answer.actions.tolist() == [EXCHANGE, 1 - mask[0], EXCHANGE]
    [(number, kind, text)] = answer.failures
    assert (number, kind) == (1, "illegal")
    assert re.search(detail, text)


@pytest.mark.parametrize(
    ("action", "mask", "detail"),
    [
        (1, [1, 0], "EXCHANGE is illegal here"),
        (0, [0, 1], "STAND is illegal here"),
        (7, [1, 1], "an action is 0 (STAND) or 1 (EXCHANGE), not 7"),
        (-1, [0, 1], "an action is 0 (STAND) or 1 (EXCHANGE), not -1"),
    ],
)
def test_an_illegal_action_is_forfeited_and_a_legal_one_stands_in(action: int, mask: list[int], detail: str) -> None:
    entrant = Entrant("odd", Answers(lambda seen: [1, action]))
    answer = choose(entrant, [0, 0], [[1, 1], mask])
    assert answer.actions.tolist() == [EXCHANGE, 1 - mask[0]]
    assert answer.failures == [(1, "illegal", detail)]


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (lambda seen: 0, r"ValueError: actions should have the shape [1], not []"),
        (lambda seen: np.zeros((len(seen), 1), int), r"ValueError: actions should have the shape [1], not [1, 1]"),
        (lambda seen: np.zeros(len(seen)), "TypeError: actions should be whole numbers, not float64"),
        (lambda seen: None, r"ValueError: actions should have the shape [1], not []"),
        (lambda seen: [None] * len(seen), "TypeError: actions should be whole numbers, not object"),
        (lambda seen: [[0], [0, 1]], "ValueError: setting an array element"),
        (lambda seen: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda seen: sys.exit(3), "SystemExit: 3"),
    ],
)
def test_an_answer_of_the_wrong_form_is_as_bad_as_an_exception(answer: Any, detail: str) -> None:
    failures = choose(Entrant("wrong", Answers(answer)), [0, 0]).failures
    assert [(row, kind) for row, kind, _ in failures] == [(0, "raised"), (1, "raised")]
    assert all(text.startswith(detail) for _, _, text in failures)


def test_an_exception_that_cannot_be_shown_is_a_failure_too() -> None:
    class Evil(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def answer(seen: Any) -> Any:
        raise Evil

    assert choose(Entrant("evil", Answers(answer)), [0]).failures == [(0, "raised", "Evil: (it cannot say what)")]


def test_only_the_rows_that_raise_are_forfeited() -> None:
    def answer(seen: Any) -> Any:
        if (seen[:, 0] == 1).any():
            raise ValueError("a bad mood")
        return np.zeros(len(seen), int)

    moods = np.zeros(700)
    moods[[0, 13, 699]] = 1
    answered = choose(Entrant("moody", Answers(answer)), moods)
    assert answered.failures == [(row, "raised", "ValueError: a bad mood") for row in (0, 13, 699)]
    assert not answered.actions.any()


def test_an_interrupt_by_the_user_is_no_failure_of_the_agent() -> None:
    def answer(seen: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose(Entrant("patient", Answers(answer)), [0])


def test_an_agent_can_change_neither_observations_nor_masks() -> None:
    class Scribbler:
        def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
            observation[:], action_mask[:] = 7, 1
            return np.ones(len(observation), int)

    observation = np.zeros((2, FEATURES), np.float32)
    mask = np.array([[1, 0], [1, 1]], np.int8)
    answer = Entrant("scribbler", Scribbler()).choose(observation, mask, np.zeros(2), generator(1))
    assert not observation.any()
    assert mask.tolist() == [[1, 0], [1, 1]]
    assert [failure.row for failure in answer.failures] == [0]


def test_nobody_is_asked_for_nothing() -> None:
    answer = choose(Entrant("idle", Answers(lambda seen: 1 / 0)), [])
    assert (len(answer.actions), answer.failures) == (0, [])


@pytest.mark.usefixtures("_moody")
def test_a_hosted_agent_answers_as_in_this_process_and_may_print() -> None:
    mask = np.array([[1, 1], [0, 1], [1, 0]] * 30)
    with Hosted("moody:Lucky", "letters", 3, time_limit=20) as hosted:
        first, second = (choose(Entrant("x", hosted), [0] * 90, mask) for _ in range(2))
        other = choose(Entrant("x", hosted), [0] * 90, mask, key=1)
    assert hosted.probabilities is None
    assert first.failures == []
    assert first.actions.tolist() == second.actions.tolist() != other.actions.tolist()
    luck = np.linspace(0, 1, 90, endpoint=False)
    with Hosted("uniform", "letters", 3, time_limit=20) as hosted:
        answer = choose(Entrant("x", hosted), [0] * 90, mask, luck)
    ours = choose(Entrant("x", make_agent("uniform", "letters", 3)), [0] * 90, mask, luck)
    assert answer.actions.tolist() == ours.actions.tolist()


@pytest.mark.usefixtures("_moody")
def test_a_hosted_agent_that_raises_exits_or_cheats_forfeits_those_rows() -> None:
    with Hosted("moody:Moody", "pagat", 3, time_limit=20) as hosted:
        entrant = Entrant("moody", hosted)
        answer = choose(entrant, [0, 1, 0, 2, 9, 0, 0, 0, 0, 0, 0])
        wrong = choose(entrant, [8])
        assert choose(entrant, [0]).failures == []
    assert answer.failures == [
        (1, "raised", "KeyError: 'a bad mood'"),
        (3, "raised", "SystemExit: enough"),
        (4, "illegal", "EXCHANGE is illegal here"),
    ]
    assert wrong.failures == [(0, "raised", "TypeError: an answer is an array of numbers, not of <U8")]


@pytest.mark.usefixtures("_moody")
def test_a_process_that_dies_costs_the_row_that_killed_it() -> None:
    with Hosted("moody:Moody", "pagat", 3, time_limit=20) as hosted:
        entrant = Entrant("moody", hosted)
        answer = choose(entrant, [0, 3, 0])
        assert answer.failures == [(1, "died", "its process ended with exit code 3")]
        assert choose(entrant, [4]).failures == [(0, "died", "its process ended by SIGSEGV")]


@pytest.mark.usefixtures("_moody")
@pytest.mark.parametrize("mood", [5, 6], ids=["in Python", "in compiled code"])
def test_an_agent_that_hangs_forfeits_after_its_time_limit(mood: int) -> None:
    with Hosted("moody:Moody", "pagat", 3, time_limit=0.5) as hosted:
        assert choose(Entrant("moody", hosted), [mood]).failures == [(0, "timed out", "no answer within 0.5 s")]


@pytest.mark.usefixtures("_moody")
def test_a_slow_and_honest_agent_survives_a_limit_shorter_than_its_batch() -> None:
    with Hosted("moody:Moody", "pagat", 3, time_limit=0.6) as hosted:
        entrant = Entrant("slow", hosted)
        assert choose(entrant, [7] * 16).failures == []
        assert 2 <= hosted.most_rows < 8
        assert choose(entrant, [7] * 4).failures == []


class _Silent(Hosted):
    """Always hangs, and nobody has to wait for it."""

    asked = 0

    def _start(self) -> None:
        pass

    def _exchange(self, message: Any, arrays: Any, seconds: float) -> Any:
        self.asked += 1
        raise HostedError("timed out", "no answer within 1 s")


@pytest.mark.parametrize("rows", [1, 8, 50, 768, 1000])
def test_an_agent_that_always_hangs_is_withdrawn_for_the_unit_after_few_time_limits(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = _Silent("uniform", "pagat", 3, time_limit=1)
    monkeypatch.setattr(hosted, "_child", object())
    entrant = Entrant("silent", hosted)
    answers = [choose(entrant, [0] * rows) for _ in range(5)]
    for answer in answers:
        assert [failure.row for failure in answer.failures] == list(range(rows))
        assert {failure.kind for failure in answer.failures} == {"timed out"}
    assert 3 <= hosted.asked <= 7
    assert answers[-1].failures[0].detail == "withdrawn: no answer within 1 s"
    entrant.new_unit()
    before = hosted.asked
    assert choose(entrant, [0] * 5).failures[0].detail == "no answer within 1 s"
    assert hosted.asked == before + 3


@pytest.mark.usefixtures("_moody")
def test_an_agent_that_cannot_be_started_again_is_withdrawn(tmp_path: Path) -> None:
    with Hosted("moody:Moody", "pagat", 3, time_limit=20) as hosted:
        entrant = Entrant("moody", hosted)
        (tmp_path / "moody.py").unlink()
        choose(entrant, [3])
        failures = choose(entrant, [0, 0]).failures
    assert [row for row, _, _ in failures] == [0, 1]
    reason = "withdrawn: it could not be started again: unknown agent 'moody:Moody'"
    assert all(kind == "died" and detail.startswith(reason) for _, kind, detail in failures)
