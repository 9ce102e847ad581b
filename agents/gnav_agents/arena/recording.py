"""Matches kept as text, which `gnav replay` reads: a file each."""

from pathlib import Path

from gnav_agents.arena.play import PlayedMatch
from gnav_agents.files import write_files
from gnav_env.notation import record_match

__all__ = ["write_match"]


def write_match(folder: Path, match: PlayedMatch) -> None:
    """`folder`, made if need be, has `match` in a file named for its place in the tournament."""
    text = record_match(
        match.rules,
        match.num_seats,
        seed=match.seed,
        match=match.block,
        actions=match.actions,
        agents=match.agents,
    )
    kind = match.field.partition(":")[0]
    where = f"{kind}-{match.num_seats}-seats-block-{match.block:05d}"
    write_files(folder, {f"{where}-line-up-{match.line_up}-rotation-{match.rotation}.txt": text.encode()})
