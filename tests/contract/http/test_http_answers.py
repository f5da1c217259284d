"""What stands where, over real sockets."""

import gzip
import socket
import subprocess
import threading

import pytest

from pfid.adapters.http_server import ListenError, PageServer
from pfid.adapters.http_server.prepared import PreparedPage
from pfid.config.address import Address


def test_the_page_is_served_as_published(serve, get):
    status, headers, body = get(serve(page=b"pfid_x 1\n"))
    assert (status, body) == (200, b"pfid_x 1\n")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "Content-Encoding" not in headers


def test_a_new_page_replaces_the_old_one_on_an_open_connection(serve, connect):
    server = serve(page=b"old\n")
    client = connect(server)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    assert client.send(request).answer()[2] == b"old\n"
    server.publish(b"new\n")
    assert client.send(request).answer()[2] == b"new\n"


def test_gzip_is_given_to_those_who_take_it_live_part_and_all(serve, get):
    page = b"pfid_x 1\n" * 5_000
    server = serve(page=page, live=lambda _: b"pfid_time_seconds 7\n")
    status, headers, body = get(server, Accept_Encoding="gzip;q=0.5, br")
    assert (status, headers["Content-Encoding"]) == (200, "gzip")
    assert gzip.decompress(body) == page + b"pfid_time_seconds 7\n"
    assert len(body) < len(page) / 10


@pytest.mark.parametrize("accept", ["identity", "gzip;q=0", "gzip; q=0.0", "br, deflate"])
def test_gzip_is_not_given_to_those_who_do_not(serve, get, accept):
    assert "Content-Encoding" not in get(serve(), Accept_Encoding=accept)[1]


@pytest.mark.needs("curl")
def test_curl_unpacks_it(serve):
    server = serve(page=b"pfid_x 1\n" * 1_000, live=lambda _: b"pfid_y 2\n")
    done = subprocess.run(
        ["curl", "-sf", "--compressed", server.url], capture_output=True, check=True
    )
    assert done.stdout == b"pfid_x 1\n" * 1_000 + b"pfid_y 2\n"


def test_the_live_part_is_made_anew_for_every_scrape(serve, get):
    ticks = iter(range(10))
    server = serve(live=lambda _: b"pfid_time_seconds %d\n" % next(ticks))
    assert get(server)[2].endswith(b"seconds 0\n")
    assert get(server)[2].endswith(b"seconds 1\n")


def test_a_live_part_that_raises_is_an_error_and_not_the_end(serve, get):
    answers = iter([b"pfid_y 1\n"])
    server = serve(live=lambda _: next(answers))
    assert [get(server)[0], get(server)[0], get(server, "/")[0]] == [200, 500, 200]


def test_before_the_first_page_metrics_are_unavailable(serve, get):
    assert get(serve(page=None))[0] == 503


def test_what_a_selftest_made_stands_on_a_page_of_its_own(serve, get):
    server = serve(page=b"real\n")
    before = get(server, "/-/selftest")[0]
    server.publish_selftest(b"made\n")
    during = get(server, "/-/selftest")[2], get(server)[2]
    server.publish_selftest(None)
    assert (before, during) == (503, (b"made\n", b"real\n"))
    assert get(server, "/-/selftest")[0] == 503


def test_ready_only_when_told(serve, get):
    server = serve()
    before = get(server, "/-/ready")[0]
    server.set_ready(ready=True)
    assert (before, get(server, "/-/ready")[0]) == (503, 200)


def test_healthy_says_what_the_daemon_says(serve, get):
    answers = iter([True, False])
    server = serve(healthy=lambda: next(answers))
    assert [get(server, "/-/healthy")[0], get(server, "/-/healthy")[0]] == [200, 503]


def test_the_landing_page_links_and_runs_nothing(serve, get):
    status, headers, body = get(serve(), "/")
    assert status == 200
    assert b'href="/metrics"' in body
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/metrics/", "/x", "/..", "//", "/metricsx", "*"])
def test_nothing_stands_elsewhere(serve, get, path):
    assert get(serve(), path)[0] == 404


