"""``python -m bennafusi.cli``."""

from bennafusi.cli import main

if __name__ == "__main__":  # processes that Dask spawns import this file, too
    main()
