"""From a call of `calls.py` to a method of a client, with the call's parameters, types and words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rubricweb.client.core import Listing, Steps

P = ParamSpec("P")
T = TypeVar("T")
Q = ParamSpec("Q")
R = TypeVar("R")


class Waiting(Protocol):
    """A client whose methods return once there is a result."""

    def _run(self, steps: Steps[T]) -> T: ...

    def _rows(self, steps: Listing[T]) -> Iterator[T]: ...


class Awaiting(Protocol):
    """A client whose methods are awaited."""

    def _run(self, steps: Steps[T]) -> Coroutine[Any, Any, T]: ...

    def _rows(self, steps: Listing[T]) -> AsyncIterator[T]: ...


def call(steps: Callable[P, Steps[T]]) -> Callable[Concatenate[Waiting, P], T]:
    def method(client: Waiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client._run(steps(*args, **kwargs))

    return _as_method(method, steps)


def listing(steps: Callable[P, Listing[T]]) -> Callable[Concatenate[Waiting, P], Iterator[T]]:
    def method(client: Waiting, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return client._rows(steps(*args, **kwargs))

    return _as_method(method, steps)


def async_call(steps: Callable[P, Steps[T]]) -> Callable[Concatenate[Awaiting, P], Coroutine[Any, Any, T]]:
    def method(client: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return client._run(steps(*args, **kwargs))

    return _as_method(method, steps)


def async_listing(steps: Callable[P, Listing[T]]) -> Callable[Concatenate[Awaiting, P], AsyncIterator[T]]:
    def method(client: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return client._rows(steps(*args, **kwargs))

    return _as_method(method, steps)


def _as_method(method: Callable[Q, R], steps: Callable[..., object]) -> Callable[Q, R]:
    """Give the method the call's name, words and parameters, which notebooks show."""
    of_call = signature(steps)
    client = Parameter("self", Parameter.POSITIONAL_ONLY)
    method.__name__ = method.__qualname__ = getattr(steps, "__name__", "")
    method.__doc__ = steps.__doc__
    shown = of_call.replace(parameters=[client, *of_call.parameters.values()])
    method.__signature__ = shown  # type: ignore[attr-defined]  # read by `inspect`, unknown to typeshed
    return method
