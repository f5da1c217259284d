"""TLS on the page: real certificates, real clients, and strangers who cost nothing."""

import contextlib
import http.client
import os
import queue
import select
import shutil
import socket
import ssl
import subprocess
import urllib.request

import pytest

from pfid.adapters.http_server import CONNECTIONS_MAX, PageServer
from pfid.adapters.http_server.connection import REQUEST_DEADLINE_S
from pfid.adapters.http_server.streams import PlainStream
from pfid.adapters.http_server.tls import Certificates
from pfid.bootstrap.live.witness import fetched, refuses_us
from pfid.config.address import Address
from pfid.config.model import TlsServer
from pfid.domain.errors import ConfigError

pytestmark = pytest.mark.needs("openssl")
EC_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
WHO = ("server", "prometheus", "stranger")
SANS = {"server": "IP:127.0.0.1", "prometheus": "DNS:prometheus", "stranger": "DNS:stranger"}


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def authority(folder, name):
    subject = ("-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE")
    files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl(folder, "req", "-x509", *EC_KEY, "-days", "2", *files, *subject)


def issue(folder, who, by="ca"):
    """A certificate for one of SANS."""
    subject = ("-subj", f"/CN={who}", "-addext", f"subjectAltName={SANS[who]}")
    openssl(folder, "req", *EC_KEY, "-keyout", f"{who}.key", "-out", f"{who}.csr", *subject)
    signer = ("-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days", "2")
    asked = ("-in", f"{who}.csr", "-copy_extensions", "copy")
    openssl(folder, "x509", "-req", *asked, *signer, "-out", f"{who}.pem")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority(folder, "ca")
    authority(folder, "other")
    for who in WHO:
        issue(folder, who)
    return folder


@pytest.fixture
def files(made, tmp_path):
    """Certificates and keys of ca, other (authorities), server, prometheus and stranger."""
    return shutil.copytree(made, tmp_path / "tls")


def config(files, **more):
    return TlsServer(
        cert_file=str(files / "server.pem"), key_file=str(files / "server.key"), **more
    )


def both_sides(files, **more):
    return config(
        files,
        client_auth_type="RequireAndVerifyClientCert",
        client_ca_file=str(files / "ca.pem"),
        **more,
    )


def trusting(files, who=None, by="ca"):
    """A client that trusts an authority, and may show a certificate."""
    context = ssl.create_default_context(cafile=str(files / f"{by}.pem"))
    if who is not None:
        context.load_cert_chain(files / f"{who}.pem", files / f"{who}.key")
    return context


def get(server, context):
    """Fetch the page as Prometheus would; None where it is refused."""
    try:
        with urllib.request.urlopen(server.url, timeout=10, context=context) as answer:
            return answer.read()
    except (OSError, http.client.HTTPException):
        return None


@pytest.fixture
def silent():
    """Open connections that say what they are told to, and nothing more."""
    opened = []

    def one(server, data=b""):
        address = server.addresses[0]
        sock = socket.create_connection((address.host, address.port), timeout=20)
        opened.append(sock)
        sock.sendall(data)
        return sock

    yield one
    for sock in opened:
        sock.close()


def test_a_client_that_trusts_the_authority_gets_the_page(serve, files):
    server = serve(secure=Certificates(config(files)))
    assert server.url.startswith("https://")
    assert get(server, trusting(files)).startswith(b"pfid_x 1\n")
    assert get(server, trusting(files, by="other")) is None


def test_the_live_self_test_reads_the_page_of_its_own_daemon(serve, files):
    server = serve(secure=Certificates(config(files)))
    assert fetched(server.url).startswith("pfid_x 1\n")
    assert not refuses_us(server.url)


def test_the_live_self_test_knows_a_page_that_wants_its_certificate(serve, files):
    assert refuses_us(serve(secure=Certificates(both_sides(files))).url)
    assert not refuses_us(serve().url)
    assert not refuses_us("http://127.0.0.1:1/metrics"), "that page is broken, not private"


def test_the_page_is_not_there_without_tls(serve, files, connect):
    client = connect(serve(secure=Certificates(config(files))))
    client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := client.sock.recv(65536):
            said += chunk
    assert b"HTTP" not in said


def test_a_page_of_many_records_arrives_whole_over_a_kept_connection(serve, files):
    page = b"".join(b'pfid_x{n="%d"} 1\n' % n for n in range(200_000))
    server = serve(page=page, secure=Certificates(config(files)))
    address = server.addresses[0]
    client = http.client.HTTPSConnection(
        address.host, address.port, timeout=20, context=trusting(files)
    )
    for _ in range(3):
        client.request("GET", "/metrics")
        assert client.getresponse().read().startswith(page)
    client.close()


