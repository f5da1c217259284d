"""What the checks over texts take for 10,000 answers: python tests/bench/judge_texts.py."""

import random
import sys
import time

from pfid_plugins.result import collapse, exclusions_balanced, length_conformance, refusal_retention

from pfid.adapters.refusal_patterns import shipped_patterns
from pfid.policy.evaluate import run_check
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.refusals import RefusalFacts
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.length_conformance import FamilyLengths, LengthGate
from pfid.spec.result_gates.refusal_retention import RefusalGate

TOKENS = 2_000
WORDS_A_TOKEN = 0.75
LETTERS = "etaoinshrdlucmfw"


def answers(count):
    rng = random.Random(1)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(8_000)]
    words[:4] = ["the", "and", "of", "to"]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    for number in range(count):
        said = rng.choices(words, weights, k=int(TOKENS * WORDS_A_TOKEN))
        said[14::15] = [f"{word}." for word in said[14::15]]
        said[3::97] = [f'"{word}"' for word in said[3::97]]
        text = " ".join(said)
        yield record(number, text, seed=number // 96, output_tokens=TOKENS, cap_tokens=4_096)


def main(count):
    gates = Gates(
        length_conformance=LengthGate(families=[FamilyLengths(median=1_500)]),
        refusal_retention=RefusalGate(axis="a", abliterated="a"),
    )
    candidate = arm(answers(count))
    stock = arm([record(n, "I can't write this scene.") for n in range(100)], "stock")
    facts = result_facts(candidate, stock, gates=gates)
    world = result_world(facts, refusals=RefusalFacts(files=shipped_patterns()))
    size = sum(len(r.output) for r in candidate.records) / 1e6
    print(f"{count} answers of {TOKENS} tokens, {size:.0f} MB")
    for module in (collapse, exclusions_balanced, length_conformance, refusal_retention):
        (check,) = module.pfid_checks()
        began, cpu = time.perf_counter(), time.process_time()
        verdict = run_check(check, world)
        took, used = time.perf_counter() - began, time.process_time() - cpu
        print(f"{check.name:22} {took:6.2f} s, {used:6.2f} s CPU: {verdict.reason}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
