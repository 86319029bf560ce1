import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from everlearn.studio import certificate
from everlearn.studio.certificate import own_certificate

ADDRESSES = [ipaddress.ip_address(each) for each in ("192.168.1.5", "fd00::5")]


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_is_for_one_address_and_kept(address: certificate.Address, tmp_path: Path) -> None:
    made = own_certificate(address, tmp_path / "state")
    parsed = x509.load_pem_x509_certificate(made.path.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [address]
    assert not parsed.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert parsed.not_valid_before_utc < datetime.now(UTC) < parsed.not_valid_after_utc
    assert own_certificate(address, tmp_path / "state") == made
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made.path)


def test_only_the_user_can_read_the_key(tmp_path: Path) -> None:
    made = own_certificate(ADDRESSES[0], tmp_path / "state")
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert made.path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in made.path.parent.iterdir()] == [made.path.name]
    made.path.chmod(0o644)
    assert own_certificate(ADDRESSES[0], tmp_path / "state").fingerprint != made.fingerprint
    assert made.path.stat().st_mode & 0o777 == 0o600


def test_a_certificate_that_expires_soon_or_is_damaged_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "VALID_DAYS", certificate.RENEW_DAYS - 1)
    ending = own_certificate(ADDRESSES[0], tmp_path)
    monkeypatch.undo()
    renewed = own_certificate(ADDRESSES[0], tmp_path)
    assert renewed.fingerprint != ending.fingerprint
    end = x509.load_pem_x509_certificate(renewed.path.read_bytes()).not_valid_after_utc
    assert end - datetime.now(UTC) > timedelta(days=certificate.RENEW_DAYS)
    content = renewed.path.read_bytes()
    other = own_certificate(ADDRESSES[1], tmp_path).path.read_bytes()
    key_of_another = (
        other.partition(b"-----BEGIN CERT")[0] + b"-----BEGIN CERT" + content.partition(b"-----BEGIN CERT")[2]
    )
    for damaged in (b"", content[:100], content.replace(b"M", b"N"), key_of_another):
        renewed.path.write_bytes(damaged)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own_certificate(ADDRESSES[0], tmp_path).path)
