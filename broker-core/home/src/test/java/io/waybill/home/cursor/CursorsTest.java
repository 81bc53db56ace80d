package io.waybill.home.cursor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.Race;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.Host;
import io.waybill.host.NativeFile;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class CursorsTest {
    private static final Host HOST = Host.real();
    private static final int OWNER = 7;
    private static final int PEER = 3;

    @TempDir
    Path dir;

    private Path file;
    private Cursors own;

    @BeforeEach
    void openOwn() throws IOException {
        file = dir.resolve("cursors");
        own = Cursors.openOwn(dir, OWNER, HOST);
    }

    private PeerCursors openAsPeer() throws IOException {
        return PeerCursors.open(dir, OWNER, HOST.files());
    }

    @Test
    void showsAPeerWhatWasReadOfIt() throws IOException {
        PeerCursors seen = openAsPeer();
        assertThat(seen.slotFor(PEER)).isEmpty();

        CursorSlot slot = own.slot(PEER);
        PeerCursorSlot claim = seen.slotFor(PEER).orElseThrow();
        assertThat(claim.requestsIndex()).isEqualTo(-1);
        assertThat(claim.responsesIndex()).isEqualTo(-1);
        slot.requestsIndex(11);
        slot.responsesIndex(12);
        slot.requestsConsumed(13);
        slot.requestBytesConsumed(14);

        assertThat(claim.requestsIndex()).isEqualTo(11);
        assertThat(claim.responsesIndex()).isEqualTo(12);
        assertThat(claim.requestsConsumed()).isEqualTo(13);
        assertThat(claim.requestBytesConsumed()).isEqualTo(14);
        assertThat(own.slot(PEER)).isSameAs(slot);
    }

    @Test
    void announcesToAPeer() throws IOException {
        CursorSlot slot = own.slot(PEER);
        PeerCursorSlot seen = openAsPeer().slotFor(PEER).orElseThrow();
        assertThat(seen.announced()).isZero();
        slot.announce();
        slot.announce();
        assertThat(seen.announced()).isEqualTo(2);
        slot.announceResponse();
        assertThat(seen.announced()).as("a response alone, in the high half").isEqualTo(2 + (1L << 32));

        Cursors.openOwn(dir, OWNER, HOST).slot(PEER).announce();
        assertThat(seen.announced()).isEqualTo(3 + (1L << 32));
    }

    @Test
    void keepsWhatItSaidForTheNextIncarnation() throws IOException {
        own.slot(PEER).requestsIndex(42);
        own.markAsleep(1);

        Cursors again = Cursors.openOwn(dir, OWNER, HOST);
        assertThat(again.origin()).isEqualTo(Cursors.Origin.KEPT);
        assertThat(again.slot(PEER).requestsIndex()).isEqualTo(42);
        assertThat(again.taken()).hasSize(1);
        assertThat(openAsPeer().isAsleepAfterFence()).isFalse();
    }

    @Test
    void keepsHowFarEachQueueIsOnTheDisk() throws IOException {
        own.requestsOnDisk(21);
        own.responsesOnDisk(22);

        Cursors again = Cursors.openOwn(dir, OWNER, HOST);
        assertThat(again.requestsOnDiskBefore()).as("requests").isEqualTo(21);
        assertThat(again.responsesOnDiskBefore()).as("responses").isEqualTo(22);
    }

    @Test
    void notifiesThoseWhoMappedItBeforeThatAnotherIncarnationBegan() throws IOException {
        PeerCursors seen = openAsPeer();
        assertThat(seen.epoch()).isZero();
        own.epoch(1);
        assertThat(seen.epoch()).isEqualTo(1);
        Cursors.openOwn(dir, OWNER, HOST).epoch(2);
        assertThat(seen.epoch()).isEqualTo(2);
    }

    @Test
    void saysThatItSleeps() throws IOException {
        PeerCursors seen = openAsPeer();
        own.markAsleep(99);
        assertThat(seen.isAsleepAfterFence()).isTrue();
        assertThat(seen.wakeAtNs()).isEqualTo(99);
        own.markAwake();
        assertThat(seen.isAsleepAfterFence()).isFalse();
        assertThat(seen.wakeAtNs()).isZero();
    }

    @Test
    void recyclesSlotsOfThoseWhoAreGone() throws IOException {
        for (int id = 0; id < 512; id++) {
            own.slot(id).requestsIndex(id);
        }
        PeerCursorSlot old = openAsPeer().slotFor(100).orElseThrow();
        assertThatThrownBy(() -> own.slot(1000))
                .isInstanceOf(HomeException.class)
                .hasMessageContaining("no room");

        CursorSlot recycled = own.slot(1000, id -> id == 100, 4711);
        assertThat(recycled.requestsIndex()).isEqualTo(-1);
        assertThat(old.isValid()).isFalse();
        assertThat(openAsPeer().slotFor(100)).isEmpty();
        assertThat(openAsPeer().slotFor(1000).orElseThrow().requestsBegin())
                .as("a peer without a slot may have had one")
                .isZero();
        assertThat(openAsPeer().slotFor(511).orElseThrow().requestsIndex()).isEqualTo(511);
    }

    @Test
    void handsReleasedLeasesToTheirOwner() throws IOException {
        CursorSlot slot = own.slot(PEER);
        PeerCursorSlot claim = openAsPeer().slotFor(PEER).orElseThrow();
        List<Long> released = new ArrayList<>();
        long seen = 0;
        for (long lease = 1; lease <= 1000; lease++) {
            slot.releaseLease(lease);
            if (lease % 250 == 0) {
                seen = claim.takeReleases(seen, 256, released::add);
            }
        }
        assertThat(seen).isEqualTo(1000);
        assertThat(released).hasSize(1000).isSorted().startsWith(1L).endsWith(1000L);
        assertThat(claim.takeReleases(seen, 0, released::add)).isEqualTo(1000);
    }

    @Test
    void releasesFromManyThreads() throws Exception {
        CursorSlot slot = own.slot(PEER);
        Race.run(4, i -> {
            for (int n = 0; n < 50; n++) {
                slot.releaseLease(i * 50L + n);
            }
            return i;
        });
        List<Long> released = new ArrayList<>();
        openAsPeer().slotFor(PEER).orElseThrow().takeReleases(0, 200, released::add);
        assertThat(released).hasSize(200).doesNotHaveDuplicates();
    }

    @Test
    void refusesClaimsThatCannotBe() throws IOException {
        CursorSlot slot = own.slot(PEER);
        slot.releaseLease(1);
        slot.releaseLease(2);
        PeerCursorSlot claim = openAsPeer().slotFor(PEER).orElseThrow();

        assertThatThrownBy(() -> claim.takeReleases(0, 1, id -> {}))
                .isInstanceOf(MalformedHomeFileException.class)
                .hasMessageContaining("claims to have released 2 leases");
        assertThatThrownBy(() -> claim.takeReleases(3, 100, id -> {})).isInstanceOf(MalformedHomeFileException.class);
        for (int i = 0; i < 300; i++) {
            slot.releaseLease(i);
        }
        assertThatThrownBy(() -> claim.takeReleases(0, 1000, id -> {})).isInstanceOf(MalformedHomeFileException.class);
    }

    @Test
    void hasSpaceForItsHeaderAndTheSlotsInUse() throws Exception {
        Path small = Files.createDirectory(dir.resolve("small"));
        Cursors few = Cursors.openOwn(small, OWNER, HOST);
        Path fewFile = small.resolve(CursorLayout.FILE);
        assertThat(HOST.files().allocatedBytes(fewFile)).isEqualTo(CursorLayout.HEADER_BYTES);
        for (int peer = 1; peer <= 3; peer++) {
            few.slot(peer);
            assertThat(HOST.files().allocatedBytes(fewFile))
                    .isEqualTo(CursorLayout.HEADER_BYTES + (long) peer * CursorLayout.SLOT_BYTES);
        }
        assertThat(few.taken()).hasSize(3);
        few.close();
        punch(fewFile); // as a copy would
        assertThat(Cursors.openOwn(small, OWNER, HOST).taken()).isEmpty(); // the slots do not say what the header says
        assertThat(HOST.files().allocatedBytes(fewFile))
                .isEqualTo(CursorLayout.HEADER_BYTES + 3L * CursorLayout.SLOT_BYTES);
    }

    private static void punch(Path file) throws IOException {
        try (NativeFile opened = HOST.files().openExistingNative(file)) {
            opened.punchHole(CursorLayout.HEADER_BYTES, CursorLayout.FILE_BYTES - CursorLayout.HEADER_BYTES);
        }
    }

    @Test
    void refusesAPeersDamagedFile() throws IOException {
        change(raf -> raf.setLength(CursorLayout.FILE_BYTES - 1));
        refusesPeer("expected 2101248 bytes of cursors, found 2101247");
        change(raf -> raf.setLength(0));
        refusesPeer("found 0");
        change(raf -> raf.setLength(CursorLayout.FILE_BYTES));
        refusesPeer("found something else");
        assertThat(Cursors.openOwn(dir, OWNER, HOST).origin()).isEqualTo(Cursors.Origin.REPLACED);
        assertThat(openAsPeer().slotFor(PEER)).isEmpty();
        change(raf -> {
            raf.seek(8);
            raf.write(9);
        });
        refusesPeer("has cursors of format 9");
    }

    @Test
    void refusesCursorsOfAnotherWorker() {
        assertThatThrownBy(() -> PeerCursors.open(dir, OWNER + 1, HOST.files()))
                .hasMessage(file + ": expected the cursors of worker 8, found those of 7");
    }

    @Test
    void refusesWhatIsNoPlainFile() throws IOException {
        Files.delete(file);
        assertThatThrownBy(this::openAsPeer).isInstanceOf(NoSuchFileException.class);
        HOST.files().openOwnFifo(file).close();
        assertThatThrownBy(this::openAsPeer).isInstanceOf(UnsafeFileException.class);
        Files.delete(file);
        Files.createSymbolicLink(file, Path.of("/dev/zero"));
        assertThatThrownBy(this::openAsPeer).isInstanceOf(UnsafeFileException.class);
    }

    private void refusesPeer(String problem) {
        assertThatThrownBy(this::openAsPeer)
                .isInstanceOf(MalformedHomeFileException.class)
                .hasMessageContaining(problem);
    }

    private interface Change {
        void apply(RandomAccessFile file) throws IOException;
    }

    private void change(Change change) throws IOException {
        try (RandomAccessFile raf = new RandomAccessFile(file.toFile(), "rw")) {
            change.apply(raf);
        }
    }
}
