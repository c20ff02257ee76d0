"""The project package: settings, processes and the page shell."""
