"""What travels between an owner and its worker, as bytes: orders one way, reports the other.

msgpack, not JSON: a loss may be NaN, which JSON turns into null. A verdict of a plugin may hold
anything, and what no message can carry is refused here.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from pfid.domain.errors import WireError

O = TypeVar("O")  # noqa: E741 - an order
R = TypeVar("R")
T = TypeVar("T")


class WorkerCodec(Generic[O, R]):
    """Of one kind of worker."""

    def __init__(
        self, orders: Any, reports: Any, plain: Callable[[Any], Any] | None = None
    ) -> None:
        """Take what may be ordered and what may be reported.

        Args:
            orders: a struct, or a union of structs with tags.
            reports: likewise.
            plain: makes plain data of what msgspec does not know.
        """
        self._orders: msgspec.msgpack.Decoder[O] = msgspec.msgpack.Decoder(orders)
        self._reports: msgspec.msgpack.Decoder[R] = msgspec.msgpack.Decoder(reports)
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain)

    def encode(self, message: O | R) -> bytes:
        """Return the msgpack of a message, without a frame.

        Raises:
            WireError: if something in it is no plain data.
        """
        try:
            return self._encoder.encode(message)
        except (TypeError, ValueError, OverflowError, NotImplementedError, RecursionError) as error:
            raise WireError(f"message cannot be written: {error}") from error

    def decode_order(self, body: bytes) -> O:
        """Read an order.

        Raises:
            WireError: naming the place that is malformed.
        """
        return _decoded(self._orders, body, "order")

    def decode_report(self, body: bytes) -> R:
        """Read a report.

        Raises:
            WireError: naming the place that is malformed.
        """
        return _decoded(self._reports, body, "report")


def _decoded(decoder: "msgspec.msgpack.Decoder[T]", body: bytes, what: str) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise WireError(f"{what} is malformed: {error}") from error
