"""Builds the package's wheel with the standard library alone, so that an installation needs no network."""

import base64
import hashlib
import os
import re
import tarfile
import zipfile
from typing import Any, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
Settings = Optional[Dict[str, Any]]


def _project() -> Tuple[str, str, str]:
    """Name, version and summary of the project, from pyproject.toml (Python 3.8 has no TOML reader)."""
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    found = [re.search(r'^%s = "([^"]*)"$' % field, text, re.MULTILINE) for field in ("name", "version", "description")]
    name, version, summary = (match.group(1) if match else "" for match in found)
    return name, version, summary


def _metadata() -> str:
    name, version, summary = _project()
    return (
        "Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nLicense: Apache-2.0\nRequires-Python: >=3.8\n"
        % (name, version, summary)
    )


def _sources(package: str) -> List[str]:
    """Paths of the package's files, relative to the project."""
    found = []
    for folder, folders, files in os.walk(os.path.join(ROOT, package)):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        found += [
            os.path.relpath(os.path.join(folder, f), ROOT) for f in sorted(files) if f.endswith((".py", ".typed"))
        ]
    return found


def _write_wheel(directory: str, members: Dict[str, bytes]) -> str:
    name, version, _ = _project()
    info = "%s-%s.dist-info" % (name, version)
    members = dict(members)
    members[info + "/METADATA"] = _metadata().encode()
    members[info + "/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: waybill\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = []
    for path, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append("%s,sha256=%s,%d\n" % (path, digest, len(content)))
    members[info + "/RECORD"] = ("".join(lines) + info + "/RECORD,,\n").encode()
    file_name = "%s-%s-py3-none-any.whl" % (name, version)
    with zipfile.ZipFile(os.path.join(directory, file_name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in members.items():
            wheel.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return file_name


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    """Writes the wheel and returns its file name (PEP 517)."""
    members = {}
    for path in _sources(_project()[0]):
        with open(os.path.join(ROOT, path), "rb") as file:
            members[path] = file.read()
    return _write_wheel(wheel_directory, members)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    """Writes a wheel whose only content is a path file that points to the sources (PEP 660)."""
    return _write_wheel(wheel_directory, {_project()[0] + ".pth": (ROOT + "\n").encode()})


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Writes the source archive and returns its file name (PEP 517)."""
    name, version, _ = _project()
    base = "%s-%s" % (name, version)
    file_name = base + ".tar.gz"
    with tarfile.open(os.path.join(sdist_directory, file_name), "w:gz") as archive:
        for path in ["pyproject.toml", "README.md", "build_backend/wheel_builder.py"] + _sources(name):
            archive.add(os.path.join(ROOT, path), base + "/" + path)
    return file_name
