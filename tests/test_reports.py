"""What is made of a summary says what the summary says: tables, Markdown, CSV, plots, the page, the command."""

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import matplotlib
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gnav_agents.arena.config import read_config
from gnav_agents.arena.html import report_html
from gnav_agents.arena.plots import (
    TEXT,
    Plot,
    forest_plot,
    loss_plot,
    matrix_plot,
    rank_plot,
    sequential_plot,
    survival_plot,
)
from gnav_agents.arena.sequential import SequentialTest
from gnav_agents.arena.summary import SUMMARY, Estimate, Summary, read_summary
from gnav_agents.arena.tables import (
    interval,
    leaderboard_markdown,
    leaderboard_rows,
    markdown_block,
    markdown_table,
    number,
    percent,
    screen_table,
)
from gnav_agents.commands.leaderboard import BEGIN, END, leaderboard
from gnav_agents.files import csv_text
from gnav_env.errors import GnavError
from summaries import CAUSES, TRICKY, ZOO, make_summary

ROOT = Path(__file__).resolve().parent.parent

KINDS: dict[str, Callable[[], Summary]] = {
    "zoo": lambda: make_summary(num_level=2),
    "several seats": lambda: make_summary(ZOO[:4], seats=(2, 20), has_invasion=True, has_cycle=True, forfeits=3),
    "tricky names": lambda: make_summary(TRICKY, num_level=1),
    "one block": lambda: make_summary(ZOO[:3], has_intervals=False, num_blocks=1),
    "one agent": lambda: make_summary(ZOO[:1]),
}


def without_curves(summary: Summary) -> Summary:
    """`summary` with fewer things to draw."""
    return summary.model_copy(update={"survival": (), "outlive": None, "invasion": None})


@pytest.fixture(scope="module", params=KINDS)
def summary(request: pytest.FixtureRequest) -> Summary:
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def page(summary: Summary) -> str:
    return report_html(summary)


@pytest.fixture(scope="module")
def drawings(page: str) -> list[str]:
    """The plots of the page."""
    return re.findall("<svg.*?</svg>", page, re.DOTALL)


