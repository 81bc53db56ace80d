package io.waybill.journal.index;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.host.SafeFiles;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.RecordPosition;
import io.waybill.journal.Roll;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.rocksdb.AbstractNativeReference;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.Priority;
import org.rocksdb.RateLimiter;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;
import org.rocksdb.util.StdErrLogger;

/**
 * Key-value store of the index, in RocksDB: read by positional reads, every block checksummed, so that damage causes an
 * exception.
 *
 * <pre>
 * key                                        value
 * queue (1 byte), id (8, big-endian)         position: see {@link Checkpoint.PositionCode}
 * 0xfe, queue (1), file (4), sender (2)      lowest id of this sender in the file (8)
 * 0x10, parent (8), id (8, big-endian)       position of a request that the handler of another, its parent, sent
 * 0xff, queue (1 byte)                       the queue's {@link Checkpoint}
 * 0xff, 0xff                                 version of this layout (1 byte)
 * </pre>
 *
 * There is no write-ahead log: records whose entries a crash loses are read from the queue again, from the checkpoint
 * on, which is lost or kept together with the entries that were written with it.
 *
 * <p><b>Threads.</b> One writes; any may read. <b>Errors.</b> {@link RocksDBException} when the files differ from what
 * was written.
 */
final class IndexStore implements Closeable {

    private static final byte VERSION = 3;
    private static final byte CHILD = 0x10;
    private static final byte META = (byte) 0xff;
    private static final byte[] VERSION_KEY = {META, META};
    private static final byte LOWEST = (byte) 0xfe;
    private static final int KEY_LENGTH = 9;
    private static final int LOWEST_KEY_LENGTH = 8;
    private static final int CHILD_KEY_LENGTH = 17;
    private static final int MAX_FILES = 10_000;
    /** Name of the file that RocksDB writes last when it creates a database. */
    private static final String BEGUN_FILE = "CURRENT";

    private static final int BLOOM_BITS = 10;
    private static final long WRITE_BUFFER_BYTES = 8 << 20;
    private static final long BLOCK_CACHE_BYTES = 4 << 20;
    private static final long WRITE_BYTES_PER_SECOND = 32 << 20;
    private static final int ALL_FILES = -1;

    private final List<AbstractNativeReference> resources = new ArrayList<>();
    private final RocksDB database;
    private final ReadOptions reading;
    private final WriteOptions writing;
    private final WriteBatch batch;

    private IndexStore(Path directory, boolean own) throws RocksDBException {
        boolean opened = false;
        try {
            Options options = options();
            if (own) {
                options.setCreateIfMissing(true).setRateLimiter(keep(new RateLimiter(WRITE_BYTES_PER_SECOND)));
                Env.getDefault().lowerThreadPoolCPUPriority(Priority.LOW);
                Env.getDefault().lowerThreadPoolCPUPriority(Priority.HIGH);
            }
            reading = keep(new ReadOptions());
            writing = keep(new WriteOptions().setDisableWAL(true));
            batch = keep(new WriteBatch());
            database = keep(
                    own
                            ? RocksDB.open(options, directory.toString())
                            : RocksDB.openReadOnly(options, directory.toString()));
            opened = true;
        } finally {
            if (!opened) {
                close();
            }
        }
    }

    private Options options() {
        return keep(new Options())
                .setTableFormatConfig(new BlockBasedTableConfig()
                        .setFilterPolicy(keep(new BloomFilter(BLOOM_BITS)))
                        .setBlockCache(keep(new LRUCache(BLOCK_CACHE_BYTES))))
                .setCompressionType(CompressionType.LZ4_COMPRESSION)
                .setWriteBufferSize(WRITE_BUFFER_BYTES)
                .setMaxBackgroundJobs(2)
                .setMaxOpenFiles(ALL_FILES) // opened at once: a file that the owner removes later stays readable here
                .setStatsDumpPeriodSec(0)
                .setLogger(keep(new StdErrLogger(InfoLogLevel.FATAL_LEVEL))); // otherwise it writes files of its own
    }

    private <T extends AbstractNativeReference> T keep(T resource) {
        resources.add(resource);
        return resource;
    }

