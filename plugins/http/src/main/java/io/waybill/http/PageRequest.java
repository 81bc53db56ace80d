package io.waybill.http;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Request for a page, whose host was checked. Immutable.
 *
 * @param method one of those that the service has in {@link WebPages#METHODS}, or {@code HEAD}
 * @param path decoded, without a query, and without {@code .} and {@code ..}
 * @param query what follows the question mark, as sent; empty for none
 * @param headers by names in lower case; several of a name are joined with commas
 * @param body content, at most {@value #MAX_BODY_BYTES} bytes, which the receiver may keep; empty for none
 */
public record PageRequest(String method, String path, String query, Map<String, String> headers, byte[] body) {

    /** Max size of a body, in bytes; larger ones are refused. */
    public static final int MAX_BODY_BYTES = 64 * 1024;

    public PageRequest {
        headers = Map.copyOf(headers);
    }

    /** Returns the value of a header, whose name may have any case. */
    public Optional<String> header(String name) {
        return Optional.ofNullable(headers.get(name.toLowerCase(Locale.ROOT)));
    }
}
