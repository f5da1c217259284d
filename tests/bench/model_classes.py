"""Parameters by a configuration alone against every class of transformers that makes a decoder.

Each class for causal text and for text beside images is made by its default configuration on the
meta device; what it saves as ``config.json`` is then counted. Prints a row a class and the sum.
"""

import json
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto import modeling_auto

from pfid.analysis.memory.parameters import count_parameters
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.read import read_config

OFF_MAX = 0.005
TASKS = {
    "text": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "image": modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
}


def made(kind, name):
    """Its configuration as saved, and its parameters."""
    config = CONFIG_MAPPING[kind]()
    config.architectures = [name]
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        raw = json.loads((Path(folder) / "config.json").read_text())
    with torch.device("meta"):
        model = getattr(transformers, name)._from_config(config)
    return raw, sum(p.numel() for p in model.parameters())


def judged(raw, real):
    """One word, and the figures."""
    try:
        shape = read_config(raw)
    except ModelConfigError as error:
        return "unknown", str(error)
    counted = count_parameters(shape)
    if not counted.known:
        return "unknown", dict(shape.notes).get("layout_untold", "")
    off = max(counted.low - real, real - counted.high, 0) / real
    width = (counted.high - counted.low) / real
    figures = f"{counted.low / 1e6:.1f}-{counted.high / 1e6:.1f} M, off {off:.2%}, wide {width:.1%}"
    return "agrees" if off <= OFF_MAX else "DIFFERS", figures


def main():
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    counts = Counter()
    for task, mapping in TASKS.items():
        for kind, names in mapping.items():
            name = names if isinstance(names, str) else names[0]
            if task == "text" and kind in TASKS["image"]:
                continue  # its checkpoint is that of the whole
            try:
                raw, real = made(kind, name)
            except Exception as error:  # noqa: BLE001 - a default that its own class refuses
                word, figures, real = "not made", f"{type(error).__name__}"[:60], 0
            else:
                word, figures = judged(raw, real)
            counts[word] += 1
            print(f"| {task} | {kind} | {word} | {real / 1e6:.1f} | {figures} |", flush=True)
    print(dict(counts))
    return int(counts["DIFFERS"] > 0)


if __name__ == "__main__":
    sys.exit(main())
