"""``python -m pmtcore``."""

import sys

from pmtcore.cli import main

sys.exit(main())
