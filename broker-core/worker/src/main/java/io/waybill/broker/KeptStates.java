package io.waybill.broker;

import io.waybill.api.state.StateFileException;
import io.waybill.broker.file.StateFiles;
import io.waybill.broker.file.StateRecord;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import io.waybill.host.agent.AgentThread;
import io.waybill.host.agent.ParkingIdleStrategy;
import io.waybill.host.failure.ForeignErrors;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.Agent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores of a worker that are kept on disk. Has a thread from the first store on, which writes changed stores. A store
 * that can't be written stays in memory and is tried again.
 *
 * <p><b>Threads.</b> Thread-safe. Files are read by the thread that opens a store, and written by this object's own
 * thread, or the one that syncs a store: one thread at a time, under the lock of its table.
 */
public final class KeptStates implements Agent, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(KeptStates.class);

    private final StateFiles files;
    private final StateSettings settings;
    private final String workerName;
    private final Threads threads;
    private final ParkingIdleStrategy idle;
    private final AtomicLong bytes =
            new AtomicLong(); // size of the kept stores, and of the files without an open store
    private final Map<Path, Long> unopened = new HashMap<>(); // guarded by itself
    private final Set<StateTable> tables =
            new LinkedHashSet<>(); // guarded by itself: kept, or to be removed from the disk
    private final Set<StateTable> failing = ConcurrentHashMap.newKeySet(); // written by the own thread
    private AgentThread thread; // guarded by tables; null before the first store
    private boolean closed; // guarded by tables

    KeptStates(StateFiles files, StateSettings settings, String workerName, Host host) {
        this.files = files;
        this.settings = settings;
        this.workerName = workerName;
        this.threads = host.threads();
        this.idle = new ParkingIdleStrategy(host.clock(), threads);
        try {
            unopened.putAll(files.sizes());
        } catch (IOException e) {
            LOG.warn(
                    "The state that worker {} keeps on disk can't be listed; opening a store will fail", workerName, e);
        }
        unopened.values().forEach(bytes::addAndGet);
    }

    /** Opens the kept stores of a worker. */
    public static KeptStates of(WorkerDirectory directory, StateSettings settings) {
        Host host = directory.home().host();
        StateFiles files =
                new StateFiles(directory.path(), directory.id(), (int) directory.epoch(), host.files(), host.clock());
        return new KeptStates(files, settings, directory.name(), host);
    }

    /** Returns the entries of a store's file, and no longer counts the file. */
    List<StateRecord> read(String owner, String store) {
        List<StateRecord> entries = files.read(owner, store);
        takeUnopened(owner, store);
        return entries;
    }

    /** Returns whether a store had a file that was not opened, and no longer counts it. */
    boolean takeUnopened(String owner, String store) {
        synchronized (unopened) {
            Long size = unopened.isEmpty() ? null : unopened.remove(files.file(owner, store));
            if (size != null) {
                bytes.addAndGet(-size);
            }
            return size != null;
        }
    }

    /** Returns whether the kept stores may grow by this number of bytes. */
    boolean fits(long addedBytes) {
        return addedBytes <= 0 || bytes.get() + addedBytes <= settings.maxKeptBytes();
    }

    /** Returns the used part of the room, for an error. */
    String room() {
        return "the stores that are kept on disk have " + bytes.get() + " of at most " + settings.maxKeptBytes()
                + " bytes (state.max-kept-bytes)";
    }

    void count(long addedBytes) {
        bytes.addAndGet(addedBytes);
    }

    /** Schedules a store to be written, or its file to be removed, as its policy requires. */
    void follow(StateTable table) {
        synchronized (tables) {
            if (!closed && tables.add(table) && thread == null) {
                thread = new AgentThread(workerName + "-state", this, idle);
                thread.startWhenPossible(threads);
            }
        }
    }

    /** Returns the number of stores whose last write failed. */
    public int failing() {
        return failing.size();
    }

    @Override
    public String roleName() {
        return "state";
    }

    @Override
    public int doWork() {
        List<StateTable> all;
        synchronized (tables) {
            all = new ArrayList<>(tables);
        }
        int written = 0;
        for (StateTable table : all) {
            written += write(table);
        }
        idle.rest(settings.writeInterval().toNanos());
        return written;
    }

    /** Writes a store on the calling thread, unless it has not changed. */
    void sync(StateTable table) {
        try {
            writeChanges(table);
        } catch (IOException | RuntimeException e) {
            failing.add(table);
            throw new StateFileException(
                    "the store " + table.name() + " of " + table.ownerName() + " can't be written to "
                            + files.file(table.ownerName(), table.name()) + ": " + ForeignErrors.describe(e)
                            + "; its changes stay in memory, and the worker tries again",
                    e);
        }
    }

    /** Writes a store. Its changes stay when that fails. Returns whether there were any. */
    private boolean writeChanges(StateTable table) throws IOException {
        synchronized (table) { // a second thread waits for the changes that the first has taken
            StateTable.Changes changes = table.takeChanges();
            if (changes == null) {
                return false;
            }
            boolean written = false;
            try {
                if (changes.isKept()) {
                    files.write(table.ownerName(), table.name(), changes.entries());
                } else {
                    files.remove(table.ownerName(), table.name());
                }
                written = true;
            } finally {
                if (!written) {
                    table.markChanged();
                }
            }
            if (failing.remove(table)) {
                LOG.info("The store {} of {} is on disk again", table.name(), table.ownerName());
            }
            return true;
        }
    }

    private int write(StateTable table) {
        try {
            return writeChanges(table) ? 1 : 0;
        } catch (IOException | RuntimeException e) {
            if (failing.add(table)) {
                LOG.warn(
                        "The store {} of {} can't be written to {}; a restart would find what it was before. It is tried again every {}",
                        table.name(),
                        table.ownerName(),
                        files.file(table.ownerName(), table.name()),
                        settings.writeInterval(),
                        e);
            }
        }
        return 1;
    }

    /** Writes the changed stores, and ends. */
    @Override
    public void close() {
        AgentThread ending;
        synchronized (tables) {
            closed = true;
            ending = thread;
        }
        if (ending != null) {
            ending.close();
            doWork();
        }
    }
}
