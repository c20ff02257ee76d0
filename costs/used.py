"""How much of their GPUs pods really used, and how much of the time anybody looked.

A sample that is missing says nothing: what was seen is a lower bound, never the whole. Used time
is counted in thousandths of a GPU-second, so that a ratio of 0.714 is a whole number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

MILLI: Final = 1000
#: Below this coverage "used" is not shown as a number; between the two it is shown with care.
UNKNOWN_BELOW: Final = Fraction(80, 100)
GOOD_FROM: Final = Fraction(95, 100)


class Use(NamedTuple):
    """GPU time of one hour: used in milli-GPU-seconds, seen and expected in GPU-seconds.

    ``fallback`` is the seen part that a worse metric told: that a GPU was busy, not how busy.
    """

    used: int
    seen: int
    expected: int
    fallback: int = 0

    @property
    def coverage(self) -> Fraction | None:
        """Return the share that was looked at; ``None`` where nothing was to be seen."""
        return Fraction(self.seen, self.expected) if self.expected else None

    @property
    def known(self) -> bool:
        """Return whether enough was seen to show a number."""
        return self.coverage is not None and self.coverage >= UNKNOWN_BELOW

    @property
    def busy(self) -> Fraction | None:
        """Return the mean use of what was seen, 0 to 1: the estimate for what was not."""
        return Fraction(self.used, self.seen * MILLI) if self.seen else None

    @property
    def least(self) -> Fraction:
        """Return GPU-seconds that were used for certain."""
        return Fraction(self.used, MILLI)

    @property
    def most(self) -> Fraction:
        """Return GPU-seconds if all that was not seen was used."""
        return self.least + max(0, self.expected - self.seen)

    def plus(self, other: Use) -> Use:
        """Return the sum of two; ratios are always taken of sums, never averaged."""
        return Use(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def within(self, expected: int) -> Use:
        """Return the part of it within a time that is known better: a pod that is over by then.

        Exporters go on to name a pod for a while, so more can be seen than there was.
        """
        if self.seen <= expected:
            return self._replace(expected=expected)
        part = Fraction(expected, self.seen)
        return Use(round(self.used * part), expected, expected, round(self.fallback * part))


def sampled(ratios: Iterable[Decimal], every: int, expected: int) -> Use:
    """Return the use of one GPU from samples ``every`` some seconds, of ``expected`` samples.

    Ratios outside of 0 to 1 are cut, as some exporters report more than the whole.
    """
    found = [min(max(ratio, Decimal(0)), Decimal(1)) for ratio in ratios]
    used = round(sum(map(Fraction, found), Fraction(0)) * every * MILLI)
    return Use(used, len(found) * every, expected * every)


def together(uses: Iterable[Use]) -> Use:
    """Return the sum of several; of none it is nothing expected, which is unknown, not 0."""
    total = Use(0, 0, 0)
    for each in uses:
        total = total.plus(each)
    return total


def efficiency(used: Use | None, held: int) -> Fraction | None:
    """Return used by held GPU-seconds; ``None`` where one of them is not known or nothing."""
    if used is None or not used.known or not held:
        return None
    return used.least * Fraction(1, held)


def shared(series: Collection[Decimal], pods: int) -> Fraction:
    """Return the use of each of the pods that share one device.

    The exporter gives every pod the value of the whole device, so it counts once: the largest,
    in equal parts.
    """
    return Fraction(max(series)) * Fraction(1, pods)
