"""The routes of the studio, one file per page.

Each takes what a page asks for, checked by its types, and hands it to the part that knows; gives JSON,
images or events. Nothing is decided here.
"""
