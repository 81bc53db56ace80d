package io.waybill.http;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Response to a request for a page. Immutable.
 *
 * @param status HTTP status, from 200 to 599
 * @param type type of the content
 * @param headers further headers, by name
 * @param body content, which no longer changes
 */
public record Page(int status, String type, Map<String, String> headers, byte[] body) {

    private static final int MIN_STATUS = 200;
    private static final int MAX_STATUS = 599;

    /** @throws IllegalArgumentException for a status outside of its range */
    public Page {
        if (status < MIN_STATUS || status > MAX_STATUS) {
            throw new IllegalArgumentException(
                    "status is from " + MIN_STATUS + " to " + MAX_STATUS + ", found " + status);
        }
        if (type == null || body == null) {
            throw new IllegalArgumentException(
                    "a page has a type and a body, found " + (type == null ? "no type" : "no body"));
        }
        headers = Map.copyOf(headers);
    }

    /** Returns a page with status 200. */
    public static Page of(String type, byte[] body) {
        return new Page(200, type, Map.of(), body);
    }

    /** Returns a page with a line of text. */
    public static Page text(int status, String line) {
        return new Page(status, "text/plain; charset=utf-8", Map.of(), (line + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
