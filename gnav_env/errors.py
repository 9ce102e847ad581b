"""What is raised at the door when something given to Gnav cannot be; each message says what would be right."""

__all__ = ["GnavError", "IllegalAction", "RulesError", "YamlError"]


class GnavError(ValueError):
    """Base of our errors about input; the `gnav` command prints them without a traceback."""


class RulesError(GnavError):
    """A ruleset that cannot be."""


class YamlError(GnavError):
    """Something in a YAML file is not as it should be; the message names file, line and remedy."""


class IllegalAction(GnavError):
    """An action that the rules do not allow now; the message names the rule."""
