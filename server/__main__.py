"""``python -m ksql_spark.server`` is ``ksql-spark server``."""

import sys

try:
    from ksql_spark.server.main import main

    code = main(sys.argv[1:])
except KeyboardInterrupt:
    # Ctrl-C before there was anything to stop, during imports
    code = 130
sys.exit(code)
