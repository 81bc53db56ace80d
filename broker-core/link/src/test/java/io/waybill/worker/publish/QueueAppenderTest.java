package io.waybill.worker.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.journal.JournalFullException;
import io.waybill.journal.JournalQueue;
import io.waybill.tensor.Plan;
import io.waybill.wire.MessageBuffer;
import io.waybill.worker.peer.PeerLink;
import io.waybill.worker.publish.PublishingRoom.Collaborator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The append of a record as a line, with every step before and behind it that throws; on a real queue, without a worker. */
@Timeout(60)
@TestInstance(Lifecycle.PER_CLASS)
class QueueAppenderTest {

    private static final List<String> ALL =
            List.of("COMPOSED", "APPENDED", "COUNTED", "FURTHER", "ARCHIVE", "WAKE_UP", "EXPECTED", "REPORTED");

    private PublishingRoom room; // one for all: a case takes milliseconds, and a room some hundred
    private final List<String> steps = new ArrayList<>();
    private Throwable planted;
    private String plantedAt = "";
    private int messages;

    /** What is planted. */
    private enum Kind {
        EXCEPTION,
        ERROR,
        ONE_THAT_CAN_NOT_BE_SHOWN;

        Throwable make() {
            return switch (this) {
                case EXCEPTION -> new IllegalStateException("planted");
                case ERROR -> new StackOverflowError("planted");
                case ONE_THAT_CAN_NOT_BE_SHOWN -> new Unshown();
            };
        }
    }