def on_screen(summary: Summary, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(screen_table(summary))
    return stream.getvalue()


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def plots_of(summary: Summary) -> list[Plot]:
    rows = summary.leaderboard
    agents = [row.agent for row in rows]
    found = [forest_plot(rows), rank_plot(rows), loss_plot(rows)]
    for num_seats in summary.plan.seats:
        found.append(survival_plot([c for c in summary.survival if c.num_seats == num_seats], agents))
    if summary.outlive:
        found.append(matrix_plot(summary.outlive, name="outlive", par=0.5, digits=1))
    if summary.invasion:
        found.append(matrix_plot(summary.invasion, name="invasion", par=0, digits=0))
    return found


def text_of(plot: Plot) -> list[str]:
    """The pieces of text that stand in a plot."""
    return [element.text or "" for element in tree_of(plot.svg).iter("text")]


def tree_of(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', "").replace("xlink:href", "href"))


# ------------------------------------------------------------------------------------------------- the summary itself


def test_a_summary_is_what_its_schema_says(summary: Summary) -> None:
    schema = Summary.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(summary.to_json())
    jsonschema.validate(data, schema)
    with pytest.raises(jsonschema.ValidationError, match="stray"):
        jsonschema.validate(data | {"stray": 1}, schema)


def test_a_summary_comes_back_from_disk_as_it_was(summary: Summary, tmp_path: Path) -> None:
    (tmp_path / SUMMARY).write_text(summary.to_json(), encoding="utf-8")
    assert read_summary(tmp_path) == read_summary(tmp_path / SUMMARY) == summary


# -------------------------------------------------------------------------------------------------------------- words


def test_figures_are_written_as_people_read_them() -> None:
    assert number(-0.25, 1) == "−0.2"
    assert number(-0.0001, 3) == "0.000"
    assert number(None, 3) == percent(None) == "–"
    assert percent(0.7584) == "75.8 %"
    assert interval(Estimate(value=0.9114, low=0.907, high=0.915)) == "0.911 [0.907, 0.915]"
    assert interval(Estimate(value=0.9114, low=None, high=None)) == "0.911"


# ------------------------------------------------------------------------------------------------------------- tables


def test_the_screen_table_fits_eighty_columns(summary: Summary) -> None:
    lines = on_screen(summary, 80).splitlines()
    assert max(map(len, lines)) <= 80
    for row in summary.leaderboard:
        figure = interval(row.figures["relative_elimination_rate"])
        (line,) = [line for line in lines if re.match(rf" *{row.rank} ", line) and f" {figure} " in line]
        assert line.rstrip().endswith(row.standing)
        assert "…" not in line


def test_names_on_the_screen_are_whole_and_no_markup() -> None:
    said = on_screen(make_summary(TRICKY), 160)
    assert all(agent in said for agent in TRICKY)


def test_a_markdown_table_has_a_line_for_each_agent_best_first(summary: Summary) -> None:
    heading, rule, *lines = markdown_table(summary).splitlines()
    assert cells(heading) == [
        "#",
        "agent",
        "elimination",
        "eliminated",
        "placement",
        "lives lost a deal",
        "best-response gain",
        "rating",
        "ranks",
    ]
    assert set(cells(rule)) == {"---"}
    assert len(lines) == len(summary.leaderboard)
    for line, row in zip(lines, summary.leaderboard, strict=True):
        found = cells(line)
        assert len(found) == 9
        assert found[0] == str(row.rank)
        assert found[1].strip("` ").replace("\\|", "|") == row.agent
        assert found[2] == interval(row.figures["relative_elimination_rate"])


def test_a_table_without_ratings_has_no_column_for_them() -> None:
    made = make_summary(ZOO[:3])
    rows = tuple(row.model_copy(update={"rating": None}) for row in made.leaderboard)
    unrated = made.model_copy(update={"leaderboard": rows})
    assert "rating" not in markdown_table(unrated)
    assert "rating" not in on_screen(unrated, 80)


def test_a_gain_is_shown_with_its_interval_if_it_has_one_and_never_below_0() -> None:
    made = make_summary(ZOO[:5])
    shown = [cells(line)[6] for line in markdown_table(made).splitlines()[2:]]
    assert shown == ["0.0100", "0.0000 [0.0000, 0.0030]", "0.0300 [0.0260, 0.0340]", "–", "0.0500 [0.0460, 0.0540]"]
    rows = leaderboard_rows(made)
    assert [row["gain_how"] for row in rows] == ["exact", "bound", "bound", "none", "bound"]
    assert [row["gain"] for row in rows] == [0.01, -0.001, 0.03, None, 0.05]
    assert "agent threshold:III failed: it is &lt;b&gt;ill&lt;/b&gt;" in report_html(made)


def test_a_tournament_without_gains_has_no_column_for_them() -> None:
    made = make_summary(ZOO[:3])
    rows = tuple(row.model_copy(update={"gain": None}) for row in made.leaderboard)
    without = made.model_copy(update={"leaderboard": rows})
    assert "gain" not in markdown_table(without)
    assert "gain" not in on_screen(without, 80)
    assert not any(name.startswith("gain") for name in leaderboard_rows(without)[0])


def test_leaderboard_md_says_what_was_played_and_with_which_command(summary: Summary) -> None:
    text = leaderboard_markdown(summary)
    assert markdown_table(summary) in text
    assert f"\n{summary.command}\n" in text
    assert summary.definitions["relative_elimination_rate"] in text
    assert "16,000 blocks" in text or "1 block," in text
    assert "seed 0" in text


def test_csv_rows_are_flat_and_hold_every_number_of_seats() -> None:
    made = make_summary(ZOO[:3], seats=(2, 6), has_invasion=True)
    rows = list(csv.DictReader(io.StringIO(csv_text(leaderboard_rows(made)))))
    assert [(row["seats"], row["agent"]) for row in rows] == [
        (seats, agent) for seats in ("all", "2", "6") for agent in ZOO[:3]
    ]
    best = made.leaderboard[0].figures["relative_elimination_rate"]
    assert float(rows[0]["relative_elimination_rate"]) == best.value
    assert float(rows[0]["relative_elimination_rate_low"]) == best.low
    assert float(rows[0]["relative_elimination_rate_high"]) == best.high
    assert {f"loss_{cause}" for cause in CAUSES} < set(rows[0])
    at_two = made.fields[0].rows[1].figures["elimination_rate"]
    assert float(rows[4]["elimination_rate"]) == at_two.value


def test_csv_rows_of_one_number_of_seats_come_once_and_leave_gaps_empty() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(leaderboard_rows(make_summary(ZOO[:2], has_intervals=False))))))
    assert [row["seats"] for row in rows] == ["all", "all"]
    assert rows[0]["hazard"]
    assert rows[0]["hazard_low"] == ""


