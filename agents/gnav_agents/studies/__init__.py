"""Studies: questions about the game that the engine can answer by playing it, as reports to make again.

length.py asks how long matches last, tips.py whether the advice of rule texts is true; claims.py has the claims,
deals.py the kernels. figures.py has estimates with intervals and the rule that makes a verdict of them, cells.py says
which rulesets and seats are meant; report.py and plots.py show and write what came of it.

    >>> from gnav_agents.studies.length import play_lengths
    >>> lengths = play_lengths("le_her", 2, ["tips"], num_matches=50, seed=1)
    >>> lengths.deals.max()
    np.int64(1)
"""
