"""The zoo of Gnav agents, their training and their arena. Heavy parts are imported where they are used."""
