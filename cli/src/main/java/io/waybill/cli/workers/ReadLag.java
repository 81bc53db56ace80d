package io.waybill.cli.workers;

import io.waybill.home.Peer;
import io.waybill.home.cursor.PeerCursorSlot;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import io.waybill.journal.JournalSettings;
import io.waybill.journal.read.JournalTail;
import io.waybill.journal.read.Poll;
import io.waybill.wire.MessageBuffer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Number of requests that each live worker has not read yet: from its cursors and the others' journals, which are only
 * read. For one use.
 */
final class ReadLag {

    /** Beyond this the exact number does not matter. */
    private static final long MAX = 100_000;

    private final Host host;
    private final MessageBuffer buffer = new MessageBuffer();
    private final Map<Integer, Long> byReader = new HashMap<>();

    ReadLag(Host host) {
        this.host = host;
    }

    /** Returns the counts by worker id; none for absent workers, or those whose cursors can't be read. */
    Map<Integer, Long> of(List<Peer> peers) throws IOException {
        Map<Integer, PeerCursors> cursors = new HashMap<>();
        for (Peer peer : peers) {
            if (peer.state().isThere()) {
                try {
                    cursors.put(peer.id(), PeerCursors.open(peer.path(), peer.id(), host.files()));
                    byReader.put(peer.id(), 0L);
                } catch (IOException e) {
                    // it is starting, or its state shows the problem
                }
            }
        }
        for (Peer writer : peers) {
            if (writer.state().isThere()) {
                count(writer, cursors);
            }
        }
        return byReader;
    }

    private void count(Peer writer, Map<Integer, PeerCursors> cursors) throws IOException {
        Path requests = writer.path().resolve("requests");
        if (!JournalTail.exists(requests)) {
            return;
        }
        host.files().requireQueueDirectory(requests);
        try (JournalTail tail = JournalTail.open(requests, JournalSettings.defaults())) {
            for (Map.Entry<Integer, PeerCursors> reader : cursors.entrySet()) {
                Optional<PeerCursorSlot> slot = reader.getValue().slotFor(writer.id());
                if (slot.isPresent()
                        && slot.get().requestsIndex() >= 0
                        && tail.moveTo(slot.get().requestsIndex())) {
                    byReader.merge(reader.getKey(), unread(tail, reader.getKey()), Long::sum);
                }
            }
        }
    }

    private long unread(JournalTail tail, int reader) {
        long count = 0;
        while (count < MAX) {
            Poll poll = tail.poll(buffer, reader);
            if (poll == Poll.NONE) {
                return count;
            }
            count += poll == Poll.SKIPPED ? 0 : 1;
        }
        return count;
    }
}
