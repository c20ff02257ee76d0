"""The live process: open streams that say which topic has moved, and nothing else.

    feed      one subscription to Redis for all streams
    hub       which stream listens to what, and what it has not been told yet
    gate      what a request must look like before anybody asks the database
    people    sessions and rights, looked at in batches, again and again
    app       the ASGI application
    server    uvicorn with limits, and an orderly end

It serves no page and holds no data: a browser that is told of a move fetches the page's part
itself, with its own rights. ``python -m portal.live`` runs it.
"""
