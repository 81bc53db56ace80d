package io.waybill.broker.file;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.state.StateStore;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * Reads one file of {@link StateFileLayout}, and trusts nothing in it: the checksum is compared before anything is
 * parsed, and lengths are compared with the rest of the file before anything is allocated. For one thread.
 */
final class StateFileReader {

    private final FileChannel channel;
    private final long fileLength;
    private long left; // number of bytes of the file that were not read

    StateFileReader(FileChannel channel) throws IOException {
        this.channel = channel;
        this.fileLength = channel.size();
    }

    /**
     * Reads the entries, which are older by the time since the file was written.
     *
     * @throws IOException when the file can't be read, or is not the one that was written for this store
     */
    List<StateRecord> read(int worker, byte[] owner, byte[] store, long nowWallNs) throws IOException {
        require(fileLength >= StateFileLayout.HEADER_LENGTH, "length");
        left = fileLength;
        InputStream in = open(0);
        ByteBuffer header = take(in, StateFileLayout.HEADER_LENGTH);
        require(header.getLong(StateFileLayout.MAGIC_AT) == StateFileLayout.MAGIC, "first eight letters");
        require(header.getInt(StateFileLayout.FORMAT_AT) == StateFileLayout.FORMAT, "format");
        require(header.getLong(StateFileLayout.FILE_LENGTH_AT) == fileLength, "length");
        require(Short.toUnsignedInt(header.getShort(StateFileLayout.OWNER_LENGTH_AT)) == owner.length, "owner");
        require(Short.toUnsignedInt(header.getShort(StateFileLayout.STORE_LENGTH_AT)) == store.length, "store");
        int count = header.getInt(StateFileLayout.ENTRY_COUNT_AT);
        require(count >= 0 && count <= StateStore.MAX_ENTRIES, "entry count");
        ByteBuffer names = take(in, owner.length + store.length);
        requireChecksum(header, names);
        require(Arrays.equals(names.array(), 0, owner.length, owner, 0, owner.length), "owner");
        require(Arrays.equals(names.array(), owner.length, names.limit(), store, 0, store.length), "store");
        require(Short.toUnsignedInt(header.getShort(StateFileLayout.WORKER_AT)) == worker, "worker");
        for (int at = StateFileLayout.RESERVED_AT; at < StateFileLayout.HEADER_LENGTH; at++) {
            require(header.get(at) == 0, "reserved bytes");
        }
        long sinceNs = Math.max(0, nowWallNs - header.getLong(StateFileLayout.WRITTEN_AT));
        in = open(fileLength - left);
        List<StateRecord> entries = new ArrayList<>();
        Set<String> keys = new HashSet<>();
        for (int i = 0; i < count; i++) {
            StateRecord entry = entry(in, sinceNs);
            require(keys.add(entry.key()), "key of entry " + i + ", which is there twice,");
            entries.add(entry);
        }
        require(left == 0, "length behind the entries");
        return entries;
    }

    private InputStream open(long at) throws IOException {
        channel.position(at);
        return new BufferedInputStream(Channels.newInputStream(channel), StateFileLayout.PIECE_BYTES);
    }

    private void requireChecksum(ByteBuffer header, ByteBuffer names) throws IOException {
        CRC32C checksum = new CRC32C();
        InputStream entries = open(fileLength - left);
        byte[] piece = new byte[(int) Math.min(StateFileLayout.PIECE_BYTES, left)];
        for (long rest = left; rest > 0; ) {
            int length = entries.readNBytes(piece, 0, (int) Math.min(piece.length, rest));
            require(length > 0, "length, which shrank,");
            checksum.update(piece, 0, length);
            rest -= length;
        }
        int expected = header.getInt(StateFileLayout.CHECKSUM_AT);
        header.putInt(StateFileLayout.CHECKSUM_AT, 0);
        checksum.update(header.array());
        checksum.update(names.array());
        require((int) checksum.getValue() == expected, "checksum");
    }

    private StateRecord entry(InputStream in, long sinceNs) throws IOException {
        ByteBuffer head = take(in, StateFileLayout.ENTRY_LENGTH);
        long ageNs = head.getLong();
        long idleNs = head.getLong();
        int valueLength = head.getInt();
        int keyLength = Short.toUnsignedInt(head.getShort());
        require(ageNs >= 0 && idleNs >= 0 && head.getShort() == 0, "entry's times");
        require(keyLength > 0 && keyLength <= StateFileLayout.MAX_KEY_BYTES, "key's length");
        require(valueLength > 0 && valueLength <= left - keyLength, "value's length");
        String key = text(take(in, keyLength));
        require(key.length() <= StateStore.MAX_KEY_LENGTH, "key's length");
        return new StateRecord(key, value(take(in, valueLength)), older(ageNs, sinceNs), older(idleNs, sinceNs));
    }

    private static long older(long ageNs, long sinceNs) {
        return ageNs > Long.MAX_VALUE - sinceNs ? Long.MAX_VALUE : ageNs + sinceNs;
    }

    private static String text(ByteBuffer bytes) throws IOException {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException e) {
            throw new IOException("its key can't be right: " + e.getMessage(), e);
        }
    }

    private static Value value(ByteBuffer bytes) throws IOException {
        try {
            ValueDecoder decoder = new ValueDecoder(bytes, List.of());
            Value value = decoder.value();
            decoder.end();
            return value;
        } catch (RejectedMessageException e) {
            throw new IOException("its value can't be right: " + e.getMessage(), e);
        }
    }

    private ByteBuffer take(InputStream in, int length) throws IOException {
        if (length > left) {
            throw new EOFException("its " + fileLength + " bytes end before what they should hold");
        }
        byte[] bytes = in.readNBytes(length);
        require(bytes.length == length, "length, which shrank,");
        left -= length;
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void require(boolean holds, String what) throws IOException {
        if (!holds) {
            throw new IOException("its " + what + " can't be right, in " + fileLength + " bytes");
        }
    }
}
