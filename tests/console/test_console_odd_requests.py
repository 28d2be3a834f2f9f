"""Requests that no browser sends are refused, and are no errors of the console."""

import asyncio

import pytest

from terrazzo.console.guard import Guard
from tests.console.test_console_guard import TOKEN, look


async def answer_to(http, path, *headers):
    """The status of a request with these headers, as bytes: no client library would send them."""
    reader, writer = await asyncio.open_connection(http._base_url.host, http._base_url.port)
    lines = [f"GET {path} HTTP/1.1".encode(), b"Connection: close", *headers]
    writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
    told = await reader.readline()
    writer.close()
    return int(told.split()[1])


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize(
    "headers",
    [
        [b"Host: 127.0.0.1:99999"], [b"Host: 127.0.0.1:abc"], [b"Host: 127.0.0.1:-1"],
        [b"Host: 127.0.0.1/.evil.example"],
        [b"Host: 127.0.0.1?.evil.example"], [b"Host: 127.0.0.1#"], [b"Host: \xff"],
        [b"Host: 127.0.0.1", b"Origin: http://["], [b"Host: 127.0.0.1", b"Origin: \xff"],
    ],
)  # fmt: skip
def test_odd_host_or_origin_is_refused(token, headers):
    async def main(http):
        assert await answer_to(http, "/api/snapshot", *headers) == 403

    look(Guard(token=token), main)


@pytest.mark.parametrize("header", [b"Authorization: Bearer \xff", b"Cookie: terrazzo_console_80=\xff"])
def test_token_of_odd_bytes_is_refused(header):
    async def main(http):
        assert await answer_to(http, "/api/snapshot", b"Host: 127.0.0.1", header) == 403

    look(Guard(token=TOKEN), main)


@pytest.mark.parametrize("path", ["/static/" + "a" * 5000, "/static/" + "%61" * 500, "/static/" + "a/" * 2000])
def test_path_that_is_too_long_for_a_file_is_not_found(path):
    async def main(http):
        assert await answer_to(http, path, b"Host: 127.0.0.1") == 404

    look(Guard(), main)


@pytest.mark.parametrize("host", [b"127.0.0.1", b"127.0.0.1:", b"127.0.0.1:65535", b"[::1]", b"[fe80::1%25eth0]:80"])
def test_numeric_host_is_answered_with_and_without_a_token(host):
    async def main(http):
        assert (
            await answer_to(http, "/api/snapshot", b"Host: " + host, f"Authorization: Bearer {TOKEN}".encode()) == 200
        )

    look(Guard(token=TOKEN), main)
