package io.waybill.query;

import io.waybill.home.Home;
import io.waybill.journal.JournalQueue;
import io.waybill.query.verify.Finding;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A {@link WrittenHome} for tests in other packages, with what they need to damage it and to look at it. */
public final class DamagedHome {

    public static final int CALLER = WrittenHome.CALLER;
    public static final int CALLEE = WrittenHome.CALLEE;

    private final WrittenHome written;

    public DamagedHome(Path path) throws IOException {
        written = new WrittenHome(path);
    }

    public DamagedHome calls(long first, long end) {
        written.calls(first, end);
        return this;
    }

    public Home home() {
        return written.home;
    }

    public Path worker(int id) {
        return written.worker(id);
    }

    public Path file(int worker, JournalQueue queue) throws IOException {
        return written.file(worker, queue);
    }

    /** What {@code verify} says is damaged in a home. */
    public static List<Finding> damages(Home home) throws IOException {
        List<Finding> damages = new ArrayList<>();
        try (HomeJournals journals = HomeJournals.open(home)) {
            journals.verify(finding -> {
                if (finding.isDamage()) {
                    damages.add(finding);
                }
            });
        }
        return damages;
    }
}
