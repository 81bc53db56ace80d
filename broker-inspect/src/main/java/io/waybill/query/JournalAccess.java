package io.waybill.query;

import io.waybill.api.journal.JournalReader;
import io.waybill.api.journal.Journals;
import io.waybill.home.Home;
import io.waybill.host.Host;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * The journals of a home for one owner: a program, or a bundle. Its readers are closed with it.
 *
 * <p><b>Threads.</b> Any.
 */
public final class JournalAccess implements Journals, Closeable {

    private final Home home;
    private final Set<OwnedReader> open = new HashSet<>(); // guarded by this
    private boolean closed; // guarded by this

    public JournalAccess(Home home) {
        this.home = Objects.requireNonNull(home);
    }

    /**
     * Returns the journals of an existing home, for a program.
     *
     * @throws IOException if there is none at this path
     */
    public static JournalAccess of(Path home) throws IOException {
        return new JournalAccess(Home.openExisting(home, Host.real()));
    }

    @Override
    public JournalReader open() throws IOException {
        OwnedReader reader = new OwnedReader(HomeJournals.open(home), this::forget);
        String refusal;
        synchronized (this) {
            if (!closed && open.size() < MAX_OPEN) {
                open.add(reader);
                return reader;
            }
            refusal = closed
                    ? "the owner of these journals has stopped"
                    : MAX_OPEN
                            + " readers of the journals are open, and at most as many are possible; close those that are not needed";
        }
        reader.close();
        throw new IllegalStateException(refusal);
    }

    private synchronized void forget(OwnedReader reader) {
        open.remove(reader);
    }

    /** Closes all readers, without waiting for a method that runs. */
    @Override
    public void close() {
        List<OwnedReader> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(open);
        }
        left.forEach(OwnedReader::close);
    }
}
