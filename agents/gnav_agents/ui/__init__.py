"""Where people sit at the table: the terminal."""
