package io.waybill.injection;

import io.waybill.api.MessageType;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counter of the attempts to send each request. Forgets the least recently sent ones beyond 65536.
 *
 * <p>One thread at a time.
 */
final class Attempts {

    private static final int MAX = 1 << 16;

    private record Sent(MessageType type, int to, ByteBuffer digest) {}

    private final MessageDigest digest = sha256();
    private final Map<Sent, Long> counts = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Sent, Long> eldest) {
            return size() > MAX;
        }
    };

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Counts an attempt. Returns the number of attempts before. */
    long count(MessageType type, int to, byte[] payload) {
        Sent sent = new Sent(type, to, ByteBuffer.wrap(digest.digest(payload)));
        return counts.merge(sent, 1L, Long::sum) - 1;
    }
}
