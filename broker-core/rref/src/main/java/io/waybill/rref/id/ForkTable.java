package io.waybill.rref.id;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Table of the references of a message at the end of its payload; {@code docs/reference/values.md} has their bytes. */
public final class ForkTable {

    /** Max references in one message. */
    public static final int MAX_REFERENCES = 1024;

    private static final int FIXED_LENGTH = 29;
    private static final int END_LENGTH = 8;
    private static final int MAX_TYPE_BYTES = 255;

    private ForkTable() {}

    public static byte[] encode(List<ForkData> forks) {
        if (forks.size() > MAX_REFERENCES) {
            throw new IllegalArgumentException(
                    "a message has at most " + MAX_REFERENCES + " references: " + forks.size());
        }
        ByteBuffer table = ByteBuffer.allocate(forks.size() * (FIXED_LENGTH + MAX_TYPE_BYTES) + END_LENGTH)
                .order(ByteOrder.LITTLE_ENDIAN);
        for (ForkData fork : forks) {
            byte[] type = fork.type().getBytes(StandardCharsets.UTF_8);
            if (type.length > MAX_TYPE_BYTES) {
                throw new IllegalArgumentException(
                        "the name of a type has at most " + MAX_TYPE_BYTES + " bytes: " + type.length);
            }
            table.putShort((short) fork.owner())
                    .putShort((short) fork.parent())
                    .putShort((short) fork.rref().createdOn())
                    .putShort((short) fork.fork().createdOn())
                    .putLong(fork.rref().localId())
                    .putLong(fork.fork().localId())
                    .putInt(fork.ownerEpoch())
                    .put((byte) type.length)
                    .put(type);
        }
        table.putShort((short) forks.size()).putShort((short) 0).putInt(table.position() + END_LENGTH - 4);
        byte[] bytes = new byte[table.position()];
        table.flip().get(bytes);
        return bytes;
    }

    /**
     * Parses a whole table.
     *
     * @throws RejectedMessageException {@link ErrorCode#MALFORMED_BODY} when the bytes are no table
     */
    public static List<ForkData> decode(ByteBuffer bytes) throws RejectedMessageException {
        ByteBuffer table = bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        int end = table.limit() - END_LENGTH;
        if (end < 0) {
            throw malformed("it has " + table.remaining() + " bytes");
        }
        int count = Short.toUnsignedInt(table.getShort(end));
        if (count > MAX_REFERENCES || (long) count * FIXED_LENGTH > end) {
            throw malformed(count + " references in " + end + " bytes");
        }
        table.limit(end);
        List<ForkData> forks = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            forks.add(next(table));
        }
        if (table.hasRemaining()) {
            throw malformed(table.remaining() + " bytes are left behind the last reference");
        }
        return forks;
    }

    private static ForkData next(ByteBuffer table) throws RejectedMessageException {
        if (table.remaining() < FIXED_LENGTH) {
            throw malformed("it ends inside a reference");
        }
        int owner = Short.toUnsignedInt(table.getShort());
        int parent = Short.toUnsignedInt(table.getShort());
        int rrefBy = Short.toUnsignedInt(table.getShort());
        int forkBy = Short.toUnsignedInt(table.getShort());
        long rref = table.getLong();
        long fork = table.getLong();
        int epoch = table.getInt();
        int typeLength = Byte.toUnsignedInt(table.get());
        if (typeLength > table.remaining()) {
            throw malformed("it ends inside a type's name");
        }
        String type = text(table, typeLength);
        try {
            return new ForkData(owner, new RRefId(rrefBy, rref), new ForkId(forkBy, fork), parent, epoch, type);
        } catch (IllegalArgumentException e) {
            throw malformed(e.getMessage());
        }
    }

    private static String text(ByteBuffer table, int length) throws RejectedMessageException {
        ByteBuffer part = table.slice(table.position(), length);
        table.position(table.position() + length);
        try {
            CharBuffer text = StandardCharsets.UTF_8.newDecoder().decode(part);
            return text.toString();
        } catch (CharacterCodingException e) {
            throw new RejectedMessageException(
                    ErrorCode.MALFORMED_BODY, "malformed references: a type's name is not UTF-8", e);
        }
    }

    private static RejectedMessageException malformed(String what) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, "malformed references: " + what);
    }
}
