"""A self-signed certificate, with which a phone in the same network reaches the studio over HTTPS."""

import ipaddress
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from everlearn import files

VALID_DAYS = 365
RENEW_DAYS = 30
"""A certificate that expires earlier is replaced."""
CLOCK_SKEW = timedelta(days=1)
"""The clock of a phone may be behind."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key in one file."""

    path: Path  # PEM file that only the user can read
    fingerprint: str  # SHA-256, as browsers show it


def own_certificate(address: Address, folder: Path | None = None) -> Certificate:
    """The certificate for an address, from the user's state folder; renewed if missing or about to expire."""
    if folder is None:
        from platformdirs import user_state_path

        folder = user_state_path("everlearn") / "studio"
    path = folder / f"{str(address).replace(':', '-')}.pem"
    found = _read(path)
    if found is None or found.not_valid_after_utc - datetime.now(UTC) < timedelta(days=RENEW_DAYS):
        found = _write_new(path, address)
    return Certificate(path, found.fingerprint(hashes.SHA256()).hex(":").upper())


def _read(path: Path) -> x509.Certificate | None:
    """The certificate in a file; None if there is none, if it is damaged, or if others can read its key."""
    try:
        if sys.platform != "win32" and path.stat().st_mode & 0o077:
            return None
        content = path.read_bytes()
        key = serialization.load_pem_private_key(content, None)
        found = x509.load_pem_x509_certificate(content)
    except (OSError, ValueError):
        return None
    return found if found.public_key() == key.public_key() else None


def _write_new(path: Path, address: Address) -> x509.Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _sign(key, address)
    files.make_folder(path.parent)
    path.parent.chmod(0o700)  # before the key is written, so that no other user can open it
    files.write(
        path,
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM),
    )
    path.chmod(0o600)
    return made


def _sign(key: ec.EllipticCurvePrivateKey, address: Address) -> x509.Certificate:
    """A certificate for one address, signed by its own key, which cannot sign others."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"everlearn studio {address}")])
    public, now = key.public_key(), datetime.now(UTC)
    extensions: list[x509.ExtensionType] = [
        x509.SubjectAlternativeName([x509.IPAddress(address)]),
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        x509.SubjectKeyIdentifier.from_public_key(public),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(public),
    ]
    unsigned = x509.CertificateBuilder(name, name, public, x509.random_serial_number())
    unsigned = unsigned.not_valid_before(now - CLOCK_SKEW).not_valid_after(now + timedelta(days=VALID_DAYS))
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    for extension in extensions:
        unsigned = unsigned.add_extension(extension, critical=False)
    return unsigned.sign(key, hashes.SHA256())
