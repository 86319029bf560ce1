"""Iterate over an infinite stream of tasks, and access a late task directly."""

from everlearn import streams

stream = streams.sprites(seed=0, image_size=32, classes_per_task=5, factor_values=3)
print(stream, "with fingerprint", stream.fingerprint())

for task in stream.take(3):
    print(f"task {task.index}: labels {task.labels}, {len(task.train)} training images")

far = stream.task(1_000_000)
print(f"task {far.index:,}: labels {far.labels}")

if far.train.factors is not None:  # sprites have ground-truth factors, photographs may not
    print("scale, angle, x and y of its first image:", far.train.factors.array()[0].round(2))

again = streams.from_json(stream.spec.to_json()).build()
print("The same stream from its settings:", again.fingerprint() == stream.fingerprint())
