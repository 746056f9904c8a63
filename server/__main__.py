"""``python -m server`` is ``ksql-spark server``."""

import sys

from server.main import main

sys.exit(main(sys.argv[1:]))
