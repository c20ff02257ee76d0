"""Facts and sentences joined for one viewer: what a page, the API and a command all say.

Above the selectors, which know no words, and above the sentences, which ask no questions.
"""

from queues.reading.text import bare, text_of
from queues.reading.viewer import counted, shown
from queues.reading.why import Why, why

__all__ = ["Why", "bare", "counted", "shown", "text_of", "why"]
