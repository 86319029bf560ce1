"""HTTP routes of the studio.

Each module validates the parameters of some requests, calls the module of `everlearn.studio` that computes
the answer, and returns JSON, images or events.
"""
