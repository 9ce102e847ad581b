"""Remake what is made from the code for people and editors: python scripts/remake_docs.py

The sheets of the named rulesets and their index (docs/rulesets/), the JSON schema of rulesets in YAML
(configs/variants/rules.schema.json), that of a tournament's summary.json (docs/summary.schema.json), and the layout
table inside docs/observation.md.
"""

import json
import re
from pathlib import Path

from gnav_agents.arena.summary import Summary
from gnav_env.observation import layout_table
from gnav_env.schema import rules_schema
from gnav_env.sheet import make_sheet, sheet_markdown
from gnav_env.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
SHEETS = Path("docs/rulesets")
OBSERVATION = Path("docs/observation.md")
SCHEMA = Path("configs/variants/rules.schema.json")
SUMMARY_SCHEMA = Path("docs/summary.schema.json")
MADE = "<!-- Made from gnav_env/variants.py by `python scripts/remake_docs.py`: change it there. -->\n\n"


def documents() -> dict[Path, str]:
    """Each file that is made here, by its path in the project, with the text that it should have."""
    made = {SHEETS / f"{name}.md": _page(name) for name in VARIANTS}
    made[SHEETS / "README.md"] = _index()
    made[SCHEMA] = json.dumps(rules_schema(VARIANTS), indent=2, ensure_ascii=False) + "\n"
    made[SUMMARY_SCHEMA] = json.dumps(Summary.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
    made[OBSERVATION] = _with_layout((ROOT / OBSERVATION).read_text(encoding="utf-8"))
    return made


def _page(name: str) -> str:
    rules = VARIANTS[name]
    play = f"gnav play --rules {name} --seats {rules.nearest_seats(5)}"
    return f"{MADE}{sheet_markdown(make_sheet(rules))}\nPlay it: `{play}` · [All rulesets](README.md)\n"


def _index() -> str:
    lines = [
        "# The named rulesets",
        "",
        "A sheet for each: what the cards do, who pays whom, how it ends. `gnav rules show NAME` prints it in the",
        "terminal, and `gnav rules diff A B` says in what two of them differ. What all have in common, and how the",
        "engine decides what their sources leave open, stands in [rules.md](../rules.md).",
        "",
        "| name | title | seats | cards | lives | source |",
        "|---|---|---|---|---|---|",
    ]
    for name, rules in VARIANTS.items():
        cells = (
            f"[{name}]({name}.md)",
            rules.title,
            rules.seat_span("–"),
            str(rules.num_cards),
            str(rules.lives),
            rules.source,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return MADE + "\n".join(lines) + "\n"


def _with_layout(page: str) -> str:
    """`page` with the layout table of today in place of the one that it has."""
    fresh, num_tables = re.subn(r"^\| features \|.*(\n\|.*)*", lambda _: layout_table(6), page, flags=re.MULTILINE)
    if num_tables != 1:
        raise SystemExit(f"{OBSERVATION} must have one table that begins with | features |, not {num_tables}")
    return fresh


if __name__ == "__main__":
    for path, text in documents().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8", newline="\n")
        print(path)
