"""The private methods, a file each: how it groups, why its noise is enough, what error to expect.

Every module here has one `METHOD`, which `registry` finds by itself.
"""