# -------------------------------------------------------------------------------------------------------------- plots


def test_plots_are_the_same_each_time_whatever_the_user_likes() -> None:
    made = make_summary(ZOO[:2], has_invasion=True)
    plots = plots_of(made)
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.facecolor": "black"}):
        assert plots_of(made) == plots


def test_plots_are_well_formed_and_have_letters_of_one_size(drawings: list[str]) -> None:
    for svg in drawings:
        tree = tree_of(svg)
        assert tree.get("role") == "img"
        assert tree.get("aria-label")
        sizes = [re.findall(r"font-size: ([\d.]+)px", text.get("style", "")) for text in tree.iter("text")]
        assert sizes == [[f"{TEXT:g}"]] * len(sizes)
        assert len(sizes) > 1


def test_plots_point_only_into_themselves(drawings: list[str]) -> None:
    for svg in drawings:
        own = [element.get("id") for element in tree_of(svg).iter() if element.get("id")]
        assert len(own) == len(set(own))
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', svg)) <= set(own)


def test_a_forest_plot_tells_the_best_the_level_and_the_rest_apart() -> None:
    made = make_summary(ZOO[:4], num_level=1)
    texts = text_of(forest_plot(made.leaderboard))
    for row in made.leaderboard:
        assert f"{row.rank} {row.agent}" in texts
        assert number(row.figures["relative_elimination_rate"].value, 3) in texts
    alike = make_summary(ZOO[:4], num_level=2)
    assert forest_plot(alike.leaderboard).svg != forest_plot(made.leaderboard).svg


def test_long_names_lose_their_middle_and_others_nothing() -> None:
    texts = text_of(rank_plot(make_summary(TRICKY).leaderboard))
    assert "1 runs/a-ve…ints/best" in texts
    assert "4 tips" in texts


def test_a_heat_map_has_a_number_in_every_cell_that_has_a_figure() -> None:
    made = make_summary(ZOO[:4], has_invasion=True)
    assert made.outlive and made.invasion
    outlive = text_of(matrix_plot(made.outlive, name="outlive", par=0.5, digits=1))
    known = [number(100 * cell.value, 1) for row in made.outlive.cells for cell in row if cell.value is not None]
    assert len(known) == 4 * 3 - 2
    assert sorted(text for text in outlive if "." in text and ":" not in text) == sorted(known)
    invasion = text_of(matrix_plot(made.invasion, name="invasion", par=0, digits=0))
    assert "+6" in invasion
    assert "−6" in invasion


def test_a_heat_map_has_its_numbers_in_the_middle_of_their_cells() -> None:
    made = make_summary(ZOO[:4], has_invasion=True)
    assert made.invasion
    tree = tree_of(matrix_plot(made.invasion, name="invasion", par=0, digits=0).svg)
    corners = [
        [tuple(map(float, point)) for point in re.findall(r"([\d.]+) ([\d.]+)", path.get("d", ""))]
        for path in tree.iter("path")
        if "stroke: #ffffff" in path.get("style", "")
    ]
    assert len(corners) == 4 * 4
    middles = [tuple(sum(axis) / len(axis) for axis in zip(*{*cell}, strict=True)) for cell in corners]
    texts = [text for text in tree.iter("text") if re.fullmatch(r"[+−]\d+", text.text or "")]
    assert len(texts) == 4 * 3 - 2
    for text in texts:
        x, y = float(text.get("x", "")), float(text.get("y", ""))
        assert any(abs(x - middle[0]) < 1 and abs(y - middle[1]) < TEXT / 2 for middle in middles)


def test_a_heat_map_shows_in_italics_what_may_be_luck() -> None:
    made = make_summary(ZOO[:4], has_invasion=True)
    assert made.invasion
    plot = matrix_plot(made.invasion, name="invasion", par=0, digits=0)
    italic = {text.text for text in tree_of(plot.svg).iter("text") if "italic" in text.get("style", "")}
    assert {text for text in italic if text} == {"+2", "−2"}  # 0.02 with 0.02 to either side


def test_survival_has_a_panel_for_each_agent_and_survives_missing_bands() -> None:
    made = make_summary(TRICKY)
    missing = [
        curve.model_copy(update={"low": (float("nan"),) * len(curve.deals), "high": (float("nan"),) * len(curve.deals)})
        for curve in made.survival
    ]
    for curves in (made.survival, missing):
        texts = text_of(survival_plot(curves, TRICKY))
        assert [text for text in texts if re.match(r"\d .*[a-z]", text)] == [
            "1 runs/a-v…nts/best",
            "2 den:Fox[…<script>",
            "3 den:pipe…ick$x_1$",
            "4 tips",
        ]


