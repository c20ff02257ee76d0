#!/usr/bin/env python
"""Run a command of the portal."""

import os
import sys


def main() -> None:
    """Hand over to Django; a wrong setting is one clear line, not a traceback."""
    if sys.argv[1:2] == ["demo"]:
        # It starts the servers that the settings need, so it runs before they are read.
        from portal.demo.run import main as demo

        sys.exit(demo(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"The portal cannot start: {error}\n")
        sys.exit(78)


if __name__ == "__main__":
    main()
