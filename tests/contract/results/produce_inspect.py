"""Write real logs of inspect-ai with its own mock model. Run by an interpreter that has it."""

import sys
from pathlib import Path

from inspect_ai import Task, eval, task  # noqa: A004 - its name
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import exact, includes

ANSWERS = ("The capital of Portugal is **Lisbon**.", "Paris", "I do not know.\x1b[31m")
FINISHED = ("stop", "stop", "max_tokens")


@task
def capitals():
    """Three questions, each asked twice."""
    asked = (("Portugal", "Lisbon"), ("France", "Paris"), ("Peru", "Lima"))
    samples = [
        Sample(id=f"q{i}", input=f"The capital of {land}?", target=city)
        for i, (land, city) in enumerate(asked)
    ]
    return Task(
        dataset=samples,
        scorer=[includes(), exact()],
        epochs=2,
        config=GenerateConfig(temperature=0.5, seed=7, max_tokens=64),
    )


def main(folder):
    """One log a format."""
    for form in ("eval", "json"):
        outputs = [
            ModelOutput.from_content("mockllm/model", text, stop_reason=reason)
            for text, reason in zip(ANSWERS, FINISHED, strict=True)
        ]
        for output in outputs:  # else its tokenizer would be fetched to count them
            output.usage = ModelUsage(input_tokens=6, output_tokens=9, total_tokens=15)
        model = get_model("mockllm/model", custom_outputs=outputs * 2)
        logs = eval(
            capitals(),
            model=model,
            log_dir=str(folder / form),
            log_format=form,
            display="none",
            max_samples=1,
            max_connections=1,
        )
        assert logs[0].status == "success", logs[0].error


main(Path(sys.argv[1]))
