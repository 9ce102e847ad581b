"""`gnav tournament` from a clone: python scripts/tournament.py --agents tips,uniform."""

import sys

from gnav_agents.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "tournament")
    main()
