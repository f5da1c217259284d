"""Addresses are numbers, so that no name is ever looked up."""

import pytest

from pfid.config.address import Address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:19866", Address("127.0.0.1", 19866)),
        ("0.0.0.0:0", Address("0.0.0.0", 0)),
        ("[::1]:80", Address("::1", 80)),
        ("[::]:65535", Address("::", 65535)),
    ],
)
def test_an_address_is_read_and_written_alike(text, address):
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", ":1", "1.2.3.4", "1.2.3.4:", "1.2.3.4:\u0661", "[::1]", "::1", "h:1"]
)
def test_what_is_no_address_is_refused_with_its_text(text):
    with pytest.raises(ValueError, match=r"."):
        parse_address(text)
