package io.waybill.cli.show;

/** Formats words for a shell. Stateless. */
public final class ShellWord {

    private static final String PLAIN = "[A-Za-z0-9_:./=@,+-]+";

    private ShellWord() {}

    /** Returns the word, quoted if a shell would interpret it. */
    public static String quoted(String word) {
        return word.matches(PLAIN) ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
