package io.waybill.cli.dead;

import io.waybill.api.MessageId;
import io.waybill.api.journal.CallRecord;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.ScanProgress;
import io.waybill.home.Home;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredCall;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Optional;
import java.util.function.Predicate;
import org.agrona.collections.LongHashSet;

/**
 * The failed calls in the journals of a home. Never writes. Takes memory for the ids of all selected calls. One thread.
 */
final class Shelf implements Closeable {

    private final Path home;
    private final HomeJournals journals;
    private final Repeats repeats;

    private Shelf(Path home, HomeJournals journals, Repeats repeats) {
        this.home = home;
        this.journals = journals;
        this.repeats = repeats;
    }

    /** Opens the journals, with what was sent again until now. */
    static Shelf open(Home home, ScanProgress watched) throws IOException {
        HomeJournals journals = HomeJournals.open(home).onProgress(watched::records);
        try {
            return new Shelf(home.path(), journals, Repeats.read(journals));
        } catch (IOException | RuntimeException e) {
            journals.close();
            throw e;
        }
    }

    HomeJournals journals() {
        return journals;
    }

    /**
     * Returns the newest failed calls that match, oldest first. A request that its caller repeated under its id is one
     * call.
     *
     * @param limit max number; 0 for all
     */
    Collection<DeadCall> list(MessageFilter.Builder filter, Predicate<DeadCall> wanted, int limit) throws IOException {
        Deque<DeadCall> newest = new ArrayDeque<>();
        LongHashSet met = new LongHashSet();
        journals.list(filter.outcome(CallRecord.Outcome.ERROR).build(), 0, call -> {
            DeadCall found = repeats.entry(call);
            if (wanted.test(found) && met.add(call.request().id())) {
                if (limit > 0 && newest.size() == limit) {
                    newest.removeFirst();
                }
                newest.addLast(found);
            }
        });
        return newest;
    }

    /** Returns a call that has failed. */
    DeadCall failed(long id) throws IOException, CommandFailedException {
        String text = MessageId.text(id);
        StoredCall call = journals.find(id)
                .orElseThrow(() -> new CommandFailedException("expected a failed call " + text + " in " + home
                        + ", found no request on record; perhaps retention removed it"));
        switch (call.outcome()) {
            case OK:
                throw new CommandFailedException("expected a failed call, found that " + text
                        + " got its response: waybill journal show " + text);
            case NONE:
                throw new CommandFailedException("expected a failed call, found that " + text
                        + " has no outcome yet: it is in flight, or its caller ended before");
            default:
                return repeats.entry(call);
        }
    }

    /** Adds a call that was sent since, to repeat another one. Returns whether it is on record. */
    boolean addRepeat(long failed, long id) throws IOException {
        Optional<StoredCall> repeat = id == MessageId.NONE ? Optional.empty() : journals.find(id);
        repeat.ifPresent(sent -> repeats.add(failed, sent));
        return repeat.isPresent();
    }

    @Override
    public void close() {
        journals.close();
    }
}
