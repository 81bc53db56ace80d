package io.waybill.profiler.message;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.tensor.Tensor;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Events as bytes. Layout: docs/reference/profiling-messages.md.
 *
 * @param bytes encoded events from its position on, with room before them
 * @param count number of the events
 */
record EventBytes(ByteBuffer bytes, int count) {

    /** Size of the head: the number of dropped events, and the number of events. */
    static final int HEAD = Long.BYTES + Integer.BYTES;

    private static final int MAX_BYTES = 512 << 10;
    private static final int MAX_TEXT = 8 << 10;
    private static final int MAX_SHAPES = 255;
    private static final int FIXED = 4 * Integer.BYTES + 3 * Long.BYTES;
    private static final int MIN_EVENT = FIXED + 2 * Short.BYTES;
    private static final int MAX_NUMBER = 255;
    private static final int USUAL_EVENT = 96; // typical size in bytes
    private static final String CPU = "cpu";
    private static final byte[] CPU_BYTES = text(CPU);
    private static final Kind[] KINDS = Kind.values();
    private static final Outcome[] OUTCOMES = Outcome.values();

    /**
     * Encodes as many events as fit.
     *
     * @param before number of bytes to leave free before the events
     */
    static EventBytes encode(List<ProfileEvent> events, int before) {
        ByteBuffer bytes = ByteBuffer.allocate(before + Math.min(MAX_BYTES, events.size() * USUAL_EVENT))
                .order(ByteOrder.LITTLE_ENDIAN)
                .position(before);
        int count = 0;
        for (ProfileEvent event : events) {
            byte[] name = text(event.name());
            byte[] device = event.device().equals(CPU) ? CPU_BYTES : text(event.device());
            List<List<Long>> shapes = event.shapes();
            if (shapes.size() > MAX_SHAPES) {
                shapes = shapes.subList(0, MAX_SHAPES);
            }
            int length = MIN_EVENT + name.length + device.length + shapes.size();
            for (List<Long> shape : shapes) {
                length += shape.size() * Long.BYTES;
            }
            if (bytes.position() - before + length > MAX_BYTES) {
                break;
            }
            bytes = withRoom(bytes, length);
            put(event, name, device, shapes, bytes);
            count++;
        }
        return new EventBytes(bytes.flip().position(before), count);
    }

    private static ByteBuffer withRoom(ByteBuffer bytes, int length) {
        if (bytes.remaining() >= length) {
            return bytes;
        }
        return ByteBuffer.allocate(2 * (bytes.position() + length))
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(bytes.flip());
    }

    private static void put(ProfileEvent event, byte[] name, byte[] device, List<List<Long>> shapes, ByteBuffer bytes) {
        bytes.putInt(event.parent()).putInt(event.worker()).putInt(event.thread());
        bytes.put((byte) event.kind().ordinal())
                .put((byte) event.outcome().ordinal())
                .put((byte) shapes.size())
                .put((byte) 0);
        bytes.putLong(event.beginNs()).putLong(event.durationNs()).putLong(event.memoryBytes());
        bytes.putShort((short) name.length).put(name);
        bytes.putShort((short) device.length).put(device);
        for (List<Long> shape : shapes) {
            bytes.put((byte) shape.size());
            shape.forEach(bytes::putLong);
        }
    }

    private static byte[] text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return bytes.length <= MAX_TEXT
                ? bytes
                : text.substring(0, MAX_TEXT / 4).getBytes(StandardCharsets.UTF_8); // a char has at most 3 bytes
    }

    /** Decodes the number of events and the events, which end the buffer. */
    static List<ProfileEvent> decode(ByteBuffer bytes) throws RejectedMessageException {
        int count = bytes.getInt();
        if (count < 0 || count > bytes.remaining() / MIN_EVENT) {
            throw malformed("has a number of events that fit, and this one has " + count + " in " + bytes.remaining()
                    + " bytes");
        }
        List<ProfileEvent> events = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            events.add(decodeOne(bytes, i));
        }
        if (bytes.hasRemaining()) {
            throw malformed("ends with its events, and this one has " + bytes.remaining() + " bytes more");
        }
        return events;
    }

    private static ProfileEvent decodeOne(ByteBuffer bytes, int index) throws RejectedMessageException {
        require(bytes, MIN_EVENT);
        int parent = bytes.getInt();
        int worker = bytes.getInt();
        int thread = bytes.getInt();
        int kind = bytes.get();
        int outcome = bytes.get();
        int shapeCount = bytes.get() & MAX_NUMBER;
        bytes.get();
        long beginNs = bytes.getLong();
        long durationNs = bytes.getLong();
        long memoryBytes = bytes.getLong();
        if (parent < ProfileEvent.NO_PARENT || parent >= index) {
            throw malformed(
                    "has events behind those that caused them, and event " + index + " has the parent " + parent);
        }
        if (kind < 0 || kind >= KINDS.length || outcome < 0 || outcome >= OUTCOMES.length) {
            throw malformed(
                    "has kinds and outcomes of events, and event " + index + " has " + kind + " and " + outcome);
        }
        if (durationNs < 0 || beginNs < 0 || beginNs + durationNs < 0 || thread < 0) {
            throw malformed("has times and threads that are not negative, and event " + index + " has one that is");
        }
        String name = text(bytes);
        String device = text(bytes);
        return new ProfileEvent(
                KINDS[kind],
                name,
                parent,
                worker,
                thread,
                device,
                beginNs,
                durationNs,
                OUTCOMES[outcome],
                shapes(bytes, shapeCount),
                memoryBytes);
    }

    private static String text(ByteBuffer bytes) throws RejectedMessageException {
        require(bytes, Short.BYTES);
        int length = Short.toUnsignedInt(bytes.getShort());
        require(bytes, length);
        byte[] text = new byte[length];
        bytes.get(text);
        return Arrays.equals(text, CPU_BYTES) ? CPU : new String(text, StandardCharsets.UTF_8);
    }

    private static List<List<Long>> shapes(ByteBuffer bytes, int count) throws RejectedMessageException {
        if (count == 0) {
            return List.of();
        }
        List<List<Long>> shapes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            require(bytes, 1);
            int dimensions = bytes.get() & MAX_NUMBER;
            if (dimensions > Tensor.MAX_DIMENSIONS) {
                throw malformed(
                        "has shapes of " + Tensor.MAX_DIMENSIONS + " dimensions, and this one has " + dimensions);
            }
            require(bytes, dimensions * Long.BYTES);
            List<Long> shape = new ArrayList<>(dimensions);
            for (int d = 0; d < dimensions; d++) {
                shape.add(bytes.getLong());
            }
            shapes.add(List.copyOf(shape));
        }
        return shapes;
    }

    private static void require(ByteBuffer bytes, int length) throws RejectedMessageException {
        if (bytes.remaining() < length) {
            throw malformed("has whole events, and this one ends in the middle of one");
        }
    }

    private static RejectedMessageException malformed(String what) {
        return ProfilingResponse.malformed(what);
    }
}
