"""``ssdlab`` and ``python -m ssdlab``."""

from typing import NoReturn


def main() -> NoReturn:
    """Loads the command line and hands over to it; Ctrl-C is answered in a line already while it loads."""
    try:
        from .cli import main as command
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    command()


if __name__ == "__main__":
    main()
