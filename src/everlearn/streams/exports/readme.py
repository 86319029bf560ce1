"""The page that lies beside exported files and says what they are."""

from collections.abc import Sequence

from everlearn.streams.exports.manifest import PARTS, PartName, Plan, TaskRecord, spoken

_HOW_TO_READ = {
    "npz": 'numpy.load("task-{first:06d}/train.npz")["images"]',
    "png": 'torchvision.datasets.ImageFolder("task-{first:06d}/train")',
    "parquet": 'datasets.load_dataset("path/to/this/folder")',
    "webdataset": 'webdataset.WebDataset("task-{{{first:06d}..{last:06d}}}/train.tar")',
}


def readme(plan: Plan, fingerprint: str, contents: Sequence[TaskRecord]) -> str:
    """What was exported, how to read it and how to cite it, in Markdown."""
    lines = [
        *(_split_table(contents) if plan.to == "parquet" else ()),
        f"# {plan.stream}",
        "",
        f"Tasks {spoken(plan.tasks)}, fingerprint `{fingerprint}`, exported by everlearn as {plan.to}.",
        "Each task has a folder; `manifest.json` holds the settings of the stream and all checksums.",
        "",
        "```python",
        _HOW_TO_READ[plan.to].format(first=plan.tasks[0], last=plan.tasks[-1]),
        'everlearn.streams.load("path/to/this/folder")  # as a stream again',
        "```",
        "",
    ]
    return "\n".join(lines)


def _split_table(contents: Sequence[TaskRecord]) -> list[str]:
    """What tells Hugging Face which files make up which split."""
    filled = [part for part in PARTS if any(_has_images(record, part) for record in contents)]
    splits = [f"  - split: {part}\n    path: '*/{part}.parquet'" for part in filled]
    return ["---", "configs:", "- config_name: default", "  data_files:", *splits, "---", ""]


def _has_images(record: TaskRecord, part: PartName) -> bool:
    return record.parts[part].rows > 0
