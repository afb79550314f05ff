"""``python -m pmtcore``."""

import sys

from pmtcore.cli.main import main

sys.exit(main())