    /** Opens the worker's own index; creates it when it does not exist. The directory exists and is checked. */
    static IndexStore openOwn(Path directory) throws IOException, RocksDBException {
        RocksLibrary.load();
        IndexStore store = new IndexStore(directory, true);
        try {
            if (!store.hasVersion()) {
                store.requireEmpty(directory);
                store.database.put(store.writing, VERSION_KEY, new byte[] {VERSION});
            }
            return store;
        } catch (IOException | RocksDBException | RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }

    /**
     * Opens another worker's index in its present state, and writes nothing. Empty while its owner has written nothing
     * of it to the disk.
     */
    static Optional<IndexStore> openReadOnly(Path directory, SafeFiles files) throws IOException, RocksDBException {
        requireSafe(directory, files);
        if (!Files.exists(directory.resolve(BEGUN_FILE), LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        RocksLibrary.load();
        IndexStore store = new IndexStore(directory, false);
        boolean isUsable = false;
        try {
            isUsable = store.hasVersion();
            if (!isUsable) {
                store.requireEmpty(directory);
            }
            return isUsable ? Optional.of(store) : Optional.empty();
        } finally {
            if (!isUsable) {
                store.close();
            }
        }
    }

    /** Checks that RocksDB will open no more than regular files of our own. */
    static void requireSafe(Path directory, SafeFiles files) throws IOException {
        for (Path entry : files.list(directory, MAX_FILES)) {
            files.requireRegular(entry);
        }
    }

    private boolean hasVersion() throws RocksDBException {
        byte[] version = database.get(VERSION_KEY);
        return version != null && version.length == 1 && version[0] == VERSION;
    }

    private void requireEmpty(Path directory) throws IOException, RocksDBException {
        if (database.getLatestSequenceNumber() != 0) {
            throw new IOException(directory + ": expected an index of version " + VERSION + ", found something else");
        }
    }

    private static byte[] key(JournalQueue queue, long id) {
        return ByteBuffer.allocate(KEY_LENGTH)
                .put((byte) queue.ordinal())
                .putLong(id)
                .array();
    }

    private static byte[] checkpointKey(JournalQueue queue) {
        return new byte[] {META, (byte) queue.ordinal()};
    }

    Optional<RecordPosition> find(JournalQueue queue, long id) throws RocksDBException {
        byte[] value = database.get(reading, key(queue, id));
        return value == null || value.length != Checkpoint.PositionCode.LENGTH
                ? Optional.empty()
                : Checkpoint.PositionCode.position(value);
    }

    /** Returns the requests of a parent, in the order of their ids. */
    List<Child> children(long parent, int max) throws RocksDBException {
        List<Child> children = new ArrayList<>();
        byte[] prefix =
                ByteBuffer.allocate(KEY_LENGTH).put(CHILD).putLong(parent).array();
        try (RocksIterator entries = database.newIterator(reading)) {
            for (entries.seek(prefix); entries.isValid() && children.size() < max; entries.next()) {
                byte[] key = entries.key();
                if (key.length != CHILD_KEY_LENGTH || Arrays.mismatch(key, prefix) != KEY_LENGTH) {
                    break;
                }
                long id = ByteBuffer.wrap(key).getLong(KEY_LENGTH);
                byte[] value = entries.value();
                if (value.length == Checkpoint.PositionCode.LENGTH) {
                    Checkpoint.PositionCode.position(value)
                            .ifPresent(position -> children.add(new Child(id, position)));
                }
            }
            entries.status();
        }
        return children;
    }

    /** Request that a handler sent. */
    record Child(long id, RecordPosition position) {}

    Optional<Checkpoint> checkpoint(JournalQueue queue) throws RocksDBException {
        return Checkpoint.of(database.get(checkpointKey(queue)));
    }

    /** Adds an entry to the batch of {@link #write}. */
    void add(JournalQueue queue, long id, Roll roll, long index, long offset) throws RocksDBException {
        batch.put(key(queue, id), Checkpoint.PositionCode.bytes(roll, index, offset));
    }

    /** Adds to the batch of {@link #write} that this is the lowest id of its sender in a file. */
    void addLowest(JournalQueue queue, int file, long id) throws RocksDBException {
        batch.put(
                lowestKey(queue, file, MessageId.worker(id)),
                ByteBuffer.allocate(Long.BYTES).putLong(id).array());
    }

    private static byte[] lowestKey(JournalQueue queue, int file, int sender) {
        return ByteBuffer.allocate(LOWEST_KEY_LENGTH)
                .put(LOWEST)
                .put((byte) queue.ordinal())
                .putInt(file)
                .putShort((short) sender)
                .array();
    }

    /** Returns the lowest id of each sender in each file. */
    LowestIds lowestIds(JournalQueue queue) {
        LowestIds lowest = new LowestIds();
        try (RocksIterator each = database.newIterator(reading)) {
            for (each.seek(new byte[] {LOWEST, (byte) queue.ordinal()}); each.isValid(); each.next()) {
                byte[] key = each.key();
                if (key.length != LOWEST_KEY_LENGTH || key[0] != LOWEST || key[1] != (byte) queue.ordinal()) {
                    break;
                }
                if (each.value().length == Long.BYTES) {
                    lowest.add(
                            ByteBuffer.wrap(key).getInt(2),
                            ByteBuffer.wrap(each.value()).getLong());
                }
            }
        }
        return lowest;
    }

    /** Removes all messages of a sender below this id; all of them for {@link LowestIds#NONE}. */
    void removeBelow(JournalQueue queue, int sender, long id) throws RocksDBException {
        byte[] from = key(queue, MessageId.of(sender, 0));
        byte[] to = id != LowestIds.NONE ? key(queue, id) : keyBehind(queue, sender);
        // whole files are deleted at once; the rest when RocksDB compacts
        database.deleteFilesInRanges(database.getDefaultColumnFamily(), List.of(from, to), false);
        database.deleteRange(writing, from, to);
    }

    private static byte[] keyBehind(JournalQueue queue, int sender) {
        return sender == WorkerInfo.MAX_ID
                ? new byte[] {(byte) (queue.ordinal() + 1)}
                : key(queue, MessageId.of(sender + 1, 0));
    }

    /** Removes the children in files before this one. Reads all of them. */
    void removeChildrenBefore(int oldestFile) throws RocksDBException {
        try (RocksIterator each = database.newIterator(reading)) {
            for (each.seek(new byte[] {CHILD}); each.isValid() && each.key()[0] == CHILD; each.next()) {
                Optional<RecordPosition> position = each.value().length == Checkpoint.PositionCode.LENGTH
                        ? Checkpoint.PositionCode.position(each.value())
                        : Optional.empty();
                if (position.isEmpty() || position.get().cycle() < oldestFile) {
                    database.delete(writing, each.key());
                }
            }
        }
    }

    /** Removes the note that a sender had messages in a file. */
    void removeLowest(JournalQueue queue, int file, int sender) throws RocksDBException {
        database.delete(writing, lowestKey(queue, file, sender));
    }

    /** Adds an entry for a request that the handler of another sent. */
    void addChild(long parent, long id, Roll roll, long index, long offset) throws RocksDBException {
        byte[] key = ByteBuffer.allocate(CHILD_KEY_LENGTH)
                .put(CHILD)
                .putLong(parent)
                .putLong(id)
                .array();
        batch.put(key, Checkpoint.PositionCode.bytes(roll, index, offset));
    }

    /** Writes the batch, together with the checkpoint up to which it reaches. */
    void write(JournalQueue queue, Checkpoint checkpoint) throws RocksDBException {
        batch.put(checkpointKey(queue), checkpoint.toBytes());
        try {
            database.write(writing, batch);
        } finally {
            batch.clear();
        }
    }

    /** Flushes all that was written to files, where others see it. */
    void flush() throws RocksDBException {
        try (FlushOptions options = new FlushOptions().setWaitForFlush(true)) {
            database.flush(options);
        }
    }

    @Override
    public void close() {
        for (int i = resources.size() - 1; i >= 0; i--) {
            resources.get(i).close();
        }
        resources.clear();
    }
}
