"""Compiles the functions beside the tests with torch.jit.script, and writes their results and functions.pt.

Run it with a Python that has PyTorch 1.13 or later: python3 functions.py ../resources/io/waybill/script/functions
"""
import contextlib
import importlib.util
import io
import pathlib
import re
import sys
import tempfile
import zipfile

import torch
from torch import nn

FOLDER = pathlib.Path(sys.argv[1])
DTYPES = {torch.float32: "f4", torch.float64: "f8", torch.int64: "i8", torch.int32: "i4", torch.bool: "b1"}


def T(values):
    return torch.tensor(values)


def text(value):
    if isinstance(value, torch.Tensor):
        flat = value.detach().reshape(-1).tolist()
        shape = "x".join(str(n) for n in value.shape)
        return "T%s:%s[%s]" % (DTYPES[value.dtype], shape, ", ".join(text(v) for v in flat))
    if value is None or isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, complex):
        return "C(%r, %r)" % (value.real, value.imag)
    if isinstance(value, str):
        return '"%s"' % value.replace("\\", "\\\\").replace('"', '\\"')
    if isinstance(value, torch.device):
        return 'D"%s"' % value
    if isinstance(value, torch.dtype):
        return 'Y"%s"' % str(value)[6:]
    if isinstance(value, tuple):
        return "(%s)" % ", ".join(text(v) for v in value)
    if isinstance(value, list):
        return "[%s]" % ", ".join(text(v) for v in value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (text(k), text(v)) for k, v in value.items())
    raise TypeError(type(value))


def call(arguments):
    return eval("(lambda *a, **k: (a, k))(%s)" % arguments, {"T": T, "torch": torch})


def main():
    cases, scripted, methods = [], {}, []
    for path in sorted(FOLDER.glob("*.py")):
        spec = importlib.util.spec_from_file_location("functions_" + path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        for kind, arguments, name in re.findall(
                r"^# (call|raises): (.*)\n(?:@.*\n)?def (\w+)", path.read_text(), re.MULTILINE):
            function = getattr(module, name)
            compiled = function if isinstance(function, torch.jit.ScriptFunction) else torch.jit.script(function)
            positional, named = call(arguments)
            given = " | ".join([text(v) for v in positional] + ["%s=%s" % (k, text(v)) for k, v in named.items()])
            if kind == "call":
                with contextlib.redirect_stdout(io.StringIO()):
                    result = text(compiled(*positional, **named))
            else:
                try:
                    compiled(*positional, **named)
                    sys.exit(name + " raises nothing")
                except torch.jit.Error as e:
                    result = "! " + str(e).strip().splitlines()[-1]
            cases.append("%s.%s # %s # %s" % (path.stem, name, given, result))
            scripted["f_%s_%s" % (path.stem, name)] = compiled
            schema = compiled.schema
            parameters = ", ".join(
                "%s: %s%s" % (a.name, hint(a.type.annotation_str),
                              " = %r" % a.default_value if a.has_default_value() else "") for a in schema.arguments)
            passed = ", ".join(a.name for a in schema.arguments)
            methods.append("    @torch.jit.export\n    def %s_%s(self, %s):\n        return f_%s_%s(%s)\n" % (
                path.stem, name, parameters, path.stem, name, passed))
    (FOLDER / "cases.txt").write_text("\n".join(cases) + "\n")
    save(methods, scripted)
    print(len(cases), "functions")


def hint(annotation):
    return re.sub(r"__torch__\.functions_(\w+)\.(\w+)", r"functions_\1.\2", annotation).replace("Device", "torch.device")


def save(methods, scripted):
    code = ("import torch\nfrom typing import *\nfrom torch import Tensor\n"
            + "".join("import functions_%s\n" % p.stem for p in sorted(FOLDER.glob("*.py")))
            + "class Functions(torch.nn.Module):\n    def forward(self):\n        return None\n" + "".join(methods))
    path = pathlib.Path(tempfile.mkdtemp(), "functions_module.py")
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("functions_module", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    module.__dict__.update(scripted)
    spec.loader.exec_module(module)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module.Functions()), buffer)
    slim(buffer, FOLDER / "functions.pt")


def slim(buffer, target):
    """Leaves out the table of the original lines, which is most of the file."""
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        for entry in source.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                out.writestr(zipfile.ZipInfo(entry.filename), source.read(entry))


main()
