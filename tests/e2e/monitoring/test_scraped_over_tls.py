"""A real Prometheus shows a certificate of its own to the page, by the printed scrape job."""

import ssl
import subprocess
import urllib.request

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs("prometheus", "openssl"),
]
CONFIG = """
[page]
listen = ["127.0.0.1:{port}"]
[tls_server_config]
cert_file = "{folder}/page.pem"
key_file = "{folder}/page.key"
client_auth_type = "RequireAndVerifyClientCert"
client_ca_file = "{folder}/authority.pem"
client_allowed_sans = ["prometheus.example"]
"""
WITHIN_S = 90.0


def openssl(folder, *arguments):
    subprocess.run(("openssl", *arguments), cwd=folder, check=True, capture_output=True)


def certificates(folder):
    """An authority, and what it signed: the page, its Prometheus and somebody else's."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    authority = ("-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=authority")
    openssl(folder, "req", "-x509", *curve, "-days", "2", *authority)
    signed = ("-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2")
    for name, of in (
        ("page", "IP:127.0.0.1"),
        ("prometheus", "DNS:prometheus.example"),
        ("other", "DNS:other.example"),
    ):
        asked = ("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(folder, "req", *curve, *asked)
        (folder / f"{name}.ext").write_text(f"subjectAltName={of}\n")
        took = ("-in", f"{name}.csr", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
        openssl(folder, "x509", "-req", *took, *signed)


def ready(folder, port):
    context = ssl.create_default_context(cafile=str(folder / "authority.pem"))
    context.load_cert_chain(folder / "prometheus.pem", folder / "prometheus.key")
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/-/ready", context=context):
            return True
    except OSError:
        return False


def test_a_prometheus_with_the_right_certificate_is_let_in_and_no_other(place, port, prometheus):
    folder = place.folder
    certificates(folder)
    place.configure(CONFIG.format(folder=folder, port=port))
    place.environ["STATE_DIRECTORY"] = str(folder / "daemon")
    place.start("daemon", "--config", str(folder / "pfid.toml"))
    place.until("the daemon answers", lambda: ready(folder, port), WITHIN_S)

    def job(name, *files):
        ca = ("--ca-file", str(folder / "authority.pem"))
        done = place.pfid(
            "monitoring", "scrape-config", f"127.0.0.1:{port}", "--job", name, *ca, *files
        )
        assert done.returncode == 0, done.stderr
        quick = done.stdout.replace('"15s"', '"5s"').replace('"10s"', '"5s"')
        return quick.removeprefix("scrape_configs:\n")

    def shows(name):
        return ("--cert-file", f"{folder}/{name}.pem", "--key-file", f"{folder}/{name}.key")

    jobs = (job("pfid", *shows("prometheus")), job("other", *shows("other")), job("bare"))
    server = prometheus("scrape_configs:\n" + "".join(jobs))
    found = place.until("all are tried", server.scraped, WITHIN_S)
    assert found["pfid"] == ("up", "")
    refused = {name: found[name][0] for name in ("other", "bare")}
    assert refused == {"other": "down", "bare": "down"}
    place.until(
        "its series are there", lambda: server.value('pfid_ready{job="pfid"}') == 1, WITHIN_S
    )
