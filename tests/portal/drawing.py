"""Draws pieces of templates for the tests of tags and filters."""

import re
from datetime import UTC, datetime

from django.template import Context, Template

NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)
EVIL = '<img src=x onerror="1">'


def draw(text, **context):
    """Draw a piece of a template with the tags of every page."""
    return Template("{% load portal svg %}" + text).render(Context(context))


def words(html):
    """Return the text of a piece of HTML, as a person reads it."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())
