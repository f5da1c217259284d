"""Ask the mask probe of releases of transformers that are not installed here, and keep its answers.

    python tests/contract/probes/answers/record.py 4.53.0 4.55.4 4.56.0
    python tests/contract/probes/answers/record.py --check 4.55.4

Each release is installed by pip into a folder of its own, in front of the environment that this
runs in, which brings torch. What the probe answers about the model of ``test_mask_probe.py`` is
written beside this file as it came, or (``--check``) held against what lies there: 1 if it differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from pfid.adapters.python_introspection import PythonIntrospection

HERE: Final = Path(__file__).parent
DEADLINE_S: Final = 300.0
MODEL: Final = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 6,
    "sliding_window": 1024,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 128,
    "max_position_embeddings": 4096,
}
OF_THE_MACHINE: Final = ("torch",)
"""Keys that say where it was asked and not what the release makes of a mask."""


def main() -> int:
    """Record, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="+", metavar="VERSION")
    parser.add_argument("--check", action="store_true", help="Write nothing; compare.")
    given = parser.parse_args()
    differing = 0
    for release in given.releases:
        with tempfile.TemporaryDirectory() as folder:
            answer = answered(release, Path(folder))
        place = HERE / f"transformers-{release}.json"
        if not given.check:
            place.write_text(written(answer))
            sys.stdout.write(f"{place.name}: written\n")
            continue
        differs = differences(json.loads(place.read_text()), answer)
        differing += bool(differs)
        said = f"differs in {', '.join(differs)}" if differs else "the same"
        sys.stdout.write(f"{place.name}: {said}\n")
    return 1 if differing else 0


def answered(release: str, folder: Path) -> dict[str, Any]:
    """Install a release and ask it."""
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(site), f"transformers=={release}"], check=True)
    return asked(release, folder, str(site))


def asked(release: str, folder: Path, site: str) -> dict[str, Any]:
    """Ask the release that lies in a folder; "" is the one of this environment."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps(MODEL))
    environ = {**os.environ, "PYTHONPATH": site, "HF_HUB_OFFLINE": "1"}
    python = PythonIntrospection(sys.executable, environ, str(folder))
    wanted = {"model": str(model), "attention": None, "width": None}
    found = python.ask("mask", wanted, deadline_s=DEADLINE_S)
    if found.said is None:
        raise SystemExit(f"transformers {release} did not answer: {found.detail}")
    if found.said.get("transformers") != release:
        raise SystemExit(f"asked was {found.said.get('transformers')}, not {release}")
    return dict(found.said)


def differences(kept: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Keys in which two answers differ."""
    keys = [key for key in {**kept, **now} if key not in OF_THE_MACHINE]
    return [key for key in keys if kept.get(key) != now.get(key)]


def written(answer: dict[str, Any]) -> str:
    """One line a mask: a difference is to be readable."""
    masks = answer["masks"]
    rest = json.dumps({key: value for key, value in answer.items() if key != "masks"})
    lines = ",\n  ".join(json.dumps(one) for one in masks)
    return f'{rest[:-1]},\n "masks": [\n  {lines}\n ]}}\n'


if __name__ == "__main__":
    sys.exit(main())