def test_a_query_does_not_matter(serve, get):
    assert get(serve(), "/metrics?name[]=x")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(serve, get, method):
    status, headers, _ = get(serve(), method=method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/metrics", "/", "/-/healthy", "/nowhere"])
def test_head_says_the_length_and_leaves_the_body_out(serve, get, connect, path):
    server = serve()
    _, headers, body = get(server, path)
    client = connect(server)
    head, rest = client.send(f"HEAD {path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode()).head()
    assert f"Content-Length: {len(body)}" in head
    assert headers["Content-Length"] == str(len(body))
    assert rest == b""
    assert client.is_closed()


def test_a_scrape_is_remembered_and_other_requests_are_not(serve, get):
    server = serve()
    get(server, "/")
    assert (server.scrapes, server.last_scrape_s) == (0, None)
    get(server)
    assert server.scrapes == 1
    assert server.last_scrape_s is not None
    assert server.requests == 2


def test_http_1_0_is_closed_after_the_answer(serve, connect):
    client = connect(serve()).send(b"GET / HTTP/1.0\r\n\r\n")
    assert client.answer()[1]["Connection"] == "close"
    assert client.is_closed()


def test_pipelined_requests_are_answered_in_order(serve, connect):
    client = connect(serve())
    client.send(b"GET /-/healthy HTTP/1.1\r\n\r\nGET /no HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
    assert [client.answer()[0] for _ in range(3)] == [200, 404, 200]


def test_several_addresses_serve_the_same(serve, get):
    server = serve("127.0.0.1", "::1", page=b"pfid_x 1\n")
    assert [get(server, index=i)[2] for i in (0, 1)] == [b"pfid_x 1\n"] * 2
    assert str(server.addresses[1]).startswith("[::1]:")


def test_port_0_gives_the_real_port_back(serve):
    server = serve()
    assert server.addresses[0].port != 0
    assert server.url == f"http://127.0.0.1:{server.addresses[0].port}/metrics"


def test_no_address_serves_nobody(serve):
    server = PageServer([])
    server.start()
    server.publish(b"x")
    assert (server.addresses, server.url) == ((), None)
    server.stop()


def test_a_port_that_is_taken_is_named_and_nothing_is_left_bound(serve):
    taken = serve().addresses[0]
    free = PageServer([Address("127.0.0.1", 0)])
    address = free.addresses[0]
    free.stop()
    with pytest.raises(ListenError, match=f"{taken}: Address already in use"):
        PageServer([address, taken])
    PageServer([address]).stop()


def test_stopping_gives_the_port_back_at_once(serve, get):
    first = PageServer([Address("127.0.0.1", 0)])
    first.start()
    get(first, "/")
    first.stop()
    second = PageServer([first.addresses[0]])
    second.stop()


def test_no_name_is_ever_looked_up(serve, get, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a name was looked up")

    for name in ("getfqdn", "gethostbyaddr", "gethostbyname", "getnameinfo", "gethostname"):
        monkeypatch.setattr(socket, name, refuse)
    assert get(serve())[0] == 200


def test_a_page_is_packed_by_whoever_publishes_it_once_somebody_takes_it_packed(
    serve, get, monkeypatch
):
    packed_by = []
    pack = PreparedPage.pack

    def noted(page):
        packed_by.append(threading.current_thread())
        pack(page)

    monkeypatch.setattr(PreparedPage, "pack", noted)
    server = serve(page=b"pfid_x 1\n")
    get(server)
    server.publish(b"pfid_x 2\n")
    assert packed_by == [], "nobody wants it so"
    get(server, Accept_Encoding="gzip")
    server.publish(b"pfid_x 3\n")
    assert packed_by == [threading.current_thread()]
    assert gzip.decompress(get(server, Accept_Encoding="gzip")[2]) == b"pfid_x 3\n"
