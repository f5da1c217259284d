"""A column of times is read as its times are one by one."""

from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.trace.number_text import column_to_ns, digits_to_ns

THREE_DECIMALS = st.from_regex(rb"-?(0|[1-9][0-9]{0,18})\.[0-9]{3}", fullmatch=True)
ANY_NUMBER = st.from_regex(rb"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,9})?", fullmatch=True)


@given(st.lists(THREE_DECIMALS) | st.lists(ANY_NUMBER) | st.lists(THREE_DECIMALS | ANY_NUMBER))
def test_a_column_is_read_as_its_times_are_one_by_one(texts: list[bytes]):
    assert list(column_to_ns(texts)) == [digits_to_ns(text) for text in texts]
