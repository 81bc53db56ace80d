"""Timeouts: seconds of programs, as nanoseconds in messages and as limits of waits.

Every function of the client that takes a timeout comes here, so that a number means the same everywhere.
"""

import math
import threading
from datetime import timedelta
from typing import Any, Optional

# of a call without a limit
NO_LIMIT_NS = 0
# 146 years; a longer timeout is none: a deadline is a time of a clock and the timeout, in a signed 64-bit number
_MAX_NS = 1 << 62
# what the functions of the standard library that wait can take
MAX_WAIT_SECONDS = float(min(threading.TIMEOUT_MAX, 1 << 31))


def to_ns(seconds: Any, what: str = "timeout") -> int:
    """A number of seconds in nanoseconds, which may be negative; :data:`NO_LIMIT_NS` for 0, None and infinity.

    Any other number is at least one nanosecond away from 0.

    :raises TypeError: for what is no number
    :raises ValueError: for NaN
    """
    if seconds is None:
        return NO_LIMIT_NS
    if isinstance(seconds, (str, bytes, timedelta)) or not (
        hasattr(seconds, "__float__") or hasattr(seconds, "__index__")
    ):
        raise TypeError(
            "%s: expected a number of seconds, or None for no limit, found %s" % (what, type(seconds).__name__)
        )
    try:
        number = float(seconds)
    except OverflowError:
        # of an int
        number = math.inf if seconds > 0 else -math.inf
    except (TypeError, ValueError, RuntimeError) as e:
        raise TypeError("%s: expected a number of seconds, found %s: %s" % (what, type(seconds).__name__, e)) from None
    if math.isnan(number):
        raise ValueError("%s: expected a number of seconds, or None for no limit, found nan" % what)
    if number == 0 or number * 1e9 >= _MAX_NS:
        return NO_LIMIT_NS
    if number < 0:
        return min(-1, round(max(number * 1e9, -_MAX_NS)))
    return max(1, round(number * 1e9))


def to_limit_ns(seconds: Any, what: str = "timeout") -> int:
    """As :func:`to_ns`, but refuses a negative number by ValueError."""
    found = to_ns(seconds, what)
    if found < 0:
        raise ValueError("%s: expected a number of seconds from 0 on, or None for no limit, found %s" % (what, seconds))
    return found


def to_seconds(seconds: Any, what: str = "timeout") -> float:
    """A checked number of seconds from 0 on as a float; 0 for None."""
    if to_limit_ns(seconds, what) == NO_LIMIT_NS:
        # also what no float can hold
        return 0.0 if seconds is None or seconds == 0 else math.inf
    return float(seconds)


def to_wait(seconds: Any, what: str = "timeout") -> Optional[float]:
    """For a wait of the standard library: None without a limit, which here is None and infinity, and not 0."""
    if seconds is None:
        return None
    found = to_limit_ns(seconds, what)
    if found == NO_LIMIT_NS:
        return 0.0 if seconds == 0 else None
    return min(found / 1e9, MAX_WAIT_SECONDS)


def in_ms(timeout_ns: int) -> int:
    """A timeout in milliseconds, for a text that programs parse: a part of one counts as a whole one."""
    return -(-timeout_ns // 1000000) if timeout_ns > 0 else -(timeout_ns // -1000000)
