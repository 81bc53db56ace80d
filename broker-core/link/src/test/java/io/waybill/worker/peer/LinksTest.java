package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.home.Contacts;
import io.waybill.home.Peer;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Links to workers that come, go and are succeeded, where none of them runs anything. */
@Timeout(120)
class LinksTest {

    @TempDir
    private Path directory;

    private final List<String> notes = new ArrayList<>();
    private PeerHome home;
    private Links links;

    @BeforeEach
    void open() throws Exception {
        home = new PeerHome(directory, true);
        links = home.links;
        note(links);
    }

    @AfterEach
    void close() throws IOException {
        home.close();
    }

    private void note(Links of) {
        of.onMake(link -> notes.add("made " + link.name() + " " + link.epoch()));
        of.onDrop(link -> notes.add("dropped " + link.name() + " " + link.epoch()));
        of.onIncarnation(new Links.IncarnationListener() {
            @Override
            public void ended(int worker, long epoch) {
                notes.add("ended " + epoch);
            }

            @Override
            public void began(int worker, long epoch) {
                notes.add("began " + epoch);
            }
        });
    }

    private List<String> current() {
        return Stream.of(links.current())
                .map(link -> link.name() + " " + link.epoch() + " " + link.condition())
                .toList();
    }

    private void assertRefused(String to, ErrorCode code, String text) {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> links.look(to, false))
                .withMessageContaining(text)
                .matches(e -> e.code() == code, "with the code " + code);
    }

    @Test
    void opensALinkForACallAloneAndOnlyOnce() throws Exception {
        WorkerDirectory peer = home.join("peer");
        home.join("bystander");
        links.refresh();
        assertThat(current()).as("links before a call").isEmpty();
        links.look("peer", false);
        PeerLink link = links.find("peer").orElseThrow();
        links.look(Integer.toString(peer.id()), false);
        links.refresh();
        assertThat(current()).as("links after two calls").containsExactly("peer 1 OPEN");
        assertThat(links.find(peer.id())).containsSame(link);
        assertThat(links.find(Integer.toString(peer.id())))
                .as("found by its id")
                .containsSame(link);
        assertThat(links.find("bystander")).isEmpty();
        assertThat(links.restNs()).as("the time without a refresh").isPositive();
    }

    /** Has another worker announce that it calls the one with the links. */
    private static void contact(PeerHome home) throws Exception {
        WorkerDirectory peer = home.join("peer");
        home.links.refresh();
        Peer own = home.links.peer(home.own.id()).orElseThrow();
        Contacts.announce(own, peer.id(), home.host.files());
        home.links.refresh();
    }

    @Test
    void linksToAWorkerThatAnnouncesItselfUnlessThisOneOnlyCalls() throws Exception {
        contact(home);
        assertThat(current()).as("links of a worker that serves").containsExactly("peer 1 OPEN");
        try (PeerHome calls = new PeerHome(directory.resolve("calls"), false)) {
            contact(calls);
            assertThat(calls.links.current())
                    .as("links of a worker that only calls")
                    .isEmpty();
            calls.links.look("peer", false);
            assertThat(calls.links.current()).as("its links after a call").hasSize(1);
            assertThat(calls.links.current()[0].reader().readsRequests()).isFalse();
        }
    }

    @Test
    void readsAnEndedIncarnationToItsEndBeforeTheNextOne() throws Exception {
        WorkerDirectory peer = home.join("peer");
        links.look("peer", false);
        PeerLink first = links.find("peer").orElseThrow();
        links.refresh();
        peer.leave();
        peer.close();
        links.refresh();
        assertThat(current()).as("links, while its responses are read").containsExactly("peer 1 LEFT");
        assertThat(links.find("peer")).as("a link for calls").isEmpty();
        assertThat(links.find(peer.id())).as("a link for calls, by its id").isEmpty();
        home.join("peer");
        links.refresh();
        assertThat(current()).as("links to both").containsExactly("peer 1 LEFT", "peer 2 OPEN");
        assertThat(links.find(peer.id()).map(PeerLink::epoch))
                .as("the incarnation that is called")
                .contains(2L);
        assertThat(links.restNs()).as("the time without a refresh").isZero();

        first.swept();
        assertThat(home.permit.tryAcquire()).isTrue();
        links.refresh();
        assertThat(current()).as("links, while a thread polls").hasSize(2);
        home.permit.release();
        links.refresh();
        assertThat(current()).as("links, when no thread polls").containsExactly("peer 2 OPEN");
        assertThat(home.permit.tryAcquire())
                .as("whether the permit was released")
                .isTrue();
        assertThat(notes)
                .as("what the listeners were notified of")
                .containsExactly("made peer 1", "began 1", "ended 1", "made peer 2", "began 2", "dropped peer 1");
    }

    @Test
    void refusesCallsToWorkersThatCanNotBeReached() throws Exception {
        home.join("gone").leave();
        assertRefused("missing", ErrorCode.UNKNOWN_WORKER, "could not find destination");
        assertRefused("gone", ErrorCode.WORKER_LOST, "has left");
        assertThat(current()).isEmpty();
    }

    @Test
    void linksToTheOthersWhenTheFilesOfOneAreGone() throws Exception {
        home.joinWithoutQueues("broken").publish(WorkerState.READY, List.of(), Map.of());
        home.joinWithoutQueues("starting");
        home.join("peer");
        assertRefused("broken", ErrorCode.PEER_CORRUPT, "queues are gone");
        links.look("peer", false);
        assertThat(links.look("starting", false).name()).as("one to wait for").isEqualTo("starting");
        assertThat(current()).containsExactly("peer 1 OPEN");
        assertThat(links.restNs()).as("the time without another attempt").isZero();
    }

    @Test
    void opensNothingOnceItIsClosed() throws Exception {
        home.join("peer");
        links.look("peer", false);
        home.join("late");
        links.close();
        assertThat(current()).as("links").isEmpty();
        assertThat(links.find("peer")).isEmpty();
        links.refresh();
        assertRefused("late", ErrorCode.CLOSED, "this worker is closed");
        assertThat(current()).as("links after it was closed").isEmpty();
        assertThat(notes).as("links that were made").containsExactly("made peer 1");
    }
}
