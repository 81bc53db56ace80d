package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.dispatch.HandlerRegistry;
import io.waybill.home.Home;
import io.waybill.home.JoinOptions;
import io.waybill.home.ReadProblem;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.cursor.Cursors;
import io.waybill.home.error.HomeException;
import io.waybill.host.Host;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import io.waybill.worker.Workers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Leases of receivers that can't be read or written. */
@Timeout(60)
class LeaseLedgerTest {

    /** More than is copied into the message. */
    private static final int BYTES = 1 << 20;

    @TempDir
    private Path directory;

    @Test
    void doesNotThrowIntoWhateverReleases() throws IOException {
        Home home = Home.open(directory.resolve("home"), Host.real());
        try (WorkerDirectory worker = home.join("a", JoinOptions.defaults())) {
            Cursors cursors = worker.cursors();
            int stranger = 1000;
            fill(cursors, stranger);
            assertThatThrownBy(() -> cursors.slot(stranger)).isInstanceOf(HomeException.class);

            assertThatCode(() -> new LeaseLedger(cursors).released(stranger, 1)).doesNotThrowAnyException();
        }
    }

    /** A worker that leases two tensors to another one, which keeps them. */
    private final class Leased implements AutoCloseable {
        private final Workers workers = new Workers(directory);
        private final List<Storage> kept = new CopyOnWriteArrayList<>();
        private final HandlerRegistry handlers = workers.registry();
        private final Worker receiver = workers.join("receiver", handlers, Workers.SETTINGS);
        private final Worker sender = workers.join("sender", workers.registry(), Workers.SETTINGS);

        Leased() throws IOException {
            workers.handle(handlers, "0x142", (message, outbox) -> {
                message.tensors().forEach(each -> kept.add(each.storage().retain()));
                outbox.respond(message.payload());
            });
            send(tensor(1));
            send(tensor(2));
            assertThat(Workers.leases(sender)).isEqualTo(2);
        }

        private Tensor tensor(int value) {
            Storage storage = sender.buffers().allocate(BYTES);
            storage.bytes(0, BYTES).putInt(0, value);
            return Tensor.contiguous(DType.UINT8, new long[] {BYTES}, storage);
        }

        private void send(Tensor tensor) {
            sender.call(Request.raw("receiver", MessageType.userRequest(0x42), ByteBuffer.allocate(1), List.of(tensor)))
                    .close();
            tensor.storage().release();
        }

        int received(int index) {
            return kept.get(index).bytes(0, BYTES).getInt(0);
        }

        /** Has the sender find the receiver unreadable, and close its link. */
        void lookAway() {
            PeerLink link = Workers.linkTo(sender, "receiver");
            link.unreadable(ReadProblem.ofFiles("a test says so"));
            Waits.until(
                    "the link is closed",
                    () -> !List.of(Workers.links(sender).current()).contains(link));
        }

        @Override
        public void close() throws IOException {
            workers.close();
        }
    }

    @Test
    void staysWithAReceiverThatCouldNotBeReadForAMoment() throws IOException {
        try (Leased leased = new Leased()) {
            leased.lookAway();

            assertThat(Workers.leases(leased.sender))
                    .as("leases of a receiver that is alive")
                    .isEqualTo(2);
            Tensor third = leased.tensor(3);
            leased.kept.remove(0).release(); // while there is no link, and nothing looks for it
            leased.send(third);
            assertThat(Workers.leases(leased.sender))
                    .as("one is released, and one is new")
                    .isEqualTo(2);
            assertThat(leased.received(0)).isEqualTo(2);
            assertThat(leased.received(1)).isEqualTo(3);
            leased.kept.forEach(Storage::release);
            Waits.until("all are released", () -> Workers.leases(leased.sender) == 0);
        }
    }

    @Test
    void endsWithAReceiverThatCanNotBeRead() throws IOException {
        try (Leased leased = new Leased()) {
            leased.lookAway();
            leased.receiver.close();

            Waits.until("the leases have ended", () -> Workers.leases(leased.sender) == 0);
        }
    }

    private static void fill(Cursors cursors, int beside) {
        try {
            for (int id = 1; id < beside; id++) {
                cursors.slot(id);
            }
        } catch (HomeException e) {
            return; // all are taken
        }
        throw new AssertionError("cursors with room for " + beside + " peers");
    }
}
