"""What GPU time costs, for programs: the numbers of the pages, under the same rights.

Quantities are whole numbers with their unit in the name, money is text. A month is named by
``2026-11``, a pool by cluster, flavor and resource, and what is not known is ``null``, never 0.
"""
