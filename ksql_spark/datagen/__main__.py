"""``python -m ksql_spark.datagen``."""

import sys

from ksql_spark.datagen import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
