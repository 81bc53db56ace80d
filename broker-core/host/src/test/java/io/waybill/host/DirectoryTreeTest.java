package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class DirectoryTreeTest {

    private static final DirectoryTree TREE = Host.real().files().tree();

    @TempDir
    Path temporary;

    /** Removes a tree, in one of two ways. */
    interface Way {
        void remove(Path directory) throws IOException;
    }

    static List<Way> ways() {
        return List.of(DirectoryTree::remove, TREE::removeAll);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void removesWhatIsInItAndFollowsNoLink(Way way) throws IOException {
        Path kept = Files.createDirectory(temporary.resolve("kept"));
        Path file = Files.writeString(kept.resolve("file"), "kept");
        Path tree = Files.createDirectories(temporary.resolve("tree/inner"));
        Files.writeString(tree.resolve("a"), "a");
        Files.createSymbolicLink(tree.resolve("link"), kept);
        way.remove(temporary.resolve("tree"));
        assertThat(temporary.resolve("tree")).doesNotExist();
        assertThat(file).hasContent("kept");
    }

    @ParameterizedTest
    @MethodSource("ways")
    void takesWhatIsGoneForRemoved(Way way) throws IOException {
        way.remove(temporary.resolve("gone"));
        assertThat(temporary.resolve("gone")).doesNotExist();
    }

    @Test
    void makesPrivateDirectoriesAndLinks() throws IOException {
        Path directory = temporary.resolve("made");
        TREE.makePrivate(directory);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                .isEqualTo("rwx------");
        assertThatThrownBy(() -> TREE.makePrivate(directory)).isInstanceOf(FileAlreadyExistsException.class);
        assertThatThrownBy(() -> TREE.makePrivate(temporary.resolve("gone/made")))
                .isInstanceOf(NoSuchFileException.class);
        TREE.link(directory.resolve("link"), "7-text");
        assertThat(Files.readSymbolicLink(directory.resolve("link"))).hasToString("7-text");
        assertThatThrownBy(() -> TREE.link(directory.resolve("link"), "8"))
                .isInstanceOf(FileAlreadyExistsException.class);
        assertThatThrownBy(() -> TREE.removeEmpty(directory))
                .isInstanceOf(NativeCallException.class)
                .hasMessageContaining("rmdir of " + directory);
        Files.delete(directory.resolve("link"));
        TREE.removeEmpty(directory);
        assertThat(directory).doesNotExist();
    }

    @Test
    void movesAndReplaces() throws IOException {
        Path from = Files.writeString(temporary.resolve("from"), "new");
        Path to = Files.writeString(temporary.resolve("to"), "old");
        TREE.move(from, to);
        assertThat(from).doesNotExist();
        assertThat(to).hasContent("new");
        assertThatThrownBy(() -> TREE.move(from, to)).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void setsTheTimeOfAFileToTheNanosecond() throws IOException {
        Path file = Files.writeString(temporary.resolve("file"), "");
        TREE.touch(file, 1_700_000_000_123_456_789L);
        assertThat(Files.getLastModifiedTime(file).to(TimeUnit.NANOSECONDS)).isEqualTo(1_700_000_000_123_456_789L);
        TREE.touch(file, -1);
        assertThat(Files.getLastModifiedTime(file).to(TimeUnit.NANOSECONDS)).isEqualTo(-1);
        assertThatThrownBy(() -> TREE.touch(temporary.resolve("gone"), 0)).isInstanceOf(NoSuchFileException.class);
    }
}
