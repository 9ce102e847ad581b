"""`gnav play` from a clone: python scripts/play.py --seats 6"""

import sys

from gnav_agents.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "play")
    main()
