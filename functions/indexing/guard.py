"""The guard of every fetch: only public addresses are connected to, and exactly those that were checked.

What a source fetches is named by web pages: their links, redirects and sitemaps. Without the guard a page could make
the indexer read the cloud's metadata service or an internal server and publish it in answers.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from typing import Any

import httpcore2
import httpx2

from shared.errors import SourceError

Resolve = Callable[[str, int], Awaitable[list[str]]]
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
# Not public, though `ipaddress` of some Python releases takes them for global
_REFUSED = [
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32",  # the last: Azure's host
        "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
    )
]  # fmt: skip
_TRANSLATED = {
    ipaddress.ip_network("64:ff9b::/96"): 0,
    ipaddress.ip_network("2002::/16"): 80,
}  # shift of the IPv4
MOST_ADDRESSES = 4  # of a host that are tried one after another; more only makes a dead host slower
MOST_CONNECTIONS = 8  # twice the requests at once: redirects lead to other hosts


class AddressRefused(SourceError):
    """A host has an address that is not of the public internet, and `allow_hosts` does not name the host."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host as the system resolves it, in its order of preference.

    Raises:
        OSError: it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether an address is of the public internet; those that stand for an IPv4 address are judged by it."""
    try:
        ip: IPAddress = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        for network, shift in _TRANSLATED.items():
            if ip in network:
                ip = ipaddress.IPv4Address(int(ip) >> shift & 0xFFFFFFFF)
                break
    refused = ip.is_multicast or ip.is_reserved or ip.is_unspecified or not ip.is_global
    return not refused and not any(ip in network for network in _REFUSED)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to a host by an address that was checked: the name is resolved once, here, and not again."""

    def __init__(
        self,
        allow_hosts: Collection[str],
        resolve: Resolve = resolve,
        inner: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allowed = {host.strip("[]").rstrip(".").lower() for host in allow_hosts}
        self._resolve = resolve
        self._inner = inner or httpcore2.AnyIOBackend()

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, all of them public or the host allowed.

        Raises:
            AddressRefused: at least one is not public: which one is connected to would be chance.
            httpcore2.ConnectError: the host has no address.
        """
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(f"no address: {error}") from error
        if host.strip("[]").rstrip(".").lower() not in self._allowed:
            for address in found:
                if not is_public(address):
                    raise AddressRefused(
                        f"{host} has the address {address}, which is not of the public internet; if it is your own"
                        f" server, name the host in the source's `allow_hosts`"
                    )
        if not found:
            raise httpcore2.ConnectError("no address")
        return found[:MOST_ADDRESSES]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers.

        Raises:
            AddressRefused: as in `addresses`.
            httpcore2.ConnectError: none answers.
        """
        failure: Exception = httpcore2.ConnectError("no address")
        for address in await self.addresses(host, port):
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        """Refused: no page is behind a socket file."""
        raise AddressRefused("a socket file is no web server")

    async def sleep(self, seconds: float) -> None:
        """Wait, as the pool asks."""
        await asyncio.sleep(seconds)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests over guarded connections. No proxy: it would resolve names by itself."""

    def __init__(self, backend: GuardedBackend) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            network_backend=backend,
            max_connections=MOST_CONNECTIONS,
            ssl_context=httpx2.create_ssl_context(),  # once: without, each connection reads all certificates
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request, without redirects.

        Raises:
            AddressRefused: see `GuardedBackend`.
            httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError: it did not work.
        """
        url = request.url
        answer = await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            request=request,
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()
