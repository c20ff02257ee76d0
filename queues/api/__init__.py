"""The API: what pages show, for programs, under the same rights.

Every address is only read. A thing is named by the name of its cluster and its own, never by a
number of the database. Every answer says when it was true.
"""
