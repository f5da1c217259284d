"""YAML of our own: every text quoted, so that nothing in it is syntax."""

from pfid.monitoring.yaml_text import yaml_text


def test_maps_and_lists_nest():
    data = {"a": {"b": [{"c": 1, "d": ["x", "y"]}, "z"], "e": []}, "f": {}}
    assert yaml_text(data) == (
        'a:\n  b:\n    - c: 1\n      d:\n        - "x"\n        - "y"\n    - "z"\n  e: []\nf: {}\n'
    )


def test_text_that_looks_like_syntax_stays_text():
    said = yaml_text({"a": 'no: "yes"\n- x', "b": "0s", "c": True})
    assert said == 'a: "no: \\"yes\\"\\n- x"\nb: "0s"\nc: true\n'
