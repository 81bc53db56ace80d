package io.waybill.cli.show;

/** Writes words as a user would type them into a shell. Stateless. */
public final class ShellWord {

    private static final String PLAIN = "[A-Za-z0-9_:./=@,+-]+";

    private ShellWord() {}

    /** The word, in quotes when a shell would read something else into it. */
    public static String quoted(String word) {
        return word.matches(PLAIN) ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
