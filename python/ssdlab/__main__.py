"""``ssdlab`` and ``python -m ssdlab``."""

# Python answers Ctrl-C with a traceback. Until our own handlers are there, which takes a while to load, it ends the
# process without a word: nothing has been begun. `_signal` is part of the interpreter, and costs nothing.
import _signal  # type: ignore[import-not-found]

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from ssdlab.common import signals

signals.install()


def main() -> None:
    """Loads the command line and hands over to it."""
    from ssdlab.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
