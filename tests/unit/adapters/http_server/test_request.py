"""The head of a request: read strictly, bounded, and never more than an answer for anybody."""

from hypothesis import example, given
from hypothesis import strategies as st

from pfid.adapters.http_server.request import HEAD_MAX_BYTES, BadRequestError, head_end, parse


def status(data):
    """What the head comes to: a method, None while it is not complete, or a status."""
    try:
        end = head_end(data)
        return None if end is None else parse(data[:end]).method
    except BadRequestError as error:
        return error.status


@given(st.binary(max_size=300) | st.from_regex(rb"[A-Z ]{0,9}/[ -~]*HTTP/1\.[01]\r\n[ -~\r\n]*"))
@example(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
def test_whatever_comes_is_a_request_an_error_or_not_complete(data):
    came_to = status(data)
    assert came_to in {None, 400, 413, 431} or came_to.isupper()


@given(st.integers(0, 40), st.sampled_from([b"\r\n", b"\n"]))
def test_the_head_ends_where_the_blank_line_ends_however_it_arrives(cut, newline):
    head = b"GET / HTTP/1.1" + newline + b"Host: x" + newline * 2
    assert head_end(head + b"rest") == len(head)
    assert head_end(head[: min(cut, len(head) - 1)]) is None


def test_a_head_may_be_as_long_as_the_limit_and_no_longer():
    assert status(b"a" * HEAD_MAX_BYTES) is None
    assert status(b"a" * (HEAD_MAX_BYTES + 1)) == 431
