"""The API server, as the product talks to it: objects as plain JSON dicts, errors from our own tree, lease and events.

What the objects mean is read in `api`, what is kept in them in `storage`.
"""
