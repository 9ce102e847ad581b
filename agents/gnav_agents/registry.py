"""From a name to an agent: `make_agent` takes what every command, league and tournament takes.

A name is, in this order: one of ours (``tips``, ``threshold:VII``, ``best_response:tips``), one that an installed
package offers in the entry point group ``gnav.agents``, the folder of a trained agent (or of a run with a `best/`), a
file with a network (``fox.zip``, ``fox.onnx``, see foreign.py), ``pettingzoo:module:attribute`` for a player of
PettingZoo's observations, or ``module:attribute``. What an agent is stands in agent.py.
"""

import importlib
import importlib.util
import inspect
import operator
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from gnav_agents.agent import Agent
from gnav_agents.best_response import BestResponse
from gnav_agents.compact import Compact
from gnav_agents.counting import Counting
from gnav_agents.equilibrium import Equilibrium
from gnav_agents.foreign import FILE_KINDS, PettingZooPlayer, is_file_name, make_from_file
from gnav_agents.match_equilibrium import match_equilibrium
from gnav_agents.rollout import rollout
from gnav_agents.solve.situation_policy import SampledSolution, SituationPolicy, is_sampled
from gnav_agents.threshold import exchange, stand, threshold
from gnav_agents.tips import Tips
from gnav_agents.uniform import Uniform
from gnav_env._yaml import nearest
from gnav_env.errors import GnavError
from gnav_env.rules import Rules
from gnav_env.variants import get_rules

__all__ = ["ENTRY_POINTS", "agent_file", "agent_names", "describe_agents", "is_foreign", "made_of", "make_agent"]

ENTRY_POINTS = "gnav.agents"
"""The entry point group in which other packages offer agents. A name of ours wins over theirs."""

_PETTINGZOO = "pettingzoo"
_ATTRIBUTE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


@dataclass(frozen=True, kw_only=True)
class _Argument:
    """What stands behind the colon."""

    name: str
    """In capitals, as in `threshold:RANK`."""
    kind: str
    """With its article: what is missing if it is not there."""
    example: Callable[[Rules], str]


@dataclass(frozen=True, kw_only=True)
class _BuiltIn:
    """An agent of ours: made without an argument, with one, or as you like."""

    description: str
    make: Callable[[Rules, int], Agent] | None = None
    """From the ruleset and the number of seats."""
    argument: _Argument | None = None
    make_with: Callable[[str, Rules, int], Agent] | None = None
    """The same with the argument before them."""
    make_of: Callable[[str, Agent, Rules], Agent] | None = None
    """From an agent's name, that agent, and the ruleset."""


