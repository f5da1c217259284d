"""Addresses to listen on, as text: ``127.0.0.1:19866``, ``[::1]:19866``; never a host name."""

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a port; port 0 asks the kernel for a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read ``host:port``.

    A name would need DNS, which can stall a start, and could resolve to more than was meant.

    Raises:
        ValueError: saying what is wrong and how it is written.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ValueError(f"{text!r} is not host:port with a port of 0 to 65535")
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        ip = ipaddress.ip_address(host[1:-1] if bracketed else host)
    except ValueError as error:
        raise ValueError(
            f"{text!r}: {host!r} is not an IP address (names are not looked up)"
        ) from error
    if (ip.version == 6) is not bracketed:
        raise ValueError(f"{text!r}: an IPv6 address is written in brackets, an IPv4 one without")
    return Address(str(ip), int(port))
