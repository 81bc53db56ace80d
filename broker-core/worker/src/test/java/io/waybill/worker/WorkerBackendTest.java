package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.exchange.CallOrigin;
import io.waybill.home.Peer;
import io.waybill.worker.call.CallingRoom;
import io.waybill.worker.call.WorkerRpc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The parts of a worker that brokers use, without the worker. */
@Timeout(60)
class WorkerBackendTest {

    @TempDir
    private Path directory;

    private CallingRoom room;
    private WorkerBackend backend;

    @BeforeEach
    void open() throws Exception {
        room = new CallingRoom(directory);
        backend = new WorkerBackend(
                room.publishing.directory,
                null, // joins no other worker
                room.calls,
                new WorkerRpc(room.calls, room.references, CallOrigin.PROGRAM),
                room.publishing.links);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    @Test
    void isTheIncarnationOfItsDirectory() {
        assertThat(backend.self())
                .isEqualTo(new Incarnation(room.publishing.directory.info(), room.publishing.directory.epoch()));
        assertThat(backend.directory()).contains(room.publishing.directory.path());
    }

    @Test
    void givesEachIdOnce() {
        Set<Long> given = new HashSet<>();
        for (int i = 0; i < 5_000; i++) {
            assertThat(given.add(backend.nextId()))
                    .as("id %d was not given before", i)
                    .isTrue();
        }
        assertThat(given)
                .allSatisfy(id -> assertThat(MessageId.worker(id))
                        .as("worker of the id")
                        .isEqualTo(room.publishing.directory.id()));
    }

    @Test
    void knowsItsPeersAndFindsThemById() {
        assertThat(backend.peers()).extracting(Peer::name).contains("a");
        int id = room.publishing.directory.id();
        assertThat(backend.peer(id)).get().extracting(Peer::name).isEqualTo("a");
        assertThat(backend.peer(id + 1)).isEmpty();
    }

    @Test
    void allocatesFromThePoolOfItsTransit() {
        TensorBuffers buffers = backend.buffers();
        assertThat(buffers).isSameAs(room.publishing.transit.pool());
        assertThat(backend.rpc().info()).isEqualTo(room.publishing.directory.info());
    }

    @Test
    void mayWaitWhereItsThreadDoesNotPoll() {
        assertThat(backend.mayWait()).as("a thread of the program").isTrue();
        assertThat(room.permit.tryAcquire()).isTrue();
        assertThat(backend.mayWait()).as("a thread that polls").isFalse();
        room.permit.release();
    }
}
