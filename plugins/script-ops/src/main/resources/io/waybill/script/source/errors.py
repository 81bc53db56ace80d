def raised(kind: str, message: str) -> str:
    ops.prim.RaiseException(message, "builtins." + kind)
    return message
