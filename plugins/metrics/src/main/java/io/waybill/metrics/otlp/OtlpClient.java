package io.waybill.metrics.otlp;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.Map;
import java.util.Set;

/**
 * Client that sends OTLP requests over HTTP to a receiver.
 *
 * <p><b>Threads.</b> One.
 */
final class OtlpClient {

    private static final int LIMIT_MS = 5000;
    private static final int MAX_RESPONSE_BYTES = 65_536;
    /** HTTP codes after which the protocol allows to repeat a request. */
    private static final Set<Integer> LATER = Set.of(429, 502, 503, 504);

    private final URI endpoint;
    private final Map<String, String> headers;

    /** Outcome of a request. */
    enum Outcome {
        /** The receiver accepted the request. */
        TAKEN,
        /** The receiver refused the request permanently. */
        REFUSED,
        /** The receiver can't be reached, or requests a retry. */
        LATER
    }

    OtlpClient(URI endpoint, Map<String, String> headers) {
        this.endpoint = endpoint;
        this.headers = Map.copyOf(headers);
    }

    /** Sends a request. Returns within twice {@value #LIMIT_MS} ms, while bytes arrive. */
    Outcome send(String path, byte[] request, StringBuilder why) {
        try {
            int status = post(path, request);
            if (status / 100 == 2) {
                return Outcome.TAKEN;
            }
            why.append("HTTP status ").append(status);
            return LATER.contains(status) ? Outcome.LATER : Outcome.REFUSED;
        } catch (IOException e) {
            why.append(e);
            return Outcome.LATER;
        }
    }

    private int post(String path, byte[] request) throws IOException {
        HttpURLConnection connection =
                (HttpURLConnection) URI.create(endpoint + path).toURL().openConnection();
        connection.setConnectTimeout(LIMIT_MS);
        connection.setReadTimeout(LIMIT_MS);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setDoOutput(true);
        connection.setFixedLengthStreamingMode(request.length);
        headers.forEach(connection::setRequestProperty);
        connection.setRequestProperty("Content-Type", "application/x-protobuf");
        connection.getOutputStream().write(request);
        int status = connection.getResponseCode();
        try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
            if (body != null && body.readNBytes(MAX_RESPONSE_BYTES).length == MAX_RESPONSE_BYTES) {
                connection.disconnect();
            }
        }
        return status;
    }
}
