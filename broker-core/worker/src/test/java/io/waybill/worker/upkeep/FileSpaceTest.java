package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.host.Host;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The space of a worker's own files: what is reserved and given back, and what stays in the files. */
@Timeout(60)
class FileSpaceTest {

    private static final int PAGE = 4096;
    private static final int MIB = 1 << 20;

    @TempDir
    private Path directory;

    private final SafeFiles files = Host.real().files();
    private final FileSpace space = new FileSpace(files);
    private Path file;

    @BeforeEach
    void choose() {
        file = directory.resolve("file");
    }

    /** Writes one page for each letter, full of it; a page of zeros for a dot. */
    private void write(String pages) throws IOException {
        byte[] all = new byte[pages.length() * PAGE];
        for (int i = 0; i < pages.length(); i++) {
            byte filling = (byte) (pages.charAt(i) == '.' ? 0 : pages.charAt(i));
            Arrays.fill(all, i * PAGE, (i + 1) * PAGE, filling);
        }
        Files.write(file, all);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    /** Returns what {@link #write} takes; a question mark for a page that is not full of one byte. */
    private String content() throws IOException {
        byte[] all = Files.readAllBytes(file);
        StringBuilder pages = new StringBuilder();
        for (int at = 0; at < all.length; at += PAGE) {
            byte[] page = Arrays.copyOfRange(all, at, at + PAGE);
            byte[] full = new byte[PAGE];
            Arrays.fill(full, page[0]);
            pages.append(!Arrays.equals(page, full) ? '?' : page[0] == 0 ? '.' : (char) page[0]);
        }
        return pages.toString();
    }

    private long allocatedPages() throws IOException {
        return files.allocatedBytes(file) / PAGE;
    }

    @Test
    void aReservedFileIsPrivateAndEmptyAndHasItsSpace() throws Exception {
        space.reserve(file, 0, MIB);
        assertThat(Files.size(file)).as("its size").isZero();
        assertThat(allocatedPages()).as("pages that it has on the disk").isGreaterThanOrEqualTo(MIB / PAGE);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .as("its mode")
                .isEqualTo("rw-------");
    }

    @Test
    void aReservationChangesNothingOfAFile() throws Exception {
        write("ab");
        space.reserve(file, PAGE, MIB);
        assertThat(content()).as("its pages").isEqualTo("ab");
        assertThat(allocatedPages()).as("pages that it has on the disk").isGreaterThanOrEqualTo(MIB / PAGE + 1);
    }

    @Test
    void moreThanTheDiskHasIsRefusedBeforeTheFileTakesAny() {
        assertThatThrownBy(() -> space.reserve(file, 0, Long.MAX_VALUE / 2), "a reservation of more than the disk has")
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no room for " + Long.MAX_VALUE / 2 + " bytes")
                .hasMessageContaining(file.toString());
        assertThat(file).as("the file that was to be created").doesNotExist();
    }

    @Test
    void onlyThePagesInsideARangeAreGivenBack() throws Exception {
        write("abcdef");
        space.giveBack(file, 100, 4 * PAGE);
        assertThat(content())
                .as("its pages, of which the second to the fourth are inside the range")
                .isEqualTo("a...ef");
        assertThat(allocatedPages()).as("pages that it has on the disk").isEqualTo(3);
    }

    @Test
    void aRangeOfWholePagesIsGivenBackCompletely() throws Exception {
        write("abcd");
        space.giveBack(file, PAGE, 2 * PAGE);
        assertThat(content()).as("its pages").isEqualTo("a..d");
    }

    @Test
    void aRangeWithoutAWholePageStays() throws Exception {
        write("abc");
        space.giveBack(file, 100, PAGE);
        space.giveBack(file, PAGE, PAGE - 1);
        space.giveBack(file, PAGE, 0);
        assertThat(content()).as("its pages").isEqualTo("abc");
    }

    @Test
    void whatIsReservedBehindTheEndIsGivenBack() throws Exception {
        write("ab");
        space.reserve(file, 0, MIB);
        space.giveBack(file, 2 * PAGE, MIB - 2 * PAGE);
        assertThat(content()).as("its pages").isEqualTo("ab");
        assertThat(allocatedPages()).as("pages that it has on the disk").isEqualTo(2);
    }

    @Test
    void aRangeAcrossTheEndIsGivenBackOnBothSides() throws Exception {
        write("abc");
        space.reserve(file, 0, MIB);
        space.giveBack(file, PAGE, MIB - PAGE);
        assertThat(content()).as("its pages, the size of the file unchanged").isEqualTo("a..");
        assertThat(allocatedPages()).as("pages that it has on the disk").isEqualTo(1);
    }

    @Test
    void pagesOfZerosAreGivenBackAndReadAsBefore() throws Exception {
        write("a.b..c..");
        space.giveBackZeros(file, 0, 7 * PAGE);
        assertThat(content()).as("its pages").isEqualTo("a.b..c..");
        assertThat(allocatedPages())
                .as("pages that it has on the disk: three letters, and one behind the range")
                .isEqualTo(4);
        space.giveBackZeros(file, 0, MIB);
        assertThat(content()).as("its pages, after a range across the end").isEqualTo("a.b..c..");
        assertThat(allocatedPages()).as("pages that it has on the disk").isEqualTo(3);
    }

    @Test
    void aPageWithOneByteInItIsNoPageOfZeros() throws Exception {
        byte[] last = new byte[PAGE];
        last[PAGE - 1] = 1;
        write(".");
        Files.write(file, last);
        space.giveBackZeros(file, 0, PAGE);
        assertThat(Files.readAllBytes(file)).as("its bytes").isEqualTo(last);
    }

    @Test
    void aRangeIsFilledWithZerosAlone() throws Exception {
        write("abcd");
        space.fill(file, PAGE, 2 * PAGE);
        assertThat(content()).as("its pages").isEqualTo("a..d");
        space.fill(file, 4 * PAGE, PAGE);
        assertThat(content()).as("its pages, with one behind the end").isEqualTo("a..d.");
    }

    @Test
    void aMissingFileIsNotCreatedForSpaceThatItHadReserved() throws Exception {
        space.giveBack(file, 0, MIB);
        space.giveBackZeros(file, 0, MIB);
        assertThatThrownBy(() -> space.fill(file, 0, PAGE), "to fill a missing file")
                .isInstanceOf(NoSuchFileException.class);
        assertThat(file).as("the file").doesNotExist();
    }

    @Test
    void aFileIsRemovedOnceAndThenThereIsNone() throws Exception {
        space.reserve(file, 0, MIB);
        space.remove(file);
        assertThat(file).as("the file").doesNotExist();
        space.remove(file);
    }
}
