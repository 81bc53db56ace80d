package io.waybill.metrics.http;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * First lines of an HTTP/1.x request: the parts that an endpoint needs.
 *
 * @param host the client's {@code Host}; empty for none
 * @param accept the client's {@code Accept}; empty for none
 */
record RequestHead(String method, String path, String host, String accept) {

    private static final String END = "\r\n\r\n";

    /** Returns the head in the first bytes; null if it is not complete yet. */
    static RequestHead of(byte[] bytes, int length) throws MalformedHeadException {
        String text = new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        int end = text.indexOf(END);
        if (end < 0) {
            return null;
        }
        String[] lines = text.substring(0, end).split("\r\n", -1);
        String[] words = lines[0].split(" ", -1);
        if (words.length != 3 || !words[2].startsWith("HTTP/1.") || !words[1].startsWith("/")) {
            throw new MalformedHeadException();
        }
        String host = "";
        String accept = "";
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            if (colon <= 0) {
                throw new MalformedHeadException();
            }
            String value = lines[i].substring(colon + 1).strip();
            switch (lines[i].substring(0, colon).toLowerCase(Locale.ROOT)) {
                case "host" -> host = value;
                case "accept" -> accept = value;
                default -> {
                    // ignored
                }
            }
        }
        return new RequestHead(words[0], words[1].replaceFirst("[?#].*", ""), host, accept);
    }

    /**
     * Returns whether the client named this host by its address or as localhost. A browser that a foreign page
     * redirected here names another host (DNS rebinding).
     */
    boolean isForThisHost() {
        String name = host.replaceFirst(":\\d+$", "");
        return name.isEmpty() || name.equals("localhost") || name.startsWith("[") || name.matches("[0-9.]+");
    }

    /** Signals that the first lines are not those of a request. */
    static final class MalformedHeadException extends Exception {

        private MalformedHeadException() {
            super(null, null, false, false);
        }
    }
}
