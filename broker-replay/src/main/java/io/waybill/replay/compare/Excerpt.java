package io.waybill.replay.compare;

/** Shortens texts to a readable length. Stateless. */
final class Excerpt {

    /** Max characters of a text. */
    static final int MAX_CHARS = 160;

    private static final int CHARS_BEFORE = 40;
    private static final String CUT = "…";

    private Excerpt() {}

    /** Returns the start of the text, in quotes. */
    static String start(String text) {
        return quoted(text, 0);
    }

    /** Returns the start of the text. */
    static String cut(String text) {
        return text.length() > MAX_CHARS ? text.substring(0, MAX_CHARS) + CUT : text;
    }

    /** Formats two different texts, around their first difference. */
    static String pair(String recorded, String replayed) {
        int at = 0;
        int common = Math.min(recorded.length(), replayed.length());
        while (at < common && recorded.charAt(at) == replayed.charAt(at)) {
            at++;
        }
        int from = at + CHARS_BEFORE < MAX_CHARS ? 0 : at - CHARS_BEFORE;
        String where = from == 0 ? "" : ", from character " + at + " on";
        return "recorded " + quoted(recorded, from) + ", replayed " + quoted(replayed, from) + where;
    }

    private static String quoted(String text, int from) {
        int to = Math.min(text.length(), from + MAX_CHARS);
        return "'" + (from > 0 ? CUT : "") + text.substring(from, to) + (to < text.length() ? CUT : "") + "'";
    }
}
