"""`python -m arcbandit`: the command line, for a source tree that is not installed."""

import sys

from arcbandit.cli import main

sys.exit(main())
