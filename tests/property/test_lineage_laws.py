"""The order of lookup that is read from text is the one that Python works out when it runs it."""

from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.python_source.bindings import read_module
from pfid.formats.python_source.lookup import Lineages
from pfid.formats.python_source.names import ClassRef, Names

SIZE = 7


@st.composite
def hierarchies(draw):
    """Classes, each with some of those before it as bases and perhaps an attribute of its own."""
    lines = []
    for at in range(draw(st.integers(1, SIZE))):
        others = [*(f"C{before}" for before in range(at)), "ABC"]
        bases = draw(st.lists(st.sampled_from(others), unique=True, max_size=3))
        body = f"flag = {at}" if draw(st.booleans()) else "pass"
        lines.append(f"class C{at}({', '.join(bases)}):\n    {body}")
    return "\n".join(["from abc import ABC", "", *lines])


def lineages(text):
    module = read_module("tree", text, package=True)
    return Lineages(Names("tree", lambda name: module if name == "tree" else None))


@given(hierarchies())
def test_order_and_attributes_are_pythons_own(text):
    found = lineages(text)
    space = {}
    try:
        exec(text, space)
    except TypeError:  # Python itself finds no order for some class
        names = [line.split("(")[0].removeprefix("class ") for line in text.splitlines()[2::2]]
        kinds = [found.names.find("tree", name) for name in names]
        assert any(found.of(kind).unknown for kind in kinds)
        return
    for name, real in space.items():
        if not isinstance(real, type) or name == "ABC":
            continue
        kind = found.names.find("tree", name)
        assert isinstance(kind, ClassRef)
        assert found.of(kind).names == tuple(
            c.__name__ for c in real.__mro__[:-1] if c.__name__ != "ABC"
        )
        flag = found.attribute(kind, "flag")
        owner = next((c.__name__ for c in real.__mro__ if "flag" in vars(c)), None)
        assert (flag.owner.name if flag.owner else None) == owner
        assert not flag.doubt
