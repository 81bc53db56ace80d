package io.waybill.worker.peer;

import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerDoorbell;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.PeerCursors;
import io.waybill.host.Host;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A link between two that have joined a home and run nothing, with the account of calls and the cursors of a real one. For what calls do to
 * their link; no tensors go here, and nothing is read.
 */
public final class IdleLink implements AutoCloseable {

    public final PeerLink link;
    private final WorkerDirectory own;
    private final WorkerDirectory other;

    public IdleLink(Path directory) throws IOException {
        Host host = Host.real();
        Home home = Home.open(directory.resolve("home"), host);
        own = home.join("own", JoinOptions.defaults());
        other = home.join("other", JoinOptions.defaults());
        try (Membership members = Membership.present(home)) {
            Peer peer = members.find("other").orElseThrow();
            PeerReader reader = new PeerReader(
                    peer.name(),
                    own.id(),
                    own.cursors().slot(peer.id()),
                    PeerCursors.open(peer.path(), peer.id(), host.files()),
                    new PeerReader.Tails(null, null));
            link = new PeerLink(
                    peer,
                    reader,
                    PeerDoorbell.of(peer, host.files()),
                    new TensorTransit.Ways(null, null),
                    Announcement.AT_ONCE);
        }
    }

    @Override
    public void close() throws IOException {
        other.close();
        own.close();
    }
}
