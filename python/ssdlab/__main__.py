"""``ssdlab`` and ``python -m ssdlab``."""

from typing import NoReturn

from . import signals

# Loading the command line takes a while: Ctrl-C is answered in a line already then.
signals.install()


def main() -> NoReturn:
    """Loads the command line and hands over to it."""
    from .cli import main as command

    command()


if __name__ == "__main__":
    main()
