"""`gnav train` from a clone: python scripts/train.py configs/train/quickstart.yaml"""

import sys

from gnav_agents.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "train")
    main()
