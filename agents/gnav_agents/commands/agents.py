"""`gnav agents`: the names that every other command takes."""

__all__ = ["agents"]


def agents() -> None:
    """List the agents of the zoo and the forms of names that commands take."""
    from rich.console import Console
    from rich.table import Table

    from gnav_agents.registry import describe_agents

    table = Table("agent", "what it does")
    for name, description in describe_agents().items():
        table.add_row(name, description)
    Console().print(table)
