import math
from math import sqrt

import torch


# call: 2.0
def roots(x: float) -> float:
    return sqrt(x) + math.sqrt(x) + math.pow(x, 3.0)


# call: 0.5
def trigonometry(x: float):
    return math.sin(x), math.cos(x), math.tan(x), math.asin(x), math.acos(x), math.atan(x)


# call: 0.5
def hyperbolic(x: float):
    return math.sinh(x), math.cosh(x), math.tanh(x), math.asinh(x), math.atanh(x)


# call: 10.0
def logarithms(x: float):
    return math.log(x), math.log10(x), math.log1p(x), math.exp(-x), math.expm1(0.1)


# call: 1.0, 2.0
def angles(y: float, x: float):
    return math.atan2(y, x), math.degrees(y), math.radians(x)


# call: 7.5, 2.0
def parts(x: float, y: float):
    return math.fmod(x, y), math.modf(x), math.frexp(x), math.copysign(x, -1.0), math.fabs(-x)


# call: 5
def whole(n: int):
    return math.factorial(n), math.gcd(12, n), math.ceil(n / 2), math.floor(n / 2)


# call: 0.5
def errors(x: float):
    return math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x)


# call: 1e300
def special(x: float):
    return math.isinf(x * x), math.isnan(x), math.isfinite(x), math.isinf(math.inf), math.isnan(math.nan)


# call: 2.0
def complexes(x: float) -> complex:
    return complex(x, 1.0) * 2j


# call: 3.0
def constants(x: float):
    return x * math.tau, x * math.e, -math.inf


# call: 2, 3.5
def mixed(n: int, x: float):
    return n + x, n * x, float(n), int(x), bool(n), str(n)


# call: 1.25
def remainder(x: float):
    return math.remainder(x, 1.0), math.ldexp(x, 3)
