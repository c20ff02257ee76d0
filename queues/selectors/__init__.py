"""Reads for pages: constant numbers of queries, frozen results, no words.

Every function takes what the viewer may see (a queryset from ``tenants.access``) and gives back
facts with the time at which they were true. Sentences are made in :mod:`queues.sentences`.
"""
