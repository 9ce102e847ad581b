"""The invasion matrix as a game between agents: alpha-rank, Nash averaging, and cycles in who beats whom.

Each takes a matrix over m agents. Pay-offs [m, m] are what the row agent gains among copies of the column agent, 0
being par. ratings.py gives each agent one number instead; where there is a cycle, no such number says who beats whom.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space
from scipy.optimize import linprog, minimize
from scipy.sparse.csgraph import shortest_path

from gnav_env.errors import GnavError

__all__ = ["alpha_rank", "find_cycle", "nash_average"]

_PRECISION = 1e-10
"""The finest tolerance that the solver of linear programs takes."""

_IN_SUPPORT = 1e-7
"""An agent that has less weight in every equilibrium is left out of it."""


def alpha_rank(payoffs: ArrayLike, population: int = 50, alpha: float = 100.0) -> NDArray[np.float64]:
    """Share of the time that a population plays as each agent, [m], summing to 1.

    Single-population alpha-rank (Omidshafiei et al., Scientific Reports 9, 2019): a population of copies of one agent
    now and then sees a single copy of another one, which takes over with the probability of fixation for a Moran
    process with selection of strength `alpha`. Both defaults are OpenSpiel's, and close to the limit of strong
    selection: an advantage of 0.001 already makes odds of more than 100 to 1. Give it several resamples of a measured
    matrix and take the mean, or noise decides. All is reckoned in logarithms, so that no transition is too rare to
    count, however large `alpha` is.
    """
    matrix = _square(payoffs)
    if population < 2 or not 0 < alpha < np.inf:
        raise GnavError(f"population must be 2 or more and alpha above 0, not {population} and {alpha}")
    rates = _log_fixation(alpha * (matrix.T - matrix), population)  # [s, r]: from a population of s to one of r
    return _stationary(rates)


def _log_fixation(advantage: NDArray[np.float64], population: int) -> NDArray[np.float64]:
    """Log of (1 - exp(-u)) / (1 - exp(-population u)), or of 1 / population where the advantage u is 0."""
    size = np.abs(np.where(advantage == 0, 1, advantage))
    log_rate = np.log(np.expm1(-size) / np.expm1(-population * size))
    against = np.where(advantage < 0, (population - 1) * size, 0)
    return np.where(advantage == 0, -np.log(population), log_rate - against)


def _stationary(log_rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stationary distribution [m] of the chain that goes from s to r at the rate exp(log_rates[s, r]), s != r.

    States are taken out one after another, what passed through each being added to the rates among the others: the
    algorithm of Grassmann, Taksar and Heyman (Operations Research 33(5), 1985), which never subtracts, in logarithms.
    """
    rates = log_rates.copy()
    for last in range(len(rates) - 1, 0, -1):
        rates[:last, last] -= np.logaddexp.reduce(rates[last, :last])
        through = rates[:last, last, np.newaxis] + rates[last, :last]
        rates[:last, :last] = np.logaddexp(rates[:last, :last], through)
    log_mass = np.zeros(len(rates))
    for state in range(1, len(rates)):
        log_mass[state] = np.logaddexp.reduce(log_mass[:state] + rates[:state, state])
    return np.exp(log_mass - np.logaddexp.reduce(log_mass))


def nash_average(payoffs: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights [m] of the maximum-entropy equilibrium, summing to 1, and what each agent gains against it [m].

    Nash averaging (Balduzzi et al., Advances in Neural Information Processing Systems 31, 2018) of the zero-sum game
    (payoffs - payoffs transposed) / 2. No agent gains more than 0, up to rounding, and those with weight gain 0.
    Copies of an agent share its weight evenly.
    """
    matrix = _square(payoffs)
    game = (matrix - matrix.T) / 2
    scale = np.abs(game).max()
    if scale == 0:
        return np.full(len(game), 1 / len(game)), np.zeros(len(game))
    dominant = np.flatnonzero(((game > 0) | np.eye(len(game), dtype=bool)).all(axis=1))
    weights = np.eye(len(game))[dominant[0]] if dominant.size else _max_entropy_equilibrium(game / scale)
    return weights, game @ weights


def _max_entropy_equilibrium(game: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of all p with game @ p <= 0, the one of greatest entropy, [m]; `game` is antisymmetric, its values around 1.

    The agents that have weight in some equilibrium are indifferent in all of them, so the equilibria are the affine
    set start + free @ t in which the support gains 0, as far as p >= 0 and the other agents gain nothing.
    """
    vertices = np.array([_most_weight(game, agent) for agent in range(len(game))])
    support = np.flatnonzero(vertices.diagonal() > _IN_SUPPORT)
    conditions = np.vstack([game[np.ix_(support, support)], np.ones(len(support))])
    wanted = np.append(np.zeros(len(support)), 1.0)
    start = vertices[:, support].mean(axis=0)
    start += np.linalg.lstsq(conditions, wanted - conditions @ start, rcond=_PRECISION)[0]
    free = null_space(conditions, rcond=_PRECISION)
    outside = np.setdiff1d(np.arange(len(game)), support)
    slope = -game[np.ix_(outside, support)]

    def negative_entropy(t: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight = np.maximum(start + free @ t, 1e-300)
        return float(weight @ np.log(weight)), free.T @ (np.log(weight) + 1)

    if free.size:
        rows = np.vstack([np.identity(len(support)), slope])
        bound = {"type": "ineq", "fun": lambda t: rows @ (start + free @ t), "jac": lambda t: rows @ free}
        found = minimize(
            negative_entropy,
            np.zeros(free.shape[1]),
            jac=True,
            method="SLSQP",
            constraints=[bound],
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        start = start + free @ found.x
    weights = np.zeros(len(game))
    weights[support] = np.maximum(start, 0)
    return weights / weights.sum()


def _most_weight(game: NDArray[np.float64], agent: int) -> NDArray[np.float64]:
    """An equilibrium [m] of the antisymmetric `game` in which `agent` has as much weight as in any."""
    num_agents = len(game)
    found = linprog(
        -np.eye(num_agents)[agent],
        A_ub=game,
        b_ub=np.zeros(num_agents),
        A_eq=np.ones((1, num_agents)),
        b_eq=[1.0],
        options={"primal_feasibility_tolerance": _PRECISION, "dual_feasibility_tolerance": _PRECISION},
    )
    return found.x


def find_cycle(beats: ArrayLike) -> list[int]:
    """The shortest cycle of two or more agents of whom each beats the next and the last the first; [] if there is none.

    `beats` [m, m]: the row agent beats the column agent; the diagonal means nothing. The cycle begins with its
    smallest number; of several that are as short, it is one that has the smallest number of all.
    """
    edges = _square(beats) != 0
    np.fill_diagonal(edges, False)
    distance, before = shortest_path(edges, unweighted=True, return_predecessors=True)
    length = np.where(edges, distance.T, np.inf)  # [i, j]: of the way back from j to i, if i beats j
    first, second = np.unravel_index(length.argmin(), length.shape)
    if np.isinf(length[first, second]):
        return []
    way_back = [int(first)]
    while way_back[-1] != second:
        way_back.append(int(before[second, way_back[-1]]))
    return [way_back[0], *way_back[:0:-1]]


def _square(matrix: ArrayLike) -> NDArray[np.float64]:
    """`matrix` as float64 [m, m], m 1 or more, a copy; `GnavError` if it is not one, or not all finite."""
    values = np.array(matrix, np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise GnavError(f"the matrix must have a row and a column for each agent, not the shape {values.shape}")
    if not np.isfinite(values).all():
        raise GnavError("all values of the matrix must be finite numbers")
    return values
