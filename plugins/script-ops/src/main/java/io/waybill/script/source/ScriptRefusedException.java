package io.waybill.script.source;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Signals that a script can't be served. The message is for the operator: libtorch's text, with the line as prefix if
 * there is one.
 */
public final class ScriptRefusedException extends Exception {

    private static final long serialVersionUID = 1;

    public ScriptRefusedException(String message) {
        super(message);
    }

    public ScriptRefusedException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Converts an error of libtorch; rethrows any other exception. */
    public static ScriptRefusedException of(RuntimeException error) {
        return of(error, "[^\"]*");
    }

    /**
     * Converts an error of libtorch about a source.
     *
     * @param source source, whose first line in the error is named
     */
    public static ScriptRefusedException of(RuntimeException error, SourceText source) {
        return of(error, Pattern.quote(source.path()));
    }

    private static ScriptRefusedException of(RuntimeException error, String file) {
        String text = TorchError.refusal(error).getMessage().strip();
        Matcher line = Pattern.compile("File \"" + file + "\", line (\\d+)").matcher(text);
        return new ScriptRefusedException(line.find() ? "line " + line.group(1) + ": " + text : text, error);
    }
}