_RANK = _Argument(name="RANK", kind="a rank", example=lambda rules: rules.card_name(rules.ranks[len(rules.ranks) // 3]))
_NUMBER = _Argument(name="N", kind="a number of deals", example=lambda rules: "100")
_AGENT = _Argument(name="AGENT", kind="an agent", example=lambda rules: "tips")
_FILE = _Argument(name="FILE", kind="a file or folder of solved deals", example=lambda rules: "solved.npz")

_FOLDER = _Argument(name="FOLDER", kind="the folder of a solved match", example=lambda rules: "results/match")


def _equilibrium_of(path: str, rules: Rules, num_seats: int) -> Agent:
    """What plays the solved deals in the file or folder `path`."""
    if is_sampled(path):
        return SituationPolicy(SampledSolution.load(path, rules=rules))
    return Equilibrium(rules, num_seats, path)


_BUILT_IN = {
    "uniform": _BuiltIn(description="any legal action, each as likely", make=lambda rules, _: Uniform()),
    "stand": _BuiltIn(description="STAND wherever it is legal", make=lambda rules, _: stand()),
    "exchange": _BuiltIn(description="EXCHANGE wherever it is legal", make=lambda rules, _: exchange()),
    "threshold": _BuiltIn(
        description="EXCHANGE a card ranked below RANK, keep the rest",
        argument=_RANK,
        make_with=lambda rank, rules, _: threshold(rank, rules),
    ),
    "compact": _BuiltIn(
        description="a rule of ten lines, read off the equilibria", make=lambda rules, _: Compact(rules)
    ),
    "tips": _BuiltIn(description="the advice that texts of the rules give", make=lambda rules, _: Tips(rules)),
    "counting": _BuiltIn(
        description="the best reply to threshold players, given all that its seat has seen",
        make=lambda rules, _: Counting(rules),
    ),
    "rollout": _BuiltIn(
        description="both actions played out on N deals that agree with what its seat knows",
        argument=_NUMBER,
        make_with=lambda number, rules, _: rollout(number, rules),
    ),
    "equilibrium": _BuiltIn(
        description="an equilibrium of the deal, solved before: that of the package, or of FILE, which may be a folder",
        make=Equilibrium,
        argument=_FILE,
        make_with=_equilibrium_of,
    ),
    "match_equilibrium": _BuiltIn(
        description="an equilibrium of the whole match, which knows the score: that of the package (2 to 4 seats of "
        "pagat), or of FOLDER",
        make=match_equilibrium,
        argument=_FOLDER,
        make_with=lambda folder, rules, num_seats: match_equilibrium(rules, num_seats, folder),
    ),
    "best_response": _BuiltIn(
        description="what does best against copies of AGENT", argument=_AGENT, make_of=BestResponse
    ),
}


def make_agent(name: str, rules: str | Rules = "pagat", num_seats: int = 6, *, trust: bool = False) -> Agent:
    """The agent called `name`, for tables of `num_seats` with `rules`.

    A file whose reading can run code is read only with `trust`, and then with a `ForeignCodeWarning`. Raises
    `GnavError` if there is no such agent or if it cannot be made, and says what would be right.

    >>> make_agent("threshold:VII").level
    10
    """
    rules = get_rules(rules)
    rules.check_seats(num_seats)
    word, colon, argument = name.partition(":")
    if word in _BUILT_IN:
        return _make_built_in(word, argument if colon else None, rules, num_seats, trust=trust)
    offered = _offered().get(name)
    if offered is not None:
        return _build(name, offered.load(), rules, num_seats)
    folder = _trained_folder(Path(name))
    if folder is not None:
        from gnav_agents.learned import load_agent

        return load_agent(folder, rules=rules, num_seats=num_seats)
    if is_file_name(name):
        return make_from_file(name, num_seats, trust=trust)
    if word == _PETTINGZOO and _ATTRIBUTE.fullmatch(argument):
        module, _, attribute = argument.partition(":")
        return _build_player(name, _import(name, module, attribute), rules, num_seats)
    if _ATTRIBUTE.fullmatch(name):
        return _build(name, _import(name, word, argument), rules, num_seats)
    is_folder = name != "" and Path(name).is_dir()
    if is_folder or "/" in name or "\\" in name:
        raise GnavError(
            f"agent {name}: a trained agent's folder has agent.json in it or in its best/, and this one "
            + ("has not" if is_folder else "does not exist")
        )
    raise _unknown(name)


def made_of(name: str) -> str:
    """The agent that the one called `name` is made of in the end: `tips` of ``best_response:tips``; else `name`."""
    word, _, argument = name.partition(":")
    if argument and word in _BUILT_IN and _BUILT_IN[word].make_of is not None:
        return made_of(argument)
    return name


def is_foreign(name: str) -> bool:
    """Whether the agent called `name` may be other people's code: it is none of ours and no trained agent's folder.

    A trained agent is data, whoever trained it. An agent of ours that is made of another one is what that one is.
    """
    name = made_of(name)
    if name.partition(":")[0] in _BUILT_IN:
        return False
    return name in _offered() or _trained_folder(Path(name)) is None


def agent_file(name: str) -> Path | None:
    """The file that makes the agent called `name` what it is, so that a change can be seen; None if there is none."""
    name = made_of(name)
    word, _, argument = name.partition(":")
    if word in _BUILT_IN:
        return Path(argument) if argument and Path(argument).is_file() else None
    if name in _offered():
        return _module_file(_offered()[name].module)
    folder = _trained_folder(Path(name))
    if folder is not None:
        return folder / "agent.json"  # which has the checksum of the weights
    if is_file_name(name):
        return Path(name) if Path(name).is_file() else None
    return _module_file(name.removeprefix(f"{_PETTINGZOO}:").partition(":")[0])


def agent_names() -> list[str]:
    """The names of our agents, without what may stand behind a colon, and of those that other packages offer."""
    return [*_BUILT_IN, *(name for name in _offered() if name not in _BUILT_IN)]


def describe_agents() -> dict[str, str]:
    """What may be written for an agent, and what it is: ours, those of other packages, then the forms."""
    described = {_form(name, agent): agent.description for name, agent in _BUILT_IN.items()}
    for name, point in _offered().items():
        if name not in _BUILT_IN:
            described[name] = f"{point.value}, from {point.dist.name if point.dist else 'an installed package'}"
    described["runs/NAME"] = "a trained agent: its folder, or the folder of its run for the best of it"
    described["MODULE:NAME"] = "an agent of your own, a class or an object with an act method"
    described[f"{_PETTINGZOO}:MODULE:NAME"] = (
        "a player of PettingZoo's observations: a function of one, or a class or an object with an act method"
    )
    for suffix, kind in FILE_KINDS.items():
        described[f"FILE{suffix}"] = kind.description + (" (needs --trust)" if kind.danger else "")
    return described


def _form(name: str, agent: _BuiltIn) -> str:
    """How the agent is written: `tips`, `threshold:RANK`, `equilibrium[:FILE]`."""
    if agent.argument is None:
        return name
    return f"{name}[:{agent.argument.name}]" if agent.make is not None else f"{name}:{agent.argument.name}"


def _make_built_in(word: str, argument: str | None, rules: Rules, num_seats: int, *, trust: bool) -> Agent:
    agent = _BUILT_IN[word]
    if argument is None and agent.make is not None:
        return agent.make(rules, num_seats)
    if agent.argument is None:
        raise GnavError(f"agent {word}: it takes no argument, so write {word} and not {word}:{argument}")
    if not argument:
        example = agent.argument.example(rules)
        raise GnavError(f"agent {word}: it needs {agent.argument.kind}, for example {word}:{example}")
    if agent.make_of is not None:
        return agent.make_of(argument, make_agent(argument, rules, num_seats, trust=trust), rules)
    assert agent.make_with is not None
    return agent.make_with(argument, rules, num_seats)


def _offered() -> dict[str, EntryPoint]:
    """What installed packages offer, by name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _trained_folder(path: Path) -> Path | None:
    """The folder of a trained agent at `path`: the folder itself or its `best`; None if neither is one."""
    return next((folder for folder in (path, path / "best") if (folder / "agent.json").is_file()), None)


def _module_file(module_name: str) -> Path | None:
    """The file of a module, None if it has none or is not there."""
    _look_here_first()
    try:
        spec = importlib.util.find_spec(module_name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _look_here_first() -> None:
    """The current directory is searched for modules first, as `python -m` does it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _import(name: str, module_name: str, attribute: str) -> Any:
    """The attribute of the module."""
    _look_here_first()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise _unknown(name, f"; there is no module {error.name} either") from None
        raise GnavError(f"agent {name}: its module needs {error.name}, which is not installed") from error
    except Exception as error:
        raise GnavError(
            f"agent {name}: its module cannot be loaded: {type(error).__name__}: {_one_line(error)}"
        ) from error
    try:
        return operator.attrgetter(attribute)(module)
    except AttributeError:
        public = [word for word in dir(module) if not word.startswith("_")]
        raise GnavError(f"agent {name}: module {module_name} has no {attribute}{nearest(attribute, public)}") from None


def _build(name: str, thing: Any, rules: Rules, num_seats: int) -> Agent:
    """`thing` itself if it is an object with `act`; what it returns if it is a class or a function."""
    makes_agents = inspect.isclass(thing) or (callable(thing) and not hasattr(thing, "act"))
    agent: Any = _call(name, thing, {"rules": rules, "num_seats": num_seats}) if makes_agents else thing
    if not callable(getattr(agent, "act", None)):
        kind = type(agent).__name__
        raise GnavError(f"agent {name}: {kind} has no method act(observation, action_mask, rng)")
    return agent


def _build_player(name: str, thing: Any, rules: Rules, num_seats: int) -> Agent:
    """The agent that asks `thing`, or, if it is a class, the object that it makes."""
    player: Any = _call(name, thing, {"rules": rules, "num_seats": num_seats}) if inspect.isclass(thing) else thing
    try:
        return PettingZooPlayer(player)
    except GnavError as error:
        raise GnavError(f"agent {name}: {error}") from None


def _call(name: str, maker: Callable[..., Any], offered: dict[str, Any]) -> Any:
    """What `maker` returns, called with those of the `offered` keywords that it takes."""
    signature = inspect.signature(maker)
    parameters = signature.parameters.values()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = {
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    taken = {key: value for key, value in offered.items() if takes_any or key in names}
    try:
        signature.bind(**taken)
    except TypeError as error:
        raise GnavError(
            f"agent {name}: it may take {' and '.join(f'{key}=' for key in offered)} and nothing else "
            f"without a default: {error}"
        ) from None
    try:
        return maker(**taken)
    except GnavError:
        raise
    except Exception as error:
        raise GnavError(f"agent {name}: it could not be made: {type(error).__name__}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    """What somebody else's error says, fit to stand in a sentence."""
    return "".join(letter if letter.isprintable() else " " for letter in str(error))[:300]


def _unknown(name: str, reason: str = "") -> GnavError:
    names = agent_names()
    close = nearest(name, names) or nearest(name.partition(":")[0], names)
    return GnavError(
        f"unknown agent {name!r}{close}; the agents are {', '.join(names)} (some with more behind a colon, as in "
        f"threshold:VII; `gnav agents` has them), the folder of a trained one, a file of {', '.join(FILE_KINDS)}, and "
        f"module:attribute or {_PETTINGZOO}:module:attribute for one of your own{reason}"
    )
