"""Classes of optimisers with chains, for libraries that build the optimiser themselves."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable
from typing import Any

from torch.optim import SGD, Optimizer

from bennafusi.synapse.chain import Chain
from bennafusi.synapse.torch import Consolidated


class _Made(type):
    """The type of classes that :func:`consolidated` makes: they are copied by how to make them."""

    recipe: tuple[Callable[..., Optimizer], Chain, tuple[tuple[str, Any], ...]]


_made: dict[Any, type[Consolidated]] = {}


def consolidated(
    optimizer_class: Callable[..., Optimizer], chain: Chain, **settings: Any
) -> type[Consolidated]:
    """An optimiser *class* with chains, for libraries that want to build the optimiser themselves.

    The same arguments give the same class, also in another process: its optimisers can be sent
    there and saved whole, if the arguments can.

    Args:
        optimizer_class: such as ``torch.optim.Adam``.
        chain: the chain.
        **settings: further arguments of :class:`Consolidated`.

    Returns:
        A class that takes the arguments of ``optimizer_class``.

    Example:
        In Stable-Baselines3, ``policy_kwargs={"optimizer_class": consolidated(torch.optim.Adam,
        chain)}``; on its own:

        >>> import torch
        >>> ChainedAdam = consolidated(torch.optim.Adam, Chain(n=8, g12=0.01))
        >>> optimizer = ChainedAdam([torch.nn.Parameter(torch.ones(3))], lr=1e-3)
        >>> type(optimizer).__name__
        'ConsolidatedAdam'
    """
    if isinstance(optimizer_class, Optimizer):
        raise TypeError(
            f"optimizer_class: must be a class, such as torch.optim."
            f"{type(optimizer_class).__name__}; around an optimiser that is made, "
            f"Consolidated(optimizer, chain)"
        )
    if not callable(optimizer_class):
        raise TypeError(
            f"optimizer_class={optimizer_class!r}: must be a class, such as torch.optim.Adam"
        )
    # Around nothing: what it would refuse is refused here, not when a library makes the optimiser.
    Consolidated(SGD([{"params": []}]), chain, **settings)
    recipe = (optimizer_class, chain, tuple(sorted(settings.items())))
    if recipe not in _made:
        _made[recipe] = _make(*recipe)
    return _made[recipe]


def _make(
    optimizer_class: Callable[..., Optimizer], chain: Chain, settings: tuple[tuple[str, Any], ...]
) -> type[Consolidated]:
    class Class(Consolidated, metaclass=_Made):
        def __init__(self, params: Iterable[Any], *args: Any, **options: Any) -> None:
            super().__init__(optimizer_class(params, *args, **options), chain, **dict(settings))

    name = getattr(optimizer_class, "__name__", "Optimizer")
    Class.recipe = (optimizer_class, chain, settings)
    Class.__name__ = Class.__qualname__ = f"Consolidated{name}"
    Class.__doc__ = f"{name} whose parameters are Benna-Fusi chains, {chain!r}."
    return Class


def _again(optimizer_class: Any, chain: Chain, settings: Any) -> type[Consolidated]:
    return consolidated(optimizer_class, chain, **dict(settings))


def _reduce(made: _Made) -> Any:
    return _again, made.recipe


copyreg.pickle(_Made, _reduce)
