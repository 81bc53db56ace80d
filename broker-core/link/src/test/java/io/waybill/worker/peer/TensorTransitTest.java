package io.waybill.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.tensor.Tensor;
import io.waybill.device.DeviceSettings;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.ReadProblem;
import io.waybill.home.WorkerDirectory;
import io.waybill.home.WorkerState;
import io.waybill.tensor.Plan;
import io.waybill.tensor.segment.RegionHolder;
import io.waybill.tensor.segment.TensorConfig;
import io.waybill.wire.Envelope;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.RecordView;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Leases of tensors, between a worker that runs nothing and itself. */
@Timeout(120)
class TensorTransitTest {

    @TempDir
    private Path directory;

    private PublishingRoom room;
    private TensorTransit transit;
    private PeerLink link;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory.resolve("room"));
        transit = room.transit;
        link = room.link();
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    /** Returns a record with tensors, as it is when it is in the journal. */
    private MessageBuffer sent(Tensor... tensors) {
        Plan plan = transit.sender().plan(List.of(tensors), link.id(), device -> device);
        MessageBuffer record = new MessageBuffer();
        record.begin(
                        MessageType.userRequest(0x42),
                        MessageId.of(link.id(), 1),
                        link.id(),
                        link.id(),
                        0,
                        plan.sectionLength(0))
                .tensorCount(plan.tensorCount())
                .flags(0);
        plan.write(record, 0);
        record.seal(0);
        plan.committed();
        for (Tensor tensor : tensors) {
            tensor.storage().release();
        }
        return record;
    }

    private static RecordView view(MessageBuffer record) throws Exception {
        RecordView view = new RecordView(record);
        view.check();
        return view;
    }

    @Test
    void endsTheLeasesOfARecordThatWillNotBeUsed() throws Exception {
        RecordView unused = view(sent(room.tensor(), room.tensor()));
        assertThat(room.leases()).as("leases of the record").isEqualTo(2);
        assertThat(transit.hasLeases(unused)).as("whether it says so").isTrue();
        transit.discard(unused, link);
        assertThat(room.leases()).as("leases after it was discarded").isZero();
        assertThat(room.heldBytes()).as("bytes in segments that are held").isZero();
        MessageBuffer bare = new MessageBuffer();
        bare.begin(MessageType.userRequest(0x42), MessageId.of(link.id(), 2), link.id(), link.id(), 0, 0)
                .flags(0);
        bare.seal(0);
        assertThat(transit.hasLeases(view(bare)))
                .as("leases of a record without tensors")
                .isFalse();
        transit.discard(view(bare), link);
    }

    @Test
    void keepsTheLeasesOfARecordThatCanNotBeRead() throws Exception {
        MessageBuffer record = sent(room.tensor());
        RecordView damaged = view(record);
        int length = damaged.sectionLength();
        record.memory().setMemory(Envelope.HEADER_LENGTH, length, (byte) 0xff);
        assertThat(transit.hasLeases(damaged)).as("whether it may have some").isTrue();
        transit.discard(damaged, link); // does not throw into the thread that serves
        assertThat(room.leases()).as("leases").isEqualTo(1);
    }

    @Test
    void endsTheLeasesOfAReceiverWithItsLink() {
        sent(room.tensor());
        transit.unlinked(link);
        assertThat(room.leases()).as("leases after the link was closed").isZero();
    }

    @Test
    void keepsTheLeasesOfAReceiverThatCanNotBeReadUntilItHasEnded() throws Exception {
        sent(room.tensor());
        link.unreadable(ReadProblem.ofFiles("planted"));
        transit.unlinked(link);
        try (Membership members = Membership.present(room.directory.home())) {
            members.refresh();
            transit.lookForEnded(members.members());
            assertThat(room.leases()).as("leases while its process runs").isEqualTo(1);
            room.directory.leave();
            members.refresh();
            transit.lookForEnded(members.members());
        }
        assertThat(room.leases()).as("leases when it has ended").isZero();
    }

    private static List<Path> segments(WorkerDirectory of) throws IOException {
        try (Stream<Path> files = Files.list(of.path().resolve(WorkerDirectory.SEGMENTS))) {
            return files.toList();
        }
    }

    @Test
    void removesTheSegmentsOfAnEarlierIncarnation() throws Exception {
        room.tensor().storage().release();
        List<Path> before = segments(room.directory);
        assertThat(before).as("segments of the incarnation before").isNotEmpty();
        try (TensorTransit next =
                new TensorTransit(room.directory, TensorConfig.DEFAULTS, DeviceSettings.NONE, RegionHolder.NONE)) {
            assertThat(segments(room.directory))
                    .as("segments when the next one begins")
                    .isEmpty();
            assertThat(next.pool().usedBytes()).as("bytes that it holds").isZero();
        }
    }

    @Test
    void refusesAMapToADeviceThatAPresentWorkerDoesNotHave() throws Exception {
        try (PeerHome home = new PeerHome(directory.resolve("maps"), true)) {
            WorkerDirectory peer = home.join("peer");
            DeviceSettings declared = new DeviceSettings(DeviceSettings.parseDevices("toy:0"), Map.of());
            peer.publish(WorkerState.READY, List.of(), declared.published());
            DeviceSettings mapped = new DeviceSettings(
                    DeviceSettings.parseDevices("toy:0"), DeviceSettings.parseMaps("peer toy:0=toy:1"));
            try (TensorTransit strict = new TensorTransit(home.own, TensorConfig.DEFAULTS, mapped, RegionHolder.NONE);
                    Membership members = new Membership(home.home)) {
                Peer present = members.find("peer").orElseThrow();
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> strict.requireMaps(List.of(present)))
                        .withMessageContaining("peer")
                        .withMessageContaining("toy:1");
                peer.leave();
                strict.requireMaps(List.of(members.find("peer").orElseThrow()));
                home.transit.requireMaps(List.of(present));
            }
        }
    }
}
