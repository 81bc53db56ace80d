package io.waybill.broker.file;

import io.waybill.api.ValueEncoder;
import io.waybill.host.FileContent;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32C;
import java.util.zip.CheckedOutputStream;

/**
 * Writes one store in the format of {@link StateFileLayout}: the entries first, then the header with the checksum. For
 * one thread.
 */
final class StateFileWriter implements FileContent {

    private final ByteBuffer head;
    private final List<StateRecord> entries;
    private final ValueEncoder encoder = new ValueEncoder();

    StateFileWriter(int worker, int epoch, byte[] owner, byte[] store, long writtenNs, List<StateRecord> entries) {
        this.entries = entries;
        this.head = ByteBuffer.allocate(StateFileLayout.HEADER_LENGTH + owner.length + store.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(StateFileLayout.MAGIC_AT, StateFileLayout.MAGIC)
                .putInt(StateFileLayout.FORMAT_AT, StateFileLayout.FORMAT)
                .putLong(StateFileLayout.WRITTEN_AT, writtenNs)
                .putInt(StateFileLayout.ENTRY_COUNT_AT, entries.size())
                .putInt(StateFileLayout.EPOCH_AT, epoch)
                .putShort(StateFileLayout.WORKER_AT, (short) worker)
                .putShort(StateFileLayout.OWNER_LENGTH_AT, (short) owner.length)
                .putShort(StateFileLayout.STORE_LENGTH_AT, (short) store.length);
        head.position(StateFileLayout.HEADER_LENGTH).put(owner).put(store).flip();
    }

    @Override
    public void writeTo(FileChannel channel) throws IOException {
        CRC32C checksum = new CRC32C();
        channel.position(head.limit());
        OutputStream out = new BufferedOutputStream(
                new CheckedOutputStream(Channels.newOutputStream(channel), checksum), StateFileLayout.PIECE_BYTES);
        for (StateRecord entry : entries) {
            write(entry, out);
        }
        out.flush();
        head.putLong(StateFileLayout.FILE_LENGTH_AT, channel.position());
        checksum.update(head.array());
        head.putInt(StateFileLayout.CHECKSUM_AT, (int) checksum.getValue());
        for (ByteBuffer rest = head.duplicate(); rest.hasRemaining(); ) {
            channel.write(rest, rest.position());
        }
    }

    private void write(StateRecord entry, OutputStream out) throws IOException {
        byte[] key = entry.key().getBytes(StandardCharsets.UTF_8);
        encoder.reset().value(entry.value());
        out.write(ByteBuffer.allocate(StateFileLayout.ENTRY_LENGTH)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(entry.ageNs())
                .putLong(entry.idleNs())
                .putInt(encoder.length())
                .putShort((short) key.length)
                .array());
        out.write(key);
        out.write(encoder.array(), 0, encoder.length());
    }
}
