package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class DirectoryTreeTest {

    @TempDir
    Path temporary;

    @Test
    void removesWhatIsInItAndFollowsNoLink() throws IOException {
        Path kept = Files.createDirectory(temporary.resolve("kept"));
        Path file = Files.writeString(kept.resolve("file"), "kept");
        Path tree = Files.createDirectories(temporary.resolve("tree/inner"));
        Files.writeString(tree.resolve("a"), "a");
        Files.createSymbolicLink(tree.resolve("link"), kept);
        DirectoryTree.remove(temporary.resolve("tree"));
        assertThat(temporary.resolve("tree")).doesNotExist();
        assertThat(file).hasContent("kept");
    }

    @Test
    void takesWhatIsGoneForRemoved() throws IOException {
        DirectoryTree.remove(temporary.resolve("gone"));
        assertThat(temporary.resolve("gone")).doesNotExist();
    }
}
