"""Write real sample logs of lm-evaluation-harness: its dummy model, a task and questions of ours.

Run by an interpreter that has it; nothing is fetched.
"""

import json
import os
import sys
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "0"}

QUESTIONS = [{"q": f"What is {i} and {i}?", "a": str(2 * i)} for i in range(6)]
GENERATED = """\
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {data}
test_split: train
output_type: generate_until
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{a}}}}"
generation_kwargs: {{until: ["\\n"], max_gen_toks: 32, do_sample: false, temperature: 0.0}}
filter_list:
  - name: strict-match
    filter: [{{function: take_first}}]
  - name: flexible-extract
    filter: [{{function: take_first}}]
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 2.0}}
"""
CHOSEN = """\
task: choices
dataset_path: json
dataset_kwargs:
  data_files: {data}
test_split: train
output_type: multiple_choice
doc_to_text: "{{{{q}}}}"
doc_to_choice: ["one", "two"]
doc_to_target: 0
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1.0}}
"""


def main(folder):
    """Evaluate both tasks and save every sample; then one of them under several seeds."""
    from lm_eval.tasks import TaskManager

    tasks = folder / "tasks"
    tasks.mkdir(parents=True)
    data = tasks / "questions.json"
    data.write_text("\n".join(map(json.dumps, QUESTIONS)))
    (tasks / "sums.yaml").write_text(GENERATED.format(data=data))
    (tasks / "choices.yaml").write_text(CHOSEN.format(data=data))
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    run(folder / "out", manager, ["sums", "choices"])
    for number, seed in enumerate((1, 1, 2)):  # the harness takes it; its dummy model does not
        run(folder / "seeds" / str(number), manager, ["sums"], torch_random_seed=seed)
    sent = "seed=9,do_sample=true,temperature=0.5"
    run(folder / "sent", manager, ["sums"], gen_kwargs=sent, torch_random_seed=3)


def run(output, manager, names, **more):
    """One evaluation, saved as the command line saves it."""
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker

    tracker = EvaluationTracker(output_path=str(output))
    results = simple_evaluate(
        model="dummy",
        tasks=names,
        limit=5,
        log_samples=True,
        evaluation_tracker=tracker,
        task_manager=manager,
        **more,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for name in results["configs"]:
        tracker.save_results_samples(task_name=name, samples=samples[name])


main(Path(sys.argv[1]))