def test_causes_of_loss_beyond_the_colours_are_put_together() -> None:
    (row,) = make_summary(ZOO[:1]).leaderboard
    paid = {f"cause{place:02}": Estimate(value=1.0 - place / 20, low=None, high=None) for place in range(12)}
    texts = text_of(loss_plot([row.model_copy(update={"losses": paid})]))
    assert [text for text in texts if text.startswith(("cause", "other"))] == [
        *(f"cause{place:02}" for place in range(7)),
        "other",
    ]
    assert number(sum(each.value or 0 for each in paid.values()), 3) in texts


def test_a_sequential_test_is_drawn_up_to_its_last_block_as_a_file_of_its_own() -> None:
    test = SequentialTest(delta=0.05)
    for _ in range(20):
        test.add([0.06, 0.05, 0.04, 0.05, 0.07, 0.05, 0.03, 0.05])
    plot = sequential_plot(test)
    assert {"A better by 0.05", "B better by 0.05", "blocks"} < set(text_of(plot))
    file = ElementTree.fromstring(plot.svg)
    assert file.tag == "{http://www.w3.org/2000/svg}svg"
    assert file.get("aria-label", "").startswith("Log-likelihood ratios after 160 blocks")
    assert file.get("aria-label", "").endswith("A is better")
    assert sequential_plot(SequentialTest(delta=0.05)).svg != plot.svg  # before the first block there is a plot too


# ----------------------------------------------------------------------------------------------------------- the page


