"""A softmax model on sparse features: L-BFGS with an L2 penalty; deterministic."""

from typing import Final

import numpy as np
import scipy.optimize
import scipy.sparse
from numpy.typing import NDArray

__all__ = ["fit_softmax", "softmax"]

_TOLERANCE: Final = 1e-5

Floats = NDArray[np.float64]


def softmax(scores: Floats) -> Floats:
    """Probabilities (n, classes) of scores."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def fit_softmax(
    features: scipy.sparse.csr_matrix,
    classes: NDArray[np.int64],
    weights: Floats,
    *,
    n_classes: int,
    penalty: float,
    iterations: int,
) -> tuple[Floats, Floats]:
    """Weights (columns, classes) and bias (classes,) of least weighted cross-entropy plus penalty/2 · |weights|².

    The loss is the sum over rows; `iterations` bounds the steps, and stopping early is a part of the model.
    """
    n, columns = features.shape
    target = np.zeros((n, n_classes))
    target[np.arange(n), classes] = 1.0
    transposed = features.T.tocsr()

    def loss(flat: Floats) -> tuple[float, Floats]:
        weight = flat[: columns * n_classes].reshape(columns, n_classes)
        bias = flat[columns * n_classes :]
        scores = features @ weight + bias
        shift = scores.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(scores - shift).sum(axis=1, keepdims=True)) + shift
        log_probability = scores - log_sum
        value = -(weights * (target * log_probability).sum(axis=1)).sum() + penalty / 2 * (weight**2).sum()
        error = (np.exp(log_probability) - target) * weights[:, None]
        return float(value), np.concatenate([(transposed @ error + penalty * weight).ravel(), error.sum(axis=0)])

    found = scipy.optimize.minimize(
        loss,
        np.zeros((columns + 1) * n_classes),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "ftol": _TOLERANCE, "gtol": 1e-4, "maxcor": 8},
    )
    solution = np.asarray(found.x)
    return solution[: columns * n_classes].reshape(columns, n_classes), solution[columns * n_classes :]
