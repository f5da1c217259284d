"""A daemon whose page speaks TLS, through a real Prometheus-like client, over reloads."""

import signal
import ssl
import subprocess
import urllib.request

import pytest

pytestmark = pytest.mark.needs("openssl")


def certificate(folder, name):
    """A certificate that is its own authority, for the loopback address."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
    subject = ("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1")
    command = ("openssl", "req", "-x509", *key, "-days", "2", *files, *subject)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def configure(box, cert="one", key="one"):
    box.config.write_text(
        '[page]\nlisten = ["127.0.0.1:0"]\n[tls_server_config]\n'
        f'cert_file = "{box.folder}/{cert}.pem"\nkey_file = "{box.folder}/{key}.key"\n'
    )


def page(box, url, trusted):
    """The page, for a client that trusts one certificate; "" where it is refused."""
    context = ssl.create_default_context(cafile=str(box.folder / f"{trusted}.pem"))
    try:
        with urllib.request.urlopen(url, timeout=10, context=context) as answer:
            return answer.read().decode()
    except OSError:
        return ""


def test_the_page_is_served_over_tls_and_a_reload_takes_certificates_whole_or_not(idle_box):
    box = idle_box
    for name in ("one", "two"):
        certificate(box.folder, name)
    configure(box)
    box.start()
    url = box.register(box.child().pid, "train-0001").metrics_url
    assert url.startswith("https://")
    good = "pfid_config_last_reload_successful 1.0"
    box.until("the page", lambda: good in page(box, url, "one"))

    configure(box, cert="two", key="one")
    box.daemon.send_signal(signal.SIGHUP)
    box.until("the refusal", lambda: good.replace("1.0", "0.0") in page(box, url, "one"))
    assert "two.pem" in box.log()

    configure(box, cert="two", key="two")
    box.daemon.send_signal(signal.SIGHUP)
    box.until("the new one", lambda: good in page(box, url, "two"))
    assert not page(box, url, "one")


def test_a_daemon_does_not_start_with_certificates_that_cannot_be_used(idle_box):
    configure(idle_box)
    with pytest.raises(AssertionError, match=r"one\.pem"):
        idle_box.start()
    assert idle_box.daemon.wait(20) == 2
