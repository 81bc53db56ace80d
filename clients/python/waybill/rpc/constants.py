"""Defaults of calls, in seconds unless stated otherwise."""

from datetime import timedelta

DEFAULT_RPC_TIMEOUT_SEC: float = 60.0
DEFAULT_INIT_METHOD: str = "env://"
DEFAULT_SHUTDOWN_TIMEOUT: float = 0
DEFAULT_NUM_WORKER_THREADS: int = 16
DEFAULT_PROCESS_GROUP_TIMEOUT: timedelta = timedelta(milliseconds=2**31 - 1)
# in the place of a timeout: the default of this process
UNSET_RPC_TIMEOUT: float = -1.0
# how long a graceful shutdown without a timeout waits for references
REFERENCES_TIMEOUT: float = 100.0
# how long init_rpc waits for the other members of its group
GROUP_TIMEOUT: float = 300.0
