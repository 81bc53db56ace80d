package io.waybill.host;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.testing.core.Waits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class SafeFilesTest {
    private static final Host HOST = Host.real();

    @TempDir
    Path dir;

    private final SafeFiles files = HOST.files();
    private Path file;

    @BeforeEach
    void nameAFile() {
        file = dir.resolve("file");
    }

    @Test
    void readsBackWhatItReplaced() throws IOException {
        files.replaceAtomically(file, "one".getBytes(UTF_8));
        files.replaceAtomically(file, "two".getBytes(UTF_8));

        assertThat(new String(files.readSmall(file, 100), UTF_8)).isEqualTo("two");
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(PosixFilePermissions.fromString("rw-------"));
        assertThat(files.list(dir, 10)).containsExactly(file);
    }

    @Test
    void keepsWhatWasThereWhenItsNewContentCannotBeWritten() throws IOException {
        files.replaceUnsynced(file, "old".getBytes(UTF_8));

        assertThatThrownBy(() -> files.replaceUnsynced(file, channel -> {
                    channel.write(ByteBuffer.wrap("half".getBytes(UTF_8)));
                    throw new IOException("no room");
                }))
                .isInstanceOf(IOException.class)
                .hasMessage(file + " can't be written: no room");
        assertThatThrownBy(() -> files.replaceUnsynced(file, channel -> {
                    throw new IllegalStateException("a mistake");
                }))
                .hasMessage("a mistake");
        assertThat(new String(files.readSmall(file, 100), UTF_8)).isEqualTo("old");
        assertThat(files.list(dir, 10)).containsExactly(file);
    }

    @Test
    void readsAndWritesOnAThreadThatIsInterruptedAllTheTime() throws Exception {
        AtomicBoolean done = new AtomicBoolean();
        Thread self = Thread.currentThread();
        Thread interrupting = new Thread(() -> {
            while (!done.get()) {
                self.interrupt();
            }
        });
        interrupting.start();
        try {
            byte[] content = new byte[200_000];
            for (int i = 0; i < 200; i++) {
                content[i] = (byte) i;
                files.replaceUnsynced(file, content);
                assertThat(files.readSmall(file, content.length)).isEqualTo(content);
                try (NativeFile own = files.openExistingNative(file);
                        FileChannel channel = files.channelOf(own)) {
                    assertThat(channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096)
                                    .get(i))
                            .isEqualTo((byte) i);
                    assertThat(channel.write(ByteBuffer.wrap(content), content.length))
                            .isPositive();
                    assertThat(channel.tryLock(0, 10, false)).isNotNull();
                }
            }
        } finally {
            done.set(true);
            Waits.until("the interrupting thread ends", () -> !interrupting.isAlive());
        }
        assertThat(Thread.interrupted()).as("the interrupt afterwards").isTrue();
    }

    @Test
    void givesChannelsThatDoAsThoseOfTheJdk() throws IOException {
        byte[] content = new byte[150_000];
        new Random(1).nextBytes(content);
        files.replaceUnsynced(file, content);
        Path copy = dir.resolve("copy");
        try (FileChannel in = files.openForReading(file, Long.MAX_VALUE);
                FileChannel out = files.openOwn(copy)) {
            assertThat(in.size()).isEqualTo(content.length);
            assertThat(in.transferTo(0, in.size(), out)).isEqualTo(content.length);
            assertThat(in.read(ByteBuffer.allocate(10), in.size()))
                    .as("at the end")
                    .isEqualTo(-1);
            assertThat(in.read(ByteBuffer.allocate(0))).isZero();
            ByteBuffer direct = ByteBuffer.allocateDirect(100);
            assertThat(in.position(7).read(direct)).isEqualTo(100);
            assertThat(direct.flip().get(0)).isEqualTo(content[7]);
            assertThat(in.position()).isEqualTo(107);
            assertThatThrownBy(() -> in.write(ByteBuffer.allocate(1))).isInstanceOf(NativeCallException.class);
            assertThat(out.truncate(10).size()).isEqualTo(10);
            out.position(0);
            assertThat(out.transferFrom(in, 0, content.length)).isEqualTo(content.length - 107);
            out.force(true);
        }
        assertThat(Files.readAllBytes(copy)).startsWith(Arrays.copyOfRange(content, 107, content.length));
        FileChannel closed = files.openForReading(file, Long.MAX_VALUE);
        closed.close();
        closed.close();
        assertThatThrownBy(closed::size).isInstanceOf(ClosedChannelException.class);
    }

    @Test
    void readsAFileThatIsReplacedMeanwhile() throws Exception {
        files.replaceUnsynced(file, "old".getBytes(UTF_8));
        AtomicBoolean done = new AtomicBoolean();
        AtomicReference<IOException> failure = new AtomicReference<>();
        Thread writer = new Thread(() -> {
            while (!done.get()) {
                try {
                    files.replaceUnsynced(file, "new".getBytes(UTF_8));
                } catch (IOException e) {
                    failure.set(e);
                }
            }
        });
        writer.start();
        try {
            for (int i = 0; i < 5_000; i++) {
                assertThat(new String(files.readSmall(file, 100), UTF_8)).isIn("old", "new");
            }
        } finally {
            done.set(true);
            writer.join();
        }
        assertThat(failure.get()).isNull();
    }

    @Test
    void createsAFileOnce() throws IOException {
        assertThat(files.createAtomically(file, "one".getBytes(UTF_8))).isTrue();
        assertThat(files.createAtomically(file, "two".getBytes(UTF_8))).isFalse();

        assertThat(Files.readString(file)).isEqualTo("one");
        assertThat(files.list(dir, 10)).containsExactly(file);
    }

    @Test
    void opensNamesWithAnyCharacter() throws IOException {
        Path odd = dir.resolve("a b%41:c");
        files.replaceAtomically(odd, "odd".getBytes(UTF_8));

        assertThat(new String(files.readSmall(odd, 100), UTF_8)).isEqualTo("odd");
        assertThat(Files.readString(odd)).isEqualTo("odd");
    }

    @Test
    void refusesASymlink() throws IOException {
        Path target = Files.writeString(dir.resolve("target"), "secret");
        Files.createSymbolicLink(file, target);

        assertThatThrownBy(() -> files.readSmall(file, 100))
                .isInstanceOf(UnsafeFileException.class)
                .hasMessage(file + ": expected a regular file, found a symbolic link");
        assertThatThrownBy(() -> files.openOwn(file)).isInstanceOf(UnsafeFileException.class);
        assertThatThrownBy(() -> files.requireRegular(file)).isInstanceOf(UnsafeFileException.class);
    }

    @Test
    void refusesASymlinkThatLeadsNowhere() throws IOException {
        Files.createSymbolicLink(file, dir.resolve("nothing"));

        assertThatThrownBy(() -> files.openOwn(file)).isInstanceOf(UnsafeFileException.class);
        assertThat(dir.resolve("nothing")).doesNotExist();
    }

    @Test
    void refusesAFifoWithoutWaitingForIt() throws IOException {
        files.openOwnFifo(file).close();

        assertThatThrownBy(() -> files.readSmall(file, 100))
                .hasMessage(file + ": expected a regular file, found a FIFO");
        assertThatThrownBy(() -> files.openOwn(file)).isInstanceOf(UnsafeFileException.class);
    }

    @Test
    void refusesADirectoryWhereAFileBelongs() throws IOException {
        Files.createDirectory(file);

        assertThatThrownBy(() -> files.openOwn(file)).hasMessage(file + ": expected a regular file, found a directory");
    }

    @Test
    void opensAFileWithASecondName() throws IOException {
        Files.writeString(file, "x");
        Files.createLink(dir.resolve("other"), file);

        assertThat(files.readSmall(file, 100)).asString().isEqualTo("x");
        assertThat(files.hardLinks(file)).isEqualTo(2);
    }

    @Test
    void refusesASecondNameOfAFileOfAnotherUser() throws IOException {
        assumeTrue(files.owner() == 0, "only root gives a file away");
        Path foreign = Files.writeString(dir.resolve("foreign"), "x");
        Files.setAttribute(foreign, "unix:uid", 12345);
        Files.createLink(file, foreign);

        assertThatThrownBy(() -> files.readSmall(file, 100))
                .hasMessage(file + ": expected a regular file owned by uid 0, found owner uid 12345");
    }

    @Test
    void followsLinksOfThisUserAndOfRootOnly() throws IOException {
        Path real = Files.createDirectories(dir.resolve("real/inner"));
        Path own = Files.createSymbolicLink(dir.resolve("own"), Path.of("real"));
        files.requireOwnLinks(own.resolve("inner/../inner/not-there/either"));
        files.requireOwnLinks(Path.of("/proc/self/cwd"));

        Path foreign = Files.createSymbolicLink(real.resolve("foreign"), real);
        Path through = Files.createSymbolicLink(dir.resolve("through"), Path.of("own/inner/../inner/foreign"));
        int other = files.owner() + 1;
        if (files.owner() == 0) {
            Files.setAttribute(foreign, "unix:uid", other, LinkOption.NOFOLLOW_LINKS);
            for (Path path : List.of(foreign, foreign.resolve("home"), through, through.resolve("home"))) {
                assertThatThrownBy(() -> files.requireOwnLinks(path))
                        .hasMessage(
                                foreign + ": expected a directory, or a symbolic link owned by uid 0 or root, found a"
                                        + " symbolic link owned by uid " + other + ", which is not followed");
            }
        } else { // it can't give a link away, and looks as another user
            assertThatThrownBy(() -> FoundFile.requireOwnLinks(through.resolve("home"), other))
                    .hasMessageContaining("which is not followed");
        }
    }

    @Test
    void endsAtLinksThatLeadToEachOther() throws IOException {
        Path one = dir.resolve("one");
        Files.createSymbolicLink(one, Path.of("two"));
        Files.createSymbolicLink(dir.resolve("two"), Path.of("one"));

        assertThatThrownBy(() -> files.requireOwnLinks(one)).isInstanceOf(FileSystemLoopException.class);
    }

    @Test
    void refusesAFileThatOthersMayWrite() throws IOException {
        Files.writeString(file, "x");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw----"));

        assertThatThrownBy(() -> files.readSmall(file, 100))
                .hasMessage(file + ": expected a regular file that only its owner may write, found mode 0660");
    }

    @Test
    void refusesADirectoryThatOthersMayWrite() throws IOException {
        Files.writeString(file, "x");
        Files.setPosixFilePermissions(dir, PosixFilePermissions.fromString("rwxrwxrwx"));

        assertThatThrownBy(() -> files.readSmall(file, 100))
                .hasMessage(dir + ": expected a directory that only its owner may write, found mode 0777");
    }

    @Test
    void refusesWhatBelongsToAnotherUser() throws IOException {
        // /etc is root's, and /proc/1 is root's or nobody's: one of them is not ours, whoever we are
        Path foreign = files.owner() == 0 ? foreignFile() : Path.of("/etc/passwd");

        assertThatThrownBy(() -> files.readSmall(foreign, 1 << 20))
                .isInstanceOf(UnsafeFileException.class)
                .hasMessageContaining("owned by uid " + files.owner());
    }

    private Path foreignFile() throws IOException {
        Files.writeString(file, "x");
        Files.setAttribute(file, "unix:uid", 12345);
        return file;
    }

    @Test
    void refusesAFileOverItsLimit() throws IOException {
        Files.write(file, new byte[101]);

        assertThatThrownBy(() -> files.readSmall(file, 100))
                .hasMessage(file + ": expected at most 100 bytes, found 101 bytes");
    }

    @Test
    void saysThatAFileIsNotThere() {
        assertThatThrownBy(() -> files.readSmall(file, 100)).isInstanceOf(NoSuchFileException.class);
        assertThatThrownBy(() -> files.readSmall(dir.resolve("no/file"), 100)).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void opensAFileOfItsOwnForReadingAndWriting() throws IOException {
        try (FileChannel channel = files.openOwn(file)) {
            channel.write(ByteBuffer.wrap("abc".getBytes(UTF_8)));
        }
        try (FileChannel channel = files.openOwn(file)) {
            assertThat(channel.size()).isEqualTo(3);
        }
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(PosixFilePermissions.fromString("rw-------"));
    }

    @Test
    void makesPrivateDirectoriesAndRefusesOpenOnes() throws IOException {
        Path made = files.createPrivateDirectory(dir.resolve("made"));
        assertThat(files.createPrivateDirectory(made)).isEqualTo(made);

        Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertThatThrownBy(() -> files.createPrivateDirectory(made))
                .hasMessage(made + ": expected mode 0700, closed to group and others, found mode 0755");
        assertThat(files.requireDirectory(made)).isEqualTo(made);
    }

    @Test
    void checksEachFileOfAQueue() throws IOException {
        Path queue = files.createPrivateDirectory(dir.resolve("queue"));
        Files.createFile(queue.resolve("a.cq4"));
        Files.createSymbolicLink(queue.resolve("unrelated"), file);
        assertThat(files.requireQueueDirectory(queue)).isEqualTo(queue);

        Files.createSymbolicLink(queue.resolve("b.cq4t"), Path.of("/dev/zero"));
        assertThatThrownBy(() -> files.requireQueueDirectory(queue)).hasMessageContaining("found a symbolic link");
    }

    @Test
    void listsDirectoriesUpToALimit() throws IOException {
        Files.createDirectory(dir.resolve("a"));
        Files.createDirectory(dir.resolve("b"));
        Files.createSymbolicLink(dir.resolve("c"), dir.resolve("a"));

        assertThat(files.listDirectories(dir, 3)).containsExactlyInAnyOrder(dir.resolve("a"), dir.resolve("b"));
        assertThatThrownBy(() -> files.listDirectories(dir, 2)).isInstanceOf(UnsafeFileException.class);
    }

    @Test
    void claimsByTheTextOfALink() throws IOException {
        assertThat(files.readClaim(file)).isEmpty();
        assertThat(files.createClaim(file, "mine")).isTrue();
        assertThat(files.createClaim(file, "yours")).isFalse();
        assertThat(files.readClaim(file)).isEqualTo(Optional.of("mine"));

        files.remove(file);
        Files.writeString(file, "no link");
        assertThatThrownBy(() -> files.readClaim(file)).isInstanceOf(UnsafeFileException.class);
    }
}
