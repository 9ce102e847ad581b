"""Play in the arena: entries say what the game says, line-ups share cards and luck, and no order of work matters."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from gnav_agents.arena import PlayedMatch, asking, make_plan, play, recording, run_tournament, sums
from gnav_agents.arena.comparison import make_comparison
from gnav_agents.arena.play import entry_dtype
from gnav_agents.arena.schedule import blocks_per_unit
from gnav_agents.arena.workshop import Workshop, play_units
from gnav_agents.uniform import Uniform
from gnav_env.errors import GnavError
from gnav_env.losses import loss_causes
from gnav_env.notation import read_file, replay
from gnav_env.rules import Rules
from gnav_env.table import Table
from gnav_env.variants import VARIANTS
from matches import seats_for
from tournaments import ZOO, Below, BelowAsPolicy, Dice, make_units_small

FEW = {name: ZOO[name] for name in ("low", "middle", "uniform")}
ALL_FIELDS = {"mixed": 3, "invasion": 1, "self": 2, "reference:low": 1}


def played(plan, units=None, *, record=None):
    """The units of a plan, by number."""
    numbers = range(len(plan.units)) if units is None else units
    with Workshop(plan) as workshop:
        return dict(play_units(workshop, numbers, record=record))


def all_entries(plan):
    """The entries [M, S] of a plan that has one number of seats."""
    units = played(plan)
    return np.concatenate([units[number].entries for number in sorted(units)])


# ---------------------------------------------------------------------------------------------------- entries


def entries_by_table(match: PlayedMatch, names: tuple[str, ...]):
    """The entries of a match, played again at a `Table`, with everything counted the plain way."""
    table = Table(match.rules, match.num_seats, seed=match.seed, match=match.block)
    causes = loss_causes(match.rules)
    names_of_columns = entry_dtype(match.rules).names or ()
    rows = [
        {
            **dict.fromkeys(names_of_columns, 0),
            "block": match.block,
            "line_up": match.line_up,
            "rotation": match.rotation,
            "seat": seat,
            "agent": names.index(match.agents[seat]),
            "losses": [0] * len(causes),
        }
        for seat in range(match.num_seats)
    ]
    actions = iter(match.actions)
    fallen: dict[int, int] = {}
    while not table.is_over and table.deals < match.rules.max_deals(match.num_seats):
        table.deal()
        for row, hand in zip(rows, table.hands, strict=True):
            row["deals"] += hand is not None
        while table.to_act is not None:
            rows[table.to_act]["decisions"] += 1
            table.act(next(actions))
        columns = (table.lost, table.by_seat("gained"), table.by_seat("bonus"), table.by_seat("place"), table.losses)
        for seat, (lost, gained, bonus, place, losses) in enumerate(zip(*columns, strict=True)):
            row = rows[seat]
            row["lives_lost"] += lost - gained - bonus
            row["losses"] = [so_far + losses.get(cause, 0) for so_far, cause in zip(row["losses"], causes, strict=True)]
            if place == 0 and not table.is_over:
                fallen.pop(seat, None)  # it has been given lives again
            else:
                fallen.setdefault(seat, table.deals)
    assert next(actions, None) is None
    places, lives = table.places, table.lives
    for seat, row in enumerate(rows):
        row.update(place=places[seat], tied=places.count(places[seat]), last_deal=fallen[seat])
        row.update(eliminated=lives[seat] == 0 and places[seat] > 1, forfeited=False, cut=not table.is_over)
    return rows


@pytest.mark.parametrize(
    ("rules", "num_seats"),
    [
        ("pagat", 4),
        ("tokens", 6),
        ("short", 3),
        ("silent", 10),
        ("campli", 5),
        ("kille", 4),
        ("le_her", 2),
        ("vogelspiel", 5),
        ("screw_stop", 4),
        ("letters", 9),
    ],
)
def test_entries_say_what_a_table_says_when_the_match_is_played_there_again(rules, num_seats):
    plan = make_plan(FEW, rules, seats_for(rules, num_seats), ALL_FIELDS, seed=3)
    matches: list[PlayedMatch] = []
    units = played(plan, record=matches.append)
    entries = [match for number in sorted(units) for match in units[number].entries]
    assert len(matches) == len(entries) == sum(field.num_matches for field in plan.fields)
    for number in range(0, len(matches), len(matches) // 24):  # a Table is slow
        match, found = matches[number], entries[number]
        expected = entries_by_table(match, plan.names)
        told = [{name: entry[name].tolist() for name in entry.dtype.names} for entry in found]
        assert told == expected


def test_in_each_field_there_sit_whom_its_name_promises():
    matches: list[PlayedMatch] = []
    plan = make_plan(FEW, "pagat", 4, ALL_FIELDS)
    played(plan, record=matches.append)
    by_field = {kind: [match for match in matches if match.field == kind] for kind in ALL_FIELDS}
    mixed = Counter(agent for match in by_field["mixed"] for agent in match.agents)
    assert mixed == dict.fromkeys(FEW, 16)
    pairs = Counter()
    for match in by_field["invasion"]:
        counts = Counter(match.agents)
        [candidate] = [agent for agent, count in counts.items() if count == 1]
        [other] = counts.keys() - {candidate}
        pairs[candidate, other, match.agents.index(candidate)] += 1
    assert pairs == {(a, b, seat): 1 for a in FEW for b in FEW if a != b for seat in range(4)}
    assert sorted(match.agents for match in by_field["self"]) == sorted([(agent,) * 4 for agent in FEW] * 2)
    among = Counter(tuple(sorted(match.agents)) for match in by_field["reference:low"])
    assert among == {tuple(sorted((agent, "low", "low", "low"))): 4 for agent in FEW}


@pytest.mark.parametrize("rules", ["pagat", "letters", "short", "kille", "campli", "lu_stu", "ranter", "vogelspiel"])
def test_the_win_shares_of_a_match_sum_to_one_and_its_places_have_their_mean(rules):
    num_seats = seats_for(rules, 5)
    entries = all_entries(make_plan(ZOO, rules, num_seats, blocks=30, seed=1))
    wins = (entries["place"] == 1) / entries["tied"]
    assert wins.sum(axis=1) == pytest.approx(1)
    mean_place = entries["place"] + (entries["tied"] - 1) / 2
    assert mean_place.mean(axis=1) == pytest.approx((num_seats + 1) / 2)
    if rules != "short":  # until one is left: who is not first has been eliminated
        assert np.array_equal(entries["eliminated"], entries["place"] > 1)


def test_a_match_cut_off_at_the_limit_is_placed_by_lives(monkeypatch):
    monkeypatch.setattr(Rules, "max_deals", lambda self, num_seats: 2)
    entries = all_entries(make_plan(ZOO, "letters", 4, blocks=3))
    assert entries["cut"].all()
    assert not entries["eliminated"].any()
    assert (entries["last_deal"] == 2).all()
    assert len(np.unique(entries["lives_lost"])) > 1
    for lost, place in zip(entries["lives_lost"], entries["place"], strict=True):
        assert place.tolist() == [1 + sum(lost < own) for own in lost]


def test_in_a_match_that_was_cut_off_the_fallen_keep_their_places_behind_the_survivors(monkeypatch):
    def cut_at(num_deals):
        monkeypatch.setattr(Rules, "max_deals", lambda self, num_seats: num_deals)
        return all_entries(make_plan(ZOO, "pagat", 6, blocks=20))

    whole, cut = cut_at(1000), cut_at(9)
    here = cut["cut"][:, 0] & cut["eliminated"].any(axis=1)
    assert here.sum() > 10
    fell = cut["eliminated"] & here[:, np.newaxis]
    for name in ("place", "tied", "last_deal", "lives_lost"):
        assert np.array_equal(whole[name][fell], cut[name][fell])
    alive = ~cut["eliminated"] & here[:, np.newaxis]
    assert (cut["last_deal"][alive] == 9).all()


def test_recorded_matches_can_be_replayed_and_end_as_the_entries_say(tmp_path):
    plan = make_plan(ZOO, "pagat", 3, {"mixed": 2, "self": 1})
    units = played(plan, record=lambda match: recording.write_match(tmp_path / "matches", match))
    files = sorted((tmp_path / "matches").iterdir())
    assert len(files) == 2 * 3 + 4
    for file in files:
        assert list(replay(read_file(file)))[-1].after.is_over
    last = list(replay(read_file(tmp_path / "matches" / "mixed-3-seats-block-00001-line-up-0-rotation-2.txt")))[-1]
    assert last.after.places == units[0].entries["place"][5].tolist()


def test_no_ruleset_costs_a_compilation_of_its_own():
    from gnav_env._jit import IS_COMPILED

    kernels = (
        play.fill_all,
        play.order_all,
        play.look_all,
        play.advance_all,
        asking._draw_all,
        asking._choose_all,
        sums.add_outlived_all,
    )

    def num_signatures():
        return [len(kernel.signatures) if IS_COMPILED else 0 for kernel in kernels]

    run_tournament({**FEW, "dice": Dice()}, "pagat", 4, ALL_FIELDS)
    before = num_signatures()
    for rules in (*VARIANTS.values(), VARIANTS["pagat"].replace(name="house", reshuffle="on_exhaustion")):
        run_tournament({**FEW, "dice": Dice()}, rules, seats_for(rules, 5), ALL_FIELDS, seed=1)
    run_tournament(["tips", "uniform", "threshold:IV"], "pagat", (3, 12), blocks=2)
    assert num_signatures() == before


# ------------------------------------------------------------------------------------------ same cards, same luck


def test_the_rotations_of_a_block_play_the_same_cards_with_the_same_luck():
    matches: list[PlayedMatch] = []
    run_tournament({"fox": Uniform(), "owl": Uniform()}, "letters", 5, blocks=4, record=matches.append)
    by_block = [{match.actions for match in matches if match.block == block} for block in range(4)]
    assert [len(actions) for actions in by_block] == [1, 1, 1, 1]
    assert len(set.union(*by_block)) == 4
    assert len({match.agents for match in matches}) > 4


def test_in_a_substitution_who_chooses_alike_changes_nothing_for_anybody():
    agents = {"fox": Below(0.4), "owl": BelowAsPolicy(0.4), "low": Below(0.3), "uniform": Uniform()}
    plan = make_comparison("fox", "owl", "pagat", 5, ("low", "uniform"), seed=2, max_blocks=30, agents=agents)
    entries = all_entries(plan).reshape(30, 2, 5, 5)
    assert (entries["agent"] == 0).sum() == (entries["agent"] == 1).sum() == 30 * 5
    for name in entries.dtype.names:
        if name not in ("agent", "line_up"):
            assert np.array_equal(entries[name][:, 0], entries[name][:, 1])


def test_the_luck_of_a_seat_does_not_depend_on_what_others_do():
    # the eldest of the first deal decides before anything else has happened
    choices = {}
    for name, others in (("calm", Below(0)), ("wild", Below(1))):
        matches: list[PlayedMatch] = []
        agents = {"fox": Uniform(), "owl": Uniform(), "others": others}
        plan = make_comparison("fox", "owl", "pagat", 6, ("others",), seed=5, max_blocks=60, agents=agents)
        played(plan, record=matches.append)
        for match in matches:
            eldest = (Table(match.rules, 6, seed=5, match=match.block).dealer + 1) % 6
            if match.agents[eldest] in ("fox", "owl"):
                choices.setdefault(match.block, {}).setdefault(name, set()).add(match.actions[0])
    assert len(choices) == 60
    assert all(len(both["calm"] | both["wild"]) == 1 for both in choices.values())
    assert {min(both["calm"]) for both in choices.values()} == {0, 1}


def test_luck_is_drawn_evenly_and_without_a_link_between_those_asked_together(monkeypatch):
    drawn: list[float] = []
    original = asking.Entrant.choose

    def choose(self, observation, action_mask, luck, rng):
        drawn.extend(luck.tolist())
        return original(self, observation, action_mask, luck, rng)

    monkeypatch.setattr(asking.Entrant, "choose", choose)
    run_tournament({"fox": Uniform()}, "pagat", 6, {"self": 300})
    luck = np.array(drawn)
    assert len(luck) > 10_000
    assert 0 <= luck.min() < 0.001 and 0.999 < luck.max() < 1
    counts, _ = np.histogram(luck, 20, (0, 1))
    assert ((counts - len(luck) / 20) ** 2 / (len(luck) / 20)).sum() < 43.8  # chi-square, 19 degrees, 0.001
    assert abs(np.corrcoef(luck[:-1], luck[1:])[0, 1]) < 4 / np.sqrt(len(luck))


# ------------------------------------------------------------------------------------------------ order of work


def test_units_may_be_played_in_any_order_by_anybody(monkeypatch):
    make_units_small(monkeypatch, 40)
    agents = {**ZOO, "dice": Dice()}
    plan = make_plan(agents, "pagat", (3, 5), {"mixed": 50, "invasion": 2}, seed=9)
    assert len(plan.units) > 10
    forwards, backwards = played(plan), played(plan, reversed(range(len(plan.units))))
    for number in range(len(plan.units)):
        alone = played(plan, [number])[number]
        assert np.array_equal(forwards[number].entries, backwards[number].entries)
        assert np.array_equal(forwards[number].entries, alone.entries)


def test_the_blocks_of_a_long_tournament_begin_with_those_of_a_short_one():
    for kind in ("mixed", "invasion", "self", "reference:low"):
        short = all_entries(make_plan(ZOO, "pagat", 3, {kind: 7}, seed=4))
        long = all_entries(make_plan(ZOO, "pagat", 3, {kind: 90}, seed=4))
        assert np.array_equal(long[: len(short)], short)
    plan = make_plan(ZOO, "pagat", 3, blocks=blocks_per_unit(3) + 7, seed=4)
    assert len(plan.units) == 2
    long = all_entries(plan)
    assert np.array_equal(long[: 3 * 7], all_entries(make_plan(ZOO, "pagat", 3, blocks=7, seed=4)))


def test_it_does_not_matter_how_many_tables_are_played_side_by_side(monkeypatch):
    found = []
    for num_tables, matches_per_unit in ((768, 3072), (7, 3072), (1, 100), (100_000, 100_000)):
        monkeypatch.setattr(play, "NUM_TABLES", num_tables)
        make_units_small(monkeypatch, matches_per_unit)
        found.append(all_entries(make_plan(ZOO, "tokens", 4, blocks=60, seed=6)))
    assert len(found[0]) == 240
    assert all(np.array_equal(one, other) for one, other in pairwise(found))


def test_another_seed_is_another_tournament():
    one, other = (all_entries(make_plan(ZOO, "pagat", 4, blocks=10, seed=seed)) for seed in (1, 2))
    assert not np.array_equal(one, other)


def test_progress_tells_the_matches_that_have_ended_and_ends_with_all_of_them():
    told: list[int] = []
    run_tournament(ZOO, "pagat", 4, {"mixed": 30, "self": 5}, progress=told.append)
    assert told == sorted(told)
    assert len([number for number in told if 0 < number < 140]) > 0
    assert told[-1] == 30 * 4 + 5 * 4


# ------------------------------------------------------------------------------------------------------ the door


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"blocks": 0}, "blocks must be a whole number, 1 or more, not 0"),
        ({"blocks": 1, "seats": 2}, "never sits at a table: blocks must be 4 or more to be sure that all do, not 1"),
        ({"fields": {"mixed": -3}}, "blocks must be a whole number, 1 or more, not -3"),
        ({"seats": 38}, "seats must be 2 to"),
        ({"seats": (4, 1)}, "seats must be 2 to"),
        ({"seats": (4, 6, 4)}, "4 seats are listed twice"),
        ({"seats": ()}, "a tournament needs a number of seats"),
        ({"seed": -1}, "seed must be a whole number, from 0 to 9223372036854775807, not -1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"time_limit": 0}, "the time limit must be more than 0"),
        ({"time_limit": float("nan")}, "the time limit must be more than 0"),
        ({"agents": {}}, "at least one agent"),
        ({"agents": ["tips", "uniform", "tips"]}, "agent tips is listed twice"),
        ({"agents": ["tips", ""]}, "an agent's name is missing"),
        ({"agents": "tips"}, "must be a list"),
        ({"agents": ["tips", "unifrom"]}, "did you mean 'uniform'"),
        ({"rules": "pagta"}, "did you mean 'pagat'"),
        ({"fields": ()}, "a tournament needs a field"),
        ({"fields": ("mixd",)}, "the fields are mixed, invasion, self and reference:AGENT"),
        ({"fields": ("reference:owl",)}, "the reference must be one of the agents, stand, low, middle, uniform"),
        ({"fields": ("invasion",), "agents": ["tips"]}, "invasion needs two agents or more"),
    ],
)
def test_a_tournament_that_cannot_be_is_refused_with_what_would_be_right(arguments, sentence):
    with pytest.raises(GnavError, match=sentence):
        run_tournament(**{"agents": ZOO, **arguments})


def test_the_number_of_seats_is_six_or_the_nearest_that_the_ruleset_allows():
    assert make_plan(["tips"], "pagat").seats == (6,)
    assert make_plan(["tips"], "le_her").seats == (2,)
    assert make_comparison("tips", "uniform", "le_her").seats == (2,)


def test_fields_that_play_every_agent_in_every_block_need_fewer_blocks_for_as_many_entries():
    plan = make_plan(ZOO, fields={"mixed": None, "invasion": None, "self": 3}, blocks=100)
    assert plan.blocks == (("mixed", 100), ("invasion", 25), ("self", 3))
    assert make_plan(ZOO, fields=("self",), blocks=8).blocks == (("self", 8),)
    assert make_plan(ZOO, fields=("self",), blocks=200).blocks == (("self", 50),)
    assert make_plan(ZOO, fields=("self",), blocks=30).blocks == (("self", 20),)