def test_requests_that_came_in_one_record_are_all_answered(serve, files, silent):
    server = serve(secure=Certificates(config(files)))
    request = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 3_000 + b"\r\n\r\n"
    with trusting(files).wrap_socket(silent(server), server_hostname="127.0.0.1") as client:
        client.sendall(request * 4)
        said = b""
        while said.count(b"HTTP/1.1 200 OK") < 4:
            chunk = client.recv(65536)
            assert chunk, said
            said += chunk


def test_what_came_with_a_request_is_answered_after_an_answer_that_had_to_wait(
    serve, files, silent
):
    """Its bytes are decrypted already when the long answer is out, so no selector tells of them."""
    server = serve(page=b"pfid_x 1\n" * 1_000_000, secure=Certificates(config(files)))
    first = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    padding = b"A: " + b"a" * 6_000
    second = b"GET /-/healthy HTTP/1.1\r\nConnection: close\r\n" + padding + b"\r\n\r\n"
    with trusting(files).wrap_socket(silent(server), server_hostname="127.0.0.1") as client:
        client.sendall(first + second)
        said = b""
        while chunk := client.recv(65536):
            said += chunk
    assert said.count(b"HTTP/1.1 200 OK") == 2


def test_who_has_shaken_hands_outlives_a_crowd_that_has_not(serve, files, silent):
    server = serve(secure=Certificates(config(files)))
    with trusting(files).wrap_socket(silent(server), server_hostname="127.0.0.1") as client:
        client.sendall(b"GET /-/healthy HTTP/1.1\r\n")
        for _ in range(CONNECTIONS_MAX * 2):
            silent(server)
        assert get(server, trusting(files))
        client.sendall(b"Host: x\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_an_answer_ends_with_the_end_of_tls_and_not_with_a_cut(serve, files, silent):
    server = serve(secure=Certificates(config(files)))
    context = trusting(files)
    with context.wrap_socket(
        silent(server), server_hostname="127.0.0.1", suppress_ragged_eofs=False
    ) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while client.recv(65536):
            pass


@pytest.mark.parametrize(
    ("kind", "who", "let_in"),
    [
        ("RequireAndVerifyClientCert", "prometheus", True),
        ("RequireAndVerifyClientCert", None, False),
        ("VerifyClientCertIfGiven", "prometheus", True),
        ("VerifyClientCertIfGiven", None, True),
    ],
)
def test_clients_show_certificates_as_configured(serve, files, kind, who, let_in):
    asked = config(files, client_auth_type=kind, client_ca_file=str(files / "ca.pem"))
    page = get(serve(secure=Certificates(asked)), trusting(files, who))
    assert (page is not None) is let_in


@pytest.mark.parametrize("kind", ["RequireAndVerifyClientCert", "VerifyClientCertIfGiven"])
def test_a_certificate_of_another_authority_is_refused(serve, files, kind):
    issue(files, "stranger", by="other")
    asked = config(files, client_auth_type=kind, client_ca_file=str(files / "ca.pem"))
    assert get(serve(secure=Certificates(asked)), trusting(files, "stranger")) is None


REFUSED = {
    "no certificate": (None, "CERTIFICATE_REQUIRED"),
    "another authority's": ("stranger", "UNKNOWN_CA"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_whoever_is_refused_is_told_why_by_tls_and_not_reset(serve, files, silent, case):
    """Also a client that goes on speaking, as one of TLS 1.3 does: to it all seems well."""
    who, why = REFUSED[case]
    issue(files, "stranger", by="other")
    sock = silent(serve(secure=Certificates(both_sides(files))))
    with trusting(files, who).wrap_socket(sock, server_hostname="127.0.0.1") as client:
        over = select.poll()
        over.register(client, select.POLLRDHUP)
        assert over.poll(60_000), "the server has not ended its side"
        for _ in range(2):
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ssl.SSLError, match=why):
            client.recv(65536)


@pytest.mark.parametrize("who", ["stranger", None])
def test_whose_name_is_not_allowed_is_told_so_and_given_nothing(serve, files, silent, who):
    given = {"client_auth_type": "VerifyClientCertIfGiven", "client_ca_file": f"{files}/ca.pem"}
    asked = config(files, **given, client_allowed_sans=["prometheus"])
    server = serve(secure=Certificates(asked))
    with trusting(files, who).wrap_socket(silent(server), server_hostname="127.0.0.1") as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
        said = b""
        while chunk := client.recv(65536):
            said += chunk
    assert said.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert said.count(b"HTTP/1.1") == 1
    assert b"client_allowed_sans" in said
    assert b"pfid_x" not in said
    assert server.scrapes == 0
    assert refuses_us(server.url)


def test_only_certificates_for_an_allowed_name_are_let_in(serve, files):
    server = serve(secure=Certificates(both_sides(files, client_allowed_sans=["prometheus"])))
    assert get(server, trusting(files, "prometheus"))
    assert get(server, trusting(files, "stranger")) is None
    assert get(server, trusting(files, "prometheus"))


def test_an_old_version_of_tls_is_refused(serve, files):
    old = trusting(files)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert get(serve(secure=Certificates(config(files))), old)
    assert get(serve(secure=Certificates(config(files, min_version="TLS13"))), old) is None


@pytest.mark.parametrize(
    "data", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET /metr"]
)
def test_clients_that_say_nothing_or_half_of_it_hold_nobody_up(serve, files, silent, data):
    server = serve(secure=Certificates(config(files)))
    for _ in range(CONNECTIONS_MAX + 10):
        silent(server, data)
    assert get(server, trusting(files))


def test_a_silent_client_is_cut_at_its_deadline(serve, files, silent):
    now = [1_000.0]
    server = serve(secure=Certificates(config(files)), monotonic=lambda: now[0])
    first = silent(server)
    assert get(server, trusting(files))
    now[0] += REQUEST_DEADLINE_S
    silent(server)  # wakes the server, which looks at the clock
    assert first.recv(1) == b""
    assert server.evicted == 1


def test_replaced_files_are_taken_and_a_half_replaced_pair_is_not(serve, files):
    said = []
    certificates = Certificates(config(files), say=said.append)
    now = [1_000.0]
    server = serve(secure=certificates, monotonic=lambda: now[0])
    old = (files / "server.key").read_bytes()
    issue(files, "server", by="other")
    new = (files / "server.key").read_bytes()

    (files / "server.key").write_bytes(old)
    now[0] += 2
    assert get(server, trusting(files)), "the old pair is used until the new one is whole"
    assert "server.key" in said[0]

    (files / "server.key").write_bytes(new)
    now[0] += 2
    assert get(server, trusting(files, by="other"))
    assert get(server, trusting(files)) is None
    assert len(said) == 1, "said once"


def test_a_refused_file_is_tried_again_when_only_its_inode_changed(files):
    """As by chgrp and chmod after a key was put there unreadable: its date and size stay.

    Root reads whatever its mode is, so the key is spoilt here, and mended under its old date.
    """
    said = []
    certificates = Certificates(config(files), say=said.append)
    before, key = certificates._context, files / "server.key"
    issue(files, "server", by="other")
    whole = key.read_bytes()
    key.write_bytes(bytes(len(whole)))
    spoilt = key.stat()
    certificates.look()
    assert certificates._context is before
    assert "server.key" in said[0]
    key.write_bytes(whole)
    while key.stat().st_ctime_ns == spoilt.st_ctime_ns or key.stat().st_mtime != spoilt.st_mtime:
        os.utime(key, ns=(spoilt.st_atime_ns, spoilt.st_mtime_ns))
    certificates.look()
    assert certificates._context is not before
    assert len(said) == 1


class Counted:
    """In place of certificates: two seconds go by with every client."""

    def __init__(self):
        self.now_s, self.looks, self.clients = 1_000.0, 0, queue.SimpleQueue()

    def look(self):
        self.looks += 1

    def stream(self, sock):
        self.now_s += 2.0
        self.clients.put(self.looks)
        return PlainStream(sock)


def test_files_are_looked_at_by_the_time_at_which_each_client_is_met():
    """Whoever waits behind another is met in the same turn, and no earlier look does for them."""
    counted = Counted()
    server = PageServer([Address("127.0.0.1", 0)], secure=counted, monotonic=lambda: counted.now_s)
    where = server.addresses[0]
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(socket.create_connection((where.host, where.port), timeout=20))
        server.start()
        stack.callback(server.stop)
        assert [counted.clients.get(timeout=60) for _ in range(2)] == [0, 1]


def test_files_that_vanish_are_said_and_the_old_ones_stay(serve, files):
    said = []
    now = [1_000.0]
    server = serve(secure=Certificates(config(files), say=said.append), monotonic=lambda: now[0])
    (files / "server.pem").unlink()
    now[0] += 2
    assert get(server, trusting(files))
    assert "server.pem" in said[0]


def test_a_change_to_tls_and_back_is_taken_while_serving(serve, files):
    server = serve()
    server.secure(Certificates(config(files)))
    assert get(server, trusting(files))
    server.secure(None)
    assert server.url.startswith("http://")
    with urllib.request.urlopen(server.url, timeout=10) as answer:
        assert answer.read().startswith(b"pfid_x 1\n")


@pytest.mark.parametrize("file", ["cert_file", "key_file", "client_ca_file"])
@pytest.mark.parametrize("text", [None, "", "rubbish"])
def test_files_that_cannot_be_used_are_named(files, file, text):
    asked = both_sides(files)
    path = files / {"cert_file": "server.pem", "key_file": "server.key"}.get(file, "ca.pem")
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    with pytest.raises(ConfigError, match=str(path)):
        Certificates(asked)


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(files):
    openssl(files, "ec", "-in", "server.key", "-aes128", "-passout", "pass:x", "-out", "locked.key")
    (files / "locked.key").replace(files / "server.key")
    with pytest.raises(ConfigError, match=r"server\.key"):
        Certificates(config(files))
