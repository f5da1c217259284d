"""In which format the weights are quantised, by what the configuration and the tensors say."""

from collections.abc import Sequence
from typing import Any, Final

from pfid.formats.model_config.fields import Fields

NAMED: Final = {
    "fp8": "FP8",
    "fbgemm_fp8": "FP8",
    "finegrained_fp8": "FP8",
    "mxfp4": "MXFP4",
    "mxfp8": "MXFP8",
    "nvfp4": "NVFP4",
    "modelopt_fp4": "NVFP4",
    "gptq": "GPTQ",
    "gptq_marlin": "GPTQ",
    "awq": "AWQ",
    "bitsandbytes": "bitsandbytes",
    "aqlm": "AQLM",
    "hqq": "HQQ",
    "eetq": "EETQ",
    "quanto": "quanto",
    "torchao": "torchao",
    "gguf": "GGUF",
    "bitnet": "BitNet",
    "vptq": "VPTQ",
    "spqr": "SpQR",
    "higgs": "HIGGS",
    "auto-round": "AutoRound",
}
PACKED_SHARE: Final = 0.1
"""Indices and masks that a plain checkpoint may hold stay far below."""
FLOATS: Final = frozenset({"F64", "F32", "F16", "BF16"})
PACKED: Final = {"F8_E4M3": "FP8", "F8_E5M2": "FP8", "F4": "FP4", "F8_E8M0": "MX scales"}


BITS: Final = {
    "FP8": 8, "MXFP8": 8, "MXFP4": 4, "NVFP4": 4, "FP4": 4, "EETQ": 8, "HIGGS": 4,
    "bitsandbytes 4-bit": 4, "bitsandbytes 8-bit": 8,
}  # fmt: skip
"""Bits a weight of formats that have only one width."""


def quantised_format(*parts: Fields) -> str:
    """The format, "" if the weights are plain; an unknown one is named as it calls itself."""
    found = _described(parts)
    return _format(found) if found is not None else ""


def quantised_bits(*parts: Fields) -> int:
    """Bits a packed weight; 0 if nobody tells."""
    found = _described(parts)
    if found is None:
        return 0
    told = BITS.get(_format(found)) or found.whole("bits", "w_bit", "num_bits", "nbits")
    return told or int("".join(filter(str.isdigit, _width(found))) or 0)


def with_format(config: dict[str, Any], beside: dict[str, Any] | None) -> dict[str, Any]:
    """A configuration with what ModelOpt writes into a file beside it.

    What the configuration says of itself goes first. Where only the cache of keys and values is
    quantised (no ``quant_algo``) the weights are plain.

    Args:
        config: the JSON object.
        beside: that of ``hf_quant_config.json``; None without one.
    """
    said = Fields(beside or {}).inner("quantization")
    if _described([Fields(config)]) is not None or "quant_algo" not in said:
        return config
    return {**config, "quantization": said.raw}


def _described(parts: Sequence[Fields]) -> Fields | None:
    for part in parts:
        for key in ("quantization_config", "compression_config", "quantization"):
            raw = part.raw.get(key)
            if isinstance(raw, dict) and raw:
                return Fields(raw)
    return None


def packed_format(by_dtype: Sequence[tuple[str, int]]) -> str:
    """The format that the tensors' types betray where no configuration says it, else ""."""
    whole = sum(size for _, size in by_dtype)
    packed = [(dtype, size) for dtype, size in by_dtype if dtype not in FLOATS]
    if sum(size for _, size in packed) <= PACKED_SHARE * whole or not packed:
        return ""
    return PACKED.get(packed[0][0], f"packed {packed[0][0]}")


def _format(config: Fields) -> str:
    method = config.text("quant_method", "quant_algo", "quantization").lower()
    algorithm = config.text("quant_algo", "format", "fmt").lower()
    if "nvfp4" in algorithm or "nvfp4" in method:
        return "NVFP4"
    if algorithm.startswith("fp8"):  # with how it is scaled behind it
        return "FP8"
    if method in ("compressed-tensors", "compressed_tensors"):
        return f"compressed-tensors {_width(config)}".strip()
    if method in ("modelopt", "quark", ""):
        kind = {"fp8": "FP8", "nvfp4": "NVFP4", "mxfp4": "MXFP4"}.get(algorithm)
        return kind or _bits(config) or "quantised"
    if method == "bitsandbytes":
        return f"bitsandbytes {4 if config.flag('load_in_4bit', '_load_in_4bit') else 8}-bit"
    return NAMED.get(method, method[:40])


def _width(config: Fields) -> str:
    for group in config.inner("config_groups").raw.values():
        weights = Fields(group if isinstance(group, dict) else {}).inner("weights")
        bits = weights.whole("num_bits")
        if bits:
            return f"{'FP' if weights.text('type') == 'float' else 'INT'}{bits}"
    return ""


def _bits(config: Fields) -> str:
    bits = config.whole("bits", "w_bit", "num_bits")
    return f"{bits}-bit" if bits else ""
