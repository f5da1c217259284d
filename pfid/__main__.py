"""``python -m pfid`` is ``pfid``."""

from pfid.cli.entry import main

if __name__ == "__main__":
    main(prog_name="pfid")
