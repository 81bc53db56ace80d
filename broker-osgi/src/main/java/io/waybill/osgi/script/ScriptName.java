package io.waybill.osgi.script;

import io.waybill.api.Script;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Name of a script's file. Immutable.
 *
 * @param module name without the ending
 */
record ScriptName(String module, Script.Form form) {

    private static final String SOURCE = ".py";
    private static final String MODULE = ".pt";
    private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,63}");

    /**
     * Returns whether a file is meant to be a script: it has the ending of one, in lower or upper case, and is not
     * hidden.
     */
    static boolean isScript(String fileName) {
        return !fileName.startsWith(".") && (has(fileName, SOURCE) || has(fileName, MODULE));
    }

    private static boolean has(String fileName, String ending) {
        return fileName.toLowerCase(Locale.ROOT).endsWith(ending);
    }

    /** Parses a file's name; empty if it can't be the first part of a function's name. */
    static Optional<ScriptName> parse(String fileName) {
        String module = fileName.substring(0, fileName.length() - SOURCE.length());
        return IDENTIFIER.matcher(module).matches()
                ? Optional.of(new ScriptName(module, has(fileName, SOURCE) ? Script.Form.SOURCE : Script.Form.MODULE))
                : Optional.empty();
    }

    /** Returns the problem of a file whose name can't be parsed. */
    static String problem(String fileName) {
        return "a script is named like a module of Python, of at most 64 letters, digits and _, because its functions are"
                + " called by that name: " + fileName;
    }

    String ending() {
        return form == Script.Form.SOURCE ? SOURCE : MODULE;
    }
}
