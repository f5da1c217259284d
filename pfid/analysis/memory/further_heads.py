"""Parameters of heads that predict further tokens, which lie among the files beside the decoder's.

Classes that train a decoder leave them out when they load.
"""

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.parameters import layer_parameters
from pfid.domain.model import ModelShape
from pfid.domain.weights import Weights

OWN_COPIES = 2
"""Embedding and output head, which some checkpoints store once more for each such head."""


def further_heads(shape: ModelShape, weights: Weights) -> Bytes:
    """Their parameters: to the one where headers tell, else at most by the decoder's shapes."""
    if not weights.mtp_tensors:
        return NOTHING
    if weights.mtp_parameters is not None:
        return exactly(weights.mtp_parameters)
    largest = max(layer_parameters(layer, shape.hidden) for layer in set(shape.layers))
    joined = 2 * shape.hidden * shape.hidden
    each = largest + joined + OWN_COPIES * shape.vocabulary * shape.hidden
    return Bytes(0, max(1, shape.mtp_layers) * each)
