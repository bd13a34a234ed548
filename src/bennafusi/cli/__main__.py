"""``python -m bennafusi.cli``."""

from bennafusi.cli import main

main()
