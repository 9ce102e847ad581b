"""A workshop: the agents of a plan made and ready, so that units can be played, here or in workers.

executors.py says where units are played; each worker has a workshop of its own, made when its first unit comes.
"""

import warnings
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache, partial
from typing import Self

from gnav_agents.arena.asking import Entrant
from gnav_agents.arena.executors import run_units
from gnav_agents.arena.plan import Plan
from gnav_agents.arena.play import PlayedMatch, PlayedUnit, play_unit
from gnav_agents.foreign import ForeignCodeWarning
from gnav_agents.hosted import Hosted
from gnav_agents.registry import is_foreign, make_agent
from gnav_env.errors import GnavError

__all__ = ["Workshop", "play_units"]


class Workshop:
    """The agents of `plan` for every number of seats. Raises `GnavError` for one that cannot be made.

    Agents that are not ours live in processes of their own, which end with `close` or with this process.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._hosted: list[Hosted] = []
        try:
            self._entrants = {seats: [self._make(name, seats) for name in plan.names] for seats in plan.seats}
        except BaseException:
            self.close()
            raise

    def _make(self, name: str, num_seats: int) -> Entrant:
        plan = self.plan
        if plan.agents is not None:
            return Entrant(name, plan.agents[name])
        if not is_foreign(name):
            return Entrant(name, make_agent(name, plan.rules, num_seats), copies=False)
        hosted = Hosted(name, plan.rules, num_seats, time_limit=plan.time_limit, trust=plan.trust)
        self._hosted.append(hosted)
        return Entrant(name, hosted)

    def play(
        self,
        number: int,
        progress: Callable[[int], None] | None = None,
        record: Callable[[PlayedMatch], None] | None = None,
    ) -> PlayedUnit:
        """Unit `number` of the plan, see `play.play_unit`."""
        unit = self.plan.units[number]
        entrants = self._entrants[self.plan.fields[unit.field].num_seats]
        return play_unit(self.plan, unit, entrants, progress=progress, record=record)

    def close(self) -> None:
        """The processes of agents have ended."""
        for hosted in self._hosted:
            hosted.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def play_units(
    workshop: Workshop,
    units: Sequence[int],
    *,
    executor: str = "serial",
    workers: int | None = None,
    address: str | None = None,
    progress: Callable[[int], None] | None = None,
    record: Callable[[PlayedMatch], None] | None = None,
) -> Generator[tuple[int, PlayedUnit]]:
    """The numbers of `units` and what came of them, as they finish.

    Args:
        workshop: of the plan; workers make one each of their own.
        units: numbers of its units.
        executor: serial, process or ray, with `workers` and `address` as in `executors.run_units`.
        progress: is told how many matches have ended.
        record: is given every match; except with serial it must be fit to be sent to workers.
    """
    plan = workshop.plan
    if executor != "serial" and plan.agents is not None:
        raise GnavError(
            "agents that are objects are played with executor serial; name them, as in my_module:MyAgent, for workers"
        )
    if executor != "serial":
        workshop.close()  # it has been seen that all agents can be made; the workers make their own
    num_done = 0

    def tell(num_matches: int) -> None:
        if progress is not None:
            progress(num_done + num_matches)

    play = (
        partial(workshop.play, progress=tell, record=record)
        if executor == "serial"
        else partial(_play_in_worker, plan, record)
    )
    for number, played in run_units(play, units, executor=executor, workers=workers, address=address):
        num_done += len(played.entries)
        tell(0)
        yield number, played


def _play_in_worker(plan: Plan, record: Callable[[PlayedMatch], None] | None, number: int) -> PlayedUnit:
    return _workshop(plan).play(number, record=record)


@lru_cache(maxsize=1)
def _workshop(plan: Plan) -> Workshop:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForeignCodeWarning)  # said already, where the tournament was begun
        return Workshop(plan)
