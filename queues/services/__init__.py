"""Rules of the effect side: they write rows, and talk to a cluster outside transactions."""
