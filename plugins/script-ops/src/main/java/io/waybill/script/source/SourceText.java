package io.waybill.script.source;

import java.util.regex.Pattern;

/** The text of a source as libtorch compiles it: without the lines that only Python needs. */
public final class SourceText {

    /** Imports of names that the compiler knows anyway: {@code torch}, {@code Tensor}, {@code List} and others. */
    private static final Pattern IMPORTS = Pattern.compile(
            "^(import torch|from torch import Tensor|from typing import [\\w, ]+|import torch\\.distributed\\.rpc as rpc"
                    + "|from torch\\.distributed import rpc|from torch\\.distributed\\.rpc import RRef)[ \\t]*(#.*)?$",
            Pattern.MULTILINE);

    private SourceText() {}

    /**
     * Returns the text with empty lines in place of imports that mean nothing to libtorch, so that line numbers do not
     * change.
     */
    public static String prepared(String text) {
        return IMPORTS.matcher(text).replaceAll("");
    }
}
