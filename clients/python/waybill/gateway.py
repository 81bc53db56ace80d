"""Finds the gateway of a home, and starts one where there is none."""

import os
import pwd
import shutil
import socket
import subprocess
import threading
import time
from typing import List, Optional

from waybill.errors import CallError

GATEWAY_NAME = "python-gateway"
_START_SECONDS = 120.0
_SCHEME = "waybill:"


def home_of(init_method: Optional[str] = None) -> str:
    """The home that ``waybill:<path>`` names; otherwise ``$WAYBILL_HOME``, or the user's default home."""
    if init_method is not None and init_method.startswith(_SCHEME):
        return init_method[len(_SCHEME) :]
    named = os.environ.get("WAYBILL_HOME", "")
    if named:
        return named
    state = os.environ.get("XDG_STATE_HOME", "")
    base = state if state.startswith("/") else os.path.join(_user_directory(), ".local", "state")
    return os.path.join(base, "waybill", "home")


def _user_directory() -> str:
    directory = os.environ.get("HOME", "")
    if not directory.startswith("/"):
        try:
            directory = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            directory = ""
    if not directory.startswith("/"):
        raise CallError(
            "gateway: expected a directory of this user in HOME or passwd, found none; set WAYBILL_HOME or HOME",
            "UNKNOWN_WORKER",
        )
    return directory


def find(home: str) -> str:
    """Path of the socket of a gateway of the home. Starts a node if there is none, by the ``waybill`` command."""
    named = os.environ.get("WAYBILL_PYTHON_SOCKET", "")
    if named:
        return named
    found = _serving(home)
    if found is None:
        found = _start(home)
    return found


def group_of(init_method: str) -> str:
    """Which group of a home a program means, when there are several at a time: by the file or the port where programs
    for PyTorch meet, which is that of ``init_method`` or ``$MASTER_PORT``. Empty when the program names none."""
    scheme, separator, place = init_method.partition("://")
    if separator and scheme in ("file", "tcp"):
        place = place.partition("?")[0]
        # processes of one host may write its address in several ways
        return "port " + place.rpartition(":")[2] if scheme == "tcp" else "file " + place
    port = os.environ.get("MASTER_PORT", "")
    return "port " + port if port else ""


def candidates(home: str) -> List[str]:
    """Paths at which a gateway of the home may be; none where ``$WAYBILL_PYTHON_SOCKET`` names the only one."""
    if os.environ.get("WAYBILL_PYTHON_SOCKET", ""):
        return []
    workers = os.path.join(home, "workers")
    try:
        names = sorted(os.listdir(workers))
    except FileNotFoundError:
        return []
    return [os.path.join(workers, name, "python.sock") for name in names]


def _serving(home: str) -> Optional[str]:
    for path in candidates(home):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
            except OSError:
                continue
            return path
    return None


def _start(home: str) -> str:
    command = os.environ.get("WAYBILL_COMMAND", "") or shutil.which("waybill")
    if not command:
        raise CallError(
            "gateway: expected a node with the bundle io.waybill.python in the home %s, found none; start one with "
            "`waybill node --name %s`, or put `waybill` on the PATH" % (home, GATEWAY_NAME),
            "UNKNOWN_WORKER",
        )
    home = os.path.abspath(home)
    # the node makes the home, which must be empty then
    os.makedirs(os.path.dirname(home), exist_ok=True)
    with open("%s.%s.log" % (home, GATEWAY_NAME), "ab") as log:
        # several processes may start one at once: the name is unique, and those that come too late end
        process = subprocess.Popen(
            [command, "node", "--name", GATEWAY_NAME, "--home", home],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    # it may end before this process does, and is to leave nothing
    threading.Thread(target=process.wait, name="waybill-gateway", daemon=True).start()
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        found = _serving(home)
        if found is not None:
            return found
        if process.poll() not in (None, 0) and time.monotonic() > end - _START_SECONDS + 30:
            break
        time.sleep(0.05)
    raise CallError(
        "gateway: expected one to serve in %s, found none; its log: %s" % (home, log.name), "UNKNOWN_WORKER"
    )
