"""Which attention a class has, as pfid says it of its type, against the installed classes."""

import pytest

from pfid.formats.model_config.attention import EAGER, UNFUSED
from pfid.formats.model_config.held import HELD
from pfid.formats.model_config.norms import BY_TYPE

pytestmark = [pytest.mark.full, pytest.mark.torch]


def class_of(kind):
    """What transformers makes of a type; None for a whole model whose text is of another."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    name = CLASSES.get(f"{kind}_text") or CLASSES.get(kind)
    return name and getattr(transformers, name)


@pytest.mark.parametrize("kind", sorted({*HELD, *BY_TYPE, *EAGER, *UNFUSED} - {"mistral3"}))
def test_a_type_without_scaled_dot_product_attention_is_known(kind):
    found = class_of(kind)
    attends = kind not in {"mamba", "mamba2"}
    assert (kind in EAGER | UNFUSED) is (attends and not found._supports_sdpa)
    if kind in UNFUSED:
        assert found._supports_flash_attn
