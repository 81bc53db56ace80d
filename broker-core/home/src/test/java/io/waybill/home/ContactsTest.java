package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.ChangeWatch;
import io.waybill.host.Host;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class ContactsTest {
    private static final Host HOST = Host.real();
    private static final long LONG_NS = TimeUnit.SECONDS.toNanos(20);

    @TempDir
    Path directory;

    private Home home;

    @BeforeEach
    void open() throws IOException {
        home = Home.open(directory.resolve("home"), HOST);
    }

    private Peer peer(WorkerDirectory worker) throws IOException {
        try (Membership membership = new Membership(home)) {
            membership.refresh();
            return membership.members().find(worker.id()).orElseThrow();
        }
    }

    private static List<Integer> taken(WorkerDirectory worker) {
        List<Integer> ids = new ArrayList<>();
        worker.contacts().take(ids::add);
        return ids;
    }

    @Test
    void passesOnWhoBeginsToCall() throws IOException {
        try (WorkerDirectory own = home.join("own")) {
            Peer seen = peer(own);
            Contacts.announce(seen, 7, HOST.files());
            Contacts.announce(seen, 32_767, HOST.files());
            assertThat(taken(own)).containsExactly(7, 32_767);
            assertThat(taken(own)).isEmpty();
        }
    }

    @Test
    void endsAWaitUntilItIsTaken() throws IOException {
        try (WorkerDirectory own = home.join("own");
                ChangeWatch changes = ChangeWatch.open(HOST.calls(), directory)) {
            own.contacts().endWaitsOf(changes);
            Contacts.announce(peer(own), 7, HOST.files());
            assertThat(changes.await(LONG_NS)).isTrue();
            assertThat(changes.await(LONG_NS)).as("not taken yet").isTrue();
            taken(own);
            assertThat(changes.await(1_000_000)).isFalse();
        }
    }

    @Test
    void announcesMoreThanFitsWithoutHarm() throws IOException {
        try (WorkerDirectory own = home.join("own")) {
            try (FileChannel channel = FileChannel.open(own.path().resolve("contacts"), StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.allocate((16_384 - 1) * Integer.BYTES)); // a pipe holds one more
            }
            Peer seen = peer(own);
            for (int id = 1; id <= 3; id++) {
                Contacts.announce(seen, id, HOST.files());
            }
            assertThat(taken(own)).hasSize(16_384).endsWith(0, 1);
            Contacts.announce(seen, 4, HOST.files());
            assertThat(taken(own)).containsExactly(4);
        }
    }

    @Test
    void recoversFromBytesThatAreNoId() throws IOException {
        try (WorkerDirectory own = home.join("own")) {
            Path fifo = own.path().resolve("contacts");
            try (FileChannel channel = FileChannel.open(fifo, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.wrap(new byte[] {1, 2, 3, 4, 5, 6}));
            }
            assertThat(taken(own)).hasSize(1);
            Contacts.announce(peer(own), 7, HOST.files());
            assertThat(taken(own)).containsExactly(7);
        }
    }

    @Test
    void announcesToAWorkerThatIsGoneWithoutHarm() throws IOException {
        WorkerDirectory own = home.join("own");
        Peer seen = peer(own);
        own.close();
        Contacts.announce(seen, 7, HOST.files());
        try (WorkerDirectory again = home.join("own")) {
            assertThat(taken(again)).isEmpty();
        }
    }

    @Test
    void refusesWhatIsNoFifo() throws IOException {
        try (WorkerDirectory own = home.join("own")) {
            Path path = own.path().resolve("contacts");
            Files.delete(path);
            Files.createFile(path);
            Peer seen = peer(own);
            assertThatThrownBy(() -> Contacts.announce(seen, 7, HOST.files()))
                    .isInstanceOf(UnsafeFileException.class)
                    .hasMessage(path + ": expected a FIFO, found a regular file");
        }
    }
}
