"""Pages of the intent side: signing in, the catalog, the trail, people."""
