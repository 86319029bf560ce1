"""Recognition of real objects from a few images each: query sets, baselines, results and their page.

`python -m benchmarks.photos [--set NAME] [--method NAME]` runs what is not stored yet;
`python -m benchmarks.photos.page` writes the tables of docs/photos.md.
"""
