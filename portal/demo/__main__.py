"""``python -m portal.demo``: the same as ``manage.py demo``."""

import sys

from portal.demo.run import main

sys.exit(main(sys.argv[1:]))
