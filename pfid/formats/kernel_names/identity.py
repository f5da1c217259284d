"""What one kernel's name tells: class, family, generation, tier, data type.

Source: playbook 3.3 and STACK's list of symbols, by way of the families' table. A generation is
read from a tag in the name, else from the family, else it is unknown; a name that was cut off
gives none, because the tag stands at its end.
"""

import re
from typing import Final

from pfid.domain.kernel import (
    DeviceCategory,
    GenerationFrom,
    KernelClass,
    KernelIdentity,
    KernelKey,
)
from pfid.formats.kernel_names.families import FAMILIES, Family

_SM: Final = re.compile(r"(?<![a-z])(?:sm_?|Sm|cutlass_|cutlass3x_sm)(\d{2,3})(?!\d)", re.ASCII)
_CAMEL_SM: Final = re.compile(r"(?:Mainloop|FlashAttnFwd|FlashAttnBwd|arch::|for_)[Ss]m(\d{2,3})")
_FOR_SM: Final = {"9x": 90, "10": 100, "10_or_later": 100}
_ENABLED: Final = re.compile(r"enable_3x_kernel_for_sm(9x|10_or_later|10)")
_WORDS: Final = {
    "maxwell": 50,
    "pascal": 60,
    "volta": 70,
    "turing": 75,
    "ampere": 80,
    "ada": 89,
    "hopper": 90,
    "blackwell": 100,
}
_WORD: Final = re.compile(rf"(?<![A-Za-z])({'|'.join(_WORDS)})_")
_TIER: Final = re.compile(r"fmha_cutlass[FB]_\w+?_\d+x\d+_(gmem|rf|k\d+)")
_DTYPES: Final = (
    ("bf16", r"bf16|bfloat16|BFloat16|nv_bfloat"),
    ("fp8", r"e4m3|e5m2|fp8|Float8"),
    ("f64", r"f64|dgemm|double"),
    ("f16", r"(?<![b0-9])f16|fp16|half|Half|hgemm|h16816|h1688|h884|_HHS_|_HB_"),
    ("f32", r"f32|sgemm|scudnn|float|_SB_"),
    ("int8", r"s8_|int8|imma"),
)
_DTYPE: Final = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _DTYPES))
_TF32: Final = re.compile(r"(?<![a-z])tf32|tfloat32")
KNOWN_SM: Final = frozenset(
    {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121}
)


def identify(key: KernelKey) -> KernelIdentity:
    """Say what is known of a kernel."""
    name, truncated = key.name, is_truncated(key.name)
    if key.category is not DeviceCategory.KERNEL:
        return KernelIdentity(
            kind=KernelClass.MEMORY, family=key.category.value.removeprefix("gpu_")
        )
    family = family_of(name)
    if family is None:
        return KernelIdentity(
            kind=KernelClass.OTHER,
            dtype=_dtype(name),
            generation=None if truncated else _tagged(name),
            generation_from=None if truncated or _tagged(name) is None else GenerationFrom.NAME,
            truncated=truncated,
        )
    generation, source = (None, None) if truncated or family.amd else _generation(name, family)
    tier, dtype = _TIER.search(name), _dtype(name)
    return KernelIdentity(
        kind=family.kind,
        family=family.name,
        generation=generation,
        generation_from=source,
        tier=tier[1] if tier else None,
        dtype=dtype,
        newer_known=family.newer_than(generation),
        truncated=truncated,
        amd=family.amd,
        simt_f32=family.simt_f32 and dtype == "f32",
    )


def family_of(name: str) -> Family | None:
    """Return the first family that a name fits."""
    return next((family for family in FAMILIES if family.pattern.search(name)), None)


def is_truncated(name: str) -> bool:
    """Whether a table cut the name off."""
    return name.endswith("...")


def _generation(name: str, family: Family) -> tuple[int | None, GenerationFrom | None]:
    tagged = _tagged(name)
    if tagged is not None:
        return tagged, GenerationFrom.NAME
    if family.generation is not None:
        return family.generation, GenerationFrom.FAMILY
    return None, GenerationFrom.COMPILED if family.compiled else None


def _tagged(name: str) -> int | None:
    """Return the newest sm version that the name carries."""
    numbers = [int(n) for pattern in (_SM, _CAMEL_SM) for n in pattern.findall(name)]
    numbers += [_WORDS[word] for word in _WORD.findall(name)]
    numbers += [_FOR_SM[word] for word in _ENABLED.findall(name)]
    return max((n for n in numbers if n in KNOWN_SM), default=None)


def _dtype(name: str) -> str | None:
    if _TF32.search(name):  # beside the f32 that its operands are kept in
        return "tf32"
    match = _DTYPE.search(name)
    return match.lastgroup if match else None