class Page(HTMLParser):
    """A page taken apart: what it points at, and its text outside of plots and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pointed_at: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
                self.pointed_at.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"svg", "style"} & set(self.open):
            self.text += data


def test_the_page_is_whole_and_points_at_nothing_but_itself(page: str) -> None:
    found = Page(page)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert all(target.startswith("#") for target in found.pointed_at)
    assert {target.removeprefix("#") for target in found.pointed_at} <= set(found.ids)
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert "@import" not in page
    assert set(re.findall(r'[^ ]*://[^ ">]*', page)) <= {
        'xmlns="http://www.w3.org/2000/svg',
        'xmlns:xlink="http://www.w3.org/1999/xlink',
    }


def test_the_page_has_every_agent_by_its_whole_name(summary: Summary, page: str) -> None:
    text = Page(page).text
    assert all(row.agent in text for row in summary.leaderboard)
    assert summary.command in text
    assert summary.plan.rules.hash in text
    assert all(meaning in text for meaning in summary.definitions.values())


def test_the_page_is_the_same_in_every_process() -> None:
    code = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); from summaries import make_summary, ZOO;"
        "from gnav_agents.arena.html import report_html;"
        "print(hashlib.sha256(report_html(make_summary(ZOO[:2], has_invasion=True)).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    here = report_html(make_summary(ZOO[:2], has_invasion=True))
    assert done.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            make_summary(ZOO[:4]),
            "counting is eliminated least: 0.910 [0.906, 0.914] times as often as is par at its tables. "
            "No other agent is level with it.",
        ),
        (
            make_summary(ZOO[:4], num_level=1),
            "tables, but runs/quickstart/best is level with it: the difference may be luck.",
        ),
        (
            make_summary(ZOO[:5], num_level=3),
            "tables, but runs/quickstart/best, tips and threshold:III are level with it: the difference may be luck.",
        ),
        (
            make_summary(ZOO[:1], has_intervals=False),
            "Only counting has played, so there is nobody to rank it against.",
        ),
    ],
)
def test_the_page_opens_with_the_answer(made: Summary, said: str) -> None:
    assert said in Page(report_html(without_curves(made))).text


def test_a_cycle_is_told_in_words_and_so_is_that_there_is_none() -> None:
    made = [without_curves(make_summary(ZOO[:3], has_invasion=True, has_cycle=cycle)) for cycle in (True, False)]
    with_cycle, without = (Page(report_html(one)).text for one in made)
    assert "counting beats runs/quickstart/best, runs/quickstart/best beats tips, tips beats counting" in with_cycle
    assert "No cycle" in without


def test_the_page_has_sections_only_for_what_there_is() -> None:
    short = Page(report_html(make_summary(ZOO[:3])))
    assert not {"fields", "metagame", "forfeits"} & set(short.ids)
    whole = Page(report_html(KINDS["several seats"]()))
    assert {"leaderboard", "fields", "figures", "survival", "pairs", "metagame", "forfeits"} < set(whole.ids)
    assert "mixed, 20 seats" in whole.text
    assert "invasion, 2 seats" in whole.text
    assert whole.tags.count("svg") == 3 + 2 + 2  # forest, ranks, losses; a survival plot for each number; two matrices


# -------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / SUMMARY).write_text(make_summary(ZOO[:3]).to_json(), encoding="utf-8")
    return folder


def run(*arguments: Any) -> str:
    """What `gnav leaderboard` with these arguments prints."""
    app = typer.Typer()
    app.command()(leaderboard)
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_prints_the_table_of_a_folder_or_a_file(results: Path) -> None:
    said = run(results)
    assert "0.910 [0.906, 0.914]" in said
    assert run(results / SUMMARY) == said


def test_the_command_prints_markdown(results: Path) -> None:
    assert run(results, "--markdown") == markdown_block(make_summary(ZOO[:3]))


def test_the_command_rebuilds_the_table_between_the_markers_and_nothing_else(results: Path, tmp_path: Path) -> None:
    files = [tmp_path / "README.md", tmp_path / "agents" / "README.md"]
    files[1].parent.mkdir()
    for path in files:
        path.write_bytes(f"# Title\r\n\nbefore – {BEGIN}old\ntable{END}\n\nafter".encode())
    for _ in range(2):  # and again, to the same end
        run(results, "--write", files[0], "--write", files[1])
        for path in files:
            before, _, rest = path.read_bytes().decode().partition(BEGIN)
            block, _, after = rest.partition(END)
            assert (before, after) == ("# Title\r\n\nbefore – ", "\n\nafter")
            assert block.strip() == markdown_block(make_summary(ZOO[:3])).strip()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "agents", "results"]


def test_the_command_keeps_line_ends_links_and_modes(results: Path, tmp_path: Path) -> None:
    page, link = tmp_path / "page.md", tmp_path / "link.md"
    page.write_bytes(f"# Title\r\n{BEGIN}\r\n{END}\r\n".encode())
    page.chmod(0o600)
    link.symlink_to(page)
    run(results, "--write", link)
    assert link.is_symlink()
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_bytes().decode()
    assert "| `counting` |" in text.replace("\r\n", "\n")
    assert text.count("\n") == text.count("\r\n") > 5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nothing", re.escape(BEGIN) + " is not there"),
        (BEGIN, re.escape(END) + " is not there"),
        (END, re.escape(BEGIN) + " is not there"),
        (END + BEGIN, "has to come after"),
        (BEGIN + BEGIN + END, re.escape(BEGIN) + " is there more than once"),
    ],
)
def test_a_file_without_its_markers_is_refused_and_no_file_is_changed(
    text: str, complaint: str, results: Path, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(BEGIN + END, encoding="utf-8")
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(GnavError, match=f"bad.md.*{complaint}"):
        run(results, "--write", good, "--write", bad)
    assert good.read_text(encoding="utf-8") == BEGIN + END
    assert bad.read_text(encoding="utf-8") == text


def test_what_is_not_there_is_said_in_a_sentence(results: Path, tmp_path: Path) -> None:
    with pytest.raises(GnavError, match=r"none\.md: there is no such file"):
        run(results, "--write", tmp_path / "none.md")
    with pytest.raises(GnavError, match="there is no such file; a finished tournament leaves one"):
        run(tmp_path)


@pytest.mark.parametrize("page", ["README.md", "agents/README.md"])
def test_the_leaderboard_in_our_documents_is_that_of_the_results_beside_them(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- leaderboard: begin -->")
    shown, _, _ = rest.partition("<!-- leaderboard: end -->")
    assert shown.strip() == markdown_block(read_summary(ROOT / "docs" / "leaderboard")).strip()


def test_the_results_in_our_documents_are_of_the_tournament_that_the_readme_plays():
    config = read_config(ROOT / "configs" / "arena" / "quickstart.yaml", {})
    plan = read_summary(ROOT / "docs" / "leaderboard").plan
    assert (plan.agents, plan.seats, plan.fields, plan.seed) == (
        config.agents,
        config.seats,
        config.fields,
        config.seed,
    )