    private static final class Unshown extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new IllegalStateException("no message");
        }
    }

    @BeforeAll
    void open(@TempDir Path directory) throws Exception {
        room = new PublishingRoom(directory);
    }

    @BeforeEach
    void begin() throws Exception {
        room.begin();
        steps.clear();
        plantedAt = "";
    }

    @AfterAll
    void close() throws Exception {
        room.close();
    }

    private void step(String name) {
        steps.add(name);
        if (name.equals(plantedAt)) {
            PublishingRoom.throwUnchecked(planted);
        }
    }

    /** A message that notes what is called of it, and throws where that was planted. */
    private class Noted implements Publication {
        private final long id;
        private final PeerLink to = room.link();
        private final Plan plan = room.transit
                .sender()
                .plan(List.of(room.tensor()), to.id(), to.devices().requests());

        Noted() {
            id = MessageId.of(room.directory.id(), ++messages);
        }

        @Override
        public long id() {
            return id;
        }

        @Override
        public PeerLink to() {
            return to;
        }

        @Override
        public Plan plan() {
            return plan;
        }

        @Override
        public void compose(MessageBuffer record) {
            record.begin(MessageType.userRequest(0x42), id, room.directory.id(), to.id(), 0, plan.sectionLength(0));
            plan.write(record, 0);
            record.tensorCount(plan.tensorCount());
            step("COMPOSED");
        }

        @Override
        public void count(int recordBytes) {
            step("COUNTED");
        }

        @Override
        public void expectOutcome() {
            steps.addAll(room.called().stream().map(Collaborator::name).toList());
            step("EXPECTED");
        }

        @Override
        public void report() {
            step("REPORTED");
        }
    }

    /** The journal, with something to send behind each record. */
    private final class WithMore implements RecordSender {
        @Override
        public long put(MessageBuffer record, PeerLink to, long wallNs) throws JournalFullException {
            if (plantedAt.equals("PUT")) {
                PublishingRoom.throwUnchecked(planted);
            }
            long sequence = room.requests.append(record, wallNs);
            step("APPENDED");
            return sequence;
        }

        @Override
        public void follow(MessageBuffer record, PeerLink to, long wallNs) {
            step("FURTHER");
        }
    }

    /** As the writers do. */
    private void publish(Publication message) throws JournalFullException {
        boolean published = false;
        try {
            room.requests.lock();
            try {
                room.requests.append(message, new WithMore(), room.host.clock().wallNs());
                published = true;
            } finally {
                room.requests.unlock();
            }
        } finally {
            if (!published) {
                message.plan().abandoned();
            }
        }
        room.requests.follow(message);
    }

    private List<String> onRecord() throws Exception {
        return room.onRecord(JournalQueue.REQUESTS);
    }

    @ParameterizedTest(name = "{1} behind the append, at {0}")
    @CsvSource({
        "APPENDED, EXCEPTION",
        "APPENDED, ERROR",
        "COUNTED, EXCEPTION",
        "COUNTED, ERROR",
        "COUNTED, ONE_THAT_CAN_NOT_BE_SHOWN",
        "FURTHER, EXCEPTION",
        "FURTHER, ERROR",
        "FURTHER, ONE_THAT_CAN_NOT_BE_SHOWN",
        "ARCHIVE, EXCEPTION",
        "ARCHIVE, ERROR",
        "ARCHIVE, ONE_THAT_CAN_NOT_BE_SHOWN",
        "WAKE_UP, EXCEPTION",
        "WAKE_UP, ERROR",
        "WAKE_UP, ONE_THAT_CAN_NOT_BE_SHOWN",
        "EXPECTED, EXCEPTION",
        "EXPECTED, ERROR",
        "EXPECTED, ONE_THAT_CAN_NOT_BE_SHOWN",
        "REPORTED, EXCEPTION",
        "REPORTED, ERROR",
        "REPORTED, ONE_THAT_CAN_NOT_BE_SHOWN",
    })
    void attemptsEveryStepBehindTheAppendAndThrowsNothing(String at, Kind kind) throws Exception {
        planted = kind.make();
        plantedAt = at;
        if (at.equals("ARCHIVE") || at.equals("WAKE_UP")) {
            room.plant(Collaborator.valueOf(at), planted);
        }
        Noted message = new Noted();
        publish(message);
        assertThat(steps).as("steps that were attempted").containsExactlyElementsOf(ALL);
        assertThat(room.publishingErrors()).as("failures that were counted").isEqualTo(1);
        assertThat(onRecord()).as("messages on record").containsExactly(MessageId.text(message.id()));
        assertThat(room.leases()).as("leases of the receiver").isEqualTo(1);
        room.giveBackLeases();
        assertThat(room.leases())
                .as("leases, when the receiver has given them back")
                .isZero();
    }

    @ParameterizedTest(name = "{1} before the append, at {0}")
    @CsvSource({"COMPOSED, EXCEPTION", "COMPOSED, ERROR", "PUT, EXCEPTION", "PUT, ERROR"})
    void publishesNothingWhenAStepBeforeTheAppendThrows(String at, Kind kind) throws Exception {
        planted = kind.make();
        plantedAt = at;
        Noted failing = new Noted();
        assertThatThrownBy(() -> publish(failing)).isSameAs(planted);
        assertThat(steps).as("steps that were attempted").containsExactly("COMPOSED");
        assertThat(room.called()).as("collaborators that were called").isEmpty();
        assertThat(onRecord()).as("messages on record").isEmpty();
        assertThat(room.leases()).as("leases of the receiver").isZero();
        assertThat(room.publishingErrors()).isZero();
        plantedAt = "";
        Noted next = new Noted();
        publish(next);
        room.giveBackLeases();
        assertThat(onRecord()).as("messages on record").containsExactly(MessageId.text(next.id()));
    }

    /** Both would be composed in one buffer. */
    @Test
    void refusesAMessageThatIsSentWhileAnotherOneIsComposed() throws Exception {
        Noted inner = new Noted();
        Noted outer = new Noted() {
            @Override
            public void compose(MessageBuffer record) {
                assertThatThrownBy(() -> publish(inner))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("can't be sent while the bytes of another one are read");
                super.compose(record);
            }
        };
        publish(outer);
        assertThat(onRecord()).as("messages on record").containsExactly(MessageId.text(outer.id()));
        room.giveBackLeases();
        assertThat(room.leases()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void goesOnWhenEveryStepFails(Kind kind) throws Exception {
        for (Collaborator collaborator : Collaborator.values()) {
            room.plant(collaborator, kind.make());
        }
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Noted message = new Noted();
            publish(message);
            ids.add(MessageId.text(message.id()));
        }
        room.giveBackLeases();
        assertThat(onRecord()).as("messages on record").containsExactlyElementsOf(ids);
        assertThat(room.publishingErrors()).as("failures that were counted").isEqualTo(3 * 2);
    }
}
