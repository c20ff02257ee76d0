"""``python -m portal.live [--host ADDRESS] [--port N]``: run the live process."""

from __future__ import annotations

import argparse
import os
import sys


def main(arguments: list[str]) -> int:
    """Read the settings and serve; a wrong setting is one clear line."""
    parser = argparse.ArgumentParser(prog="python -m portal.live")
    parser.add_argument("--host", default="0.0.0.0")  # noqa: S104 - a container's only address
    parser.add_argument("--port", type=int, default=8001)
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    import django
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
        if settings.SEALING_PRIVATE_KEY:
            message = (
                "GPUPORTAL_SEALING_PRIVATE_KEY is set for the live process. "
                "Only worker and observer may have it."
            )
            raise ImproperlyConfigured(message)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"The live process cannot start: {error}\n")
        return 78
    from portal.live.server import serve

    serve(options.host, options.port)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
