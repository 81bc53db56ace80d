package io.waybill.cli.show;

import java.util.Locale;

/** Makes foreign text safe to print on a terminal: removes control characters. Stateless. */
public final class Printable {

    private Printable() {}

    /** Returns the text with control characters, except line ends and tabs, as {@code \\u....}. */
    public static String of(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '\n' && c != '\t' && Character.isISOControl(c)) {
                shown.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
            } else {
                shown.append(c);
            }
        }
        return shown.toString();
    }

    /** Makes text safe to print on one line. */
    public static String oneLine(String text) {
        String shown = of(text.strip());
        return shown.indexOf('\n') < 0 ? shown : shown.replaceAll("\\s*\n\\s*", "; ");
    }
}
