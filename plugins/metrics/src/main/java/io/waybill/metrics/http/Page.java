package io.waybill.metrics.http;

import java.nio.charset.StandardCharsets;

/**
 * Response of an endpoint.
 *
 * @param status HTTP status, with its reason
 * @param type type of the content
 * @param body content, which no longer changes
 */
public record Page(String status, String type, byte[] body) {

    private static final String TEXT = "text/plain; charset=utf-8";

    /** Returns a page with a line of text. */
    public static Page text(String status, String line) {
        return new Page(status, TEXT, (line + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
