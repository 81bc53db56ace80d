package io.waybill.osgi.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.osgi.jar.BundleRefusedException.Reason;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class StagingTest {

    private static final String MANIFEST =
            "Manifest-Version: 1.0\r\nBundle-ManifestVersion: 2\r\nBundle-SymbolicName: org.acme.a;singleton:=true\r\n"
                    + "Bundle-Version: 1.2.3.q\r\n\r\n";
    private static final long MAX_BYTES = 100_000;
    private static final int OTHER_USER = 12_345;

    @TempDir
    Path directory;

    private Staging staging;
    private Path source;

    @BeforeEach
    void prepare() throws IOException {
        staging = new Staging(directory.resolve("staging"), MAX_BYTES);
        source = directory.resolve("source.jar");
    }

    private static void zip(Path file, String... namesAndContents) throws IOException {
        try (OutputStream out = Files.newOutputStream(file);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            for (int i = 0; i < namesAndContents.length; i += 2) {
                zip.putNextEntry(new ZipEntry(namesAndContents[i]));
                zip.write(namesAndContents[i + 1].getBytes(StandardCharsets.UTF_8));
                zip.closeEntry();
            }
        }
    }

    private void refuses(Reason reason, String text) throws IOException {
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> staging.stage(source))
                .withMessageContaining(text)
                .extracting(BundleRefusedException::reason)
                .isEqualTo(reason);
        try (var left = Files.list(directory.resolve("staging"))) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void copiesABundleToAPlaceOfItsOwn() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST, "a/A.class", "x");
        StagedJar jar = staging.stage(source);

        assertThat(jar.toString()).isEqualTo("org.acme.a 1.2.3.q");
        assertThat(jar.copy()).hasSameBinaryContentAs(source).hasParent(directory.resolve("staging"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(jar.copy())))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("staging"))))
                .isEqualTo("rwx------");
        Files.writeString(source, "changed");
        assertThat(Files.size(jar.copy())).isGreaterThan(100);
        staging.discard(jar);
        assertThat(jar.copy()).doesNotExist();
    }

    @Test
    void emptiesItsDirectoryWhenItStarts() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST);
        StagedJar jar = staging.stage(source);
        new Staging(directory.resolve("staging"), MAX_BYTES);
        assertThat(jar.copy()).doesNotExist();
    }

    @Test
    void refusesWhatIsNotThere() throws Exception {
        refuses(Reason.UNREADABLE, "nothing is at");
    }

    @Test
    void copiesNothingForWhichThereIsNoRoom() throws Exception {
        staging = new Staging(directory.resolve("staging"), Long.MAX_VALUE);
        long more = Files.getFileStore(directory).getUsableSpace() / 2 + 1;
        try (FileChannel sparse = FileChannel.open(source, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            sparse.write(ByteBuffer.allocate(1), more);
        }
        refuses(Reason.NO_ROOM, "no room: it needs ");
    }

    @Test
    void refusesALink() throws Exception {
        Path real = directory.resolve("real.jar");
        zip(real, "META-INF/MANIFEST.MF", MANIFEST);
        Files.createSymbolicLink(source, real);
        refuses(Reason.UNREADABLE, "no link, and a link is at");
    }

    @Test
    void refusesADirectory() throws Exception {
        Files.createDirectory(source);
        refuses(Reason.UNREADABLE, "something else is at");
    }

    @Test
    void refusesAFileThatEverybodyMayWrite() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST);
        Files.setPosixFilePermissions(source, PosixFilePermissions.fromString("rw-rw-rw-"));
        refuses(Reason.UNREADABLE, "everybody may write");
    }

    /** Root gives the file away; any other user can not, and stages for another user instead. */
    @Test
    void refusesAFileOfAnotherUser() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST);
        int own = (int) Files.getAttribute(source, "unix:uid");
        if (own == 0) {
            Files.setAttribute(source, "unix:uid", OTHER_USER);
            refuses(Reason.UNREADABLE, "must belong to user 0 or to root, and belongs to " + OTHER_USER);
        } else {
            staging = new Staging(directory.resolve("staging"), MAX_BYTES, own + 1);
            refuses(Reason.UNREADABLE, "must belong to user " + (own + 1) + " or to root, and belongs to " + own);
        }
    }

    @Test
    void refusesAFileThatEverybodyMayReplace() throws Exception {
        Path open = Files.createDirectory(directory.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        source = open.resolve("source.jar");
        zip(source, "META-INF/MANIFEST.MF", MANIFEST);
        refuses(Reason.UNREADABLE, "everybody may replace");
    }

    @Test
    void refusesWhatIsNoJar() throws Exception {
        Files.writeString(source, "this is no jar");
        refuses(Reason.NO_BUNDLE, "is not a jar");
    }

    @Test
    void refusesATruncatedJar() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST, "a", "b".repeat(1000));
        byte[] whole = Files.readAllBytes(source);
        Files.write(source, Arrays.copyOf(whole, whole.length - 30));
        refuses(Reason.NO_BUNDLE, "is not a jar");
    }

    @Test
    void refusesAJarThatIsTooLarge() throws Exception {
        Files.write(source, new byte[(int) MAX_BYTES + 1]);
        refuses(Reason.NO_BUNDLE, "at most " + MAX_BYTES + " bytes");
    }

    @Test
    void refusesAJarThatWouldUnpackToMuchMore() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST, "a", "0".repeat(5_000_000));
        refuses(Reason.NO_BUNDLE, "100 times its size");
    }

    /** The sizes in the directory of a zip are what its author wrote: reading stops at the end of the data. */
    @Test
    void refusesAJarThatHidesHowMuchItWouldUnpackTo() throws Exception {
        staging =
                new Staging(directory.resolve("staging"), 1 << 30); // a limit of the jar's size allows no more content
        zip(source, "META-INF/MANIFEST.MF", MANIFEST, "a", "0".repeat(5_000_000));
        refuses(Reason.NO_BUNDLE, "100 times its size");

        byte[] bytes = Files.readAllBytes(source);
        ByteBuffer size = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, 5_000_000);
        byte[] declared = size.array();
        int found = 0;
        for (int i = 0; i < bytes.length - 4; i++) {
            if (Arrays.equals(Arrays.copyOfRange(bytes, i, i + 4), declared)) {
                bytes[i] = 100;
                bytes[i + 1] = bytes[i + 2] = 0;
                found++;
            }
        }
        assertThat(found).as("sizes behind the data and in the directory").isEqualTo(2);
        Files.write(source, bytes);
        refuses(Reason.NO_BUNDLE, "100 times its size");
    }

    @Test
    void takesASmallJarWithALittleContentHoweverWellItIsPacked() throws Exception {
        zip(source, "META-INF/MANIFEST.MF", MANIFEST, "a", "0".repeat(800_000));
        staging.discard(staging.stage(source));
    }

    @Test
    void refusesADamagedEntry() throws Exception {
        try (OutputStream out = Files.newOutputStream(source);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            zip.setLevel(0); // what is written in an entry stands in the file
            zip.putNextEntry(new ZipEntry("META-INF/MANIFEST.MF"));
            zip.write(MANIFEST.getBytes(StandardCharsets.UTF_8));
            zip.putNextEntry(new ZipEntry("a/A.class"));
            zip.write("content".getBytes(StandardCharsets.UTF_8));
        }
        String text = Files.readString(source, StandardCharsets.ISO_8859_1);
        Files.writeString(source, text.replace("content", "c0ntent"), StandardCharsets.ISO_8859_1);
        refuses(Reason.NO_BUNDLE, "is damaged: the checksum of \"a/A.class\" does not match");
    }

    @Test
    void refusesEntriesThatLeaveTheJar() throws Exception {
        for (String name : new String[] {"../evil", "/etc/evil", "a/../../evil", "a\\..\\evil", "a/.."}) {
            zip(source, "META-INF/MANIFEST.MF", MANIFEST, name, "x");
            refuses(Reason.NO_BUNDLE, "unpacked elsewhere");
        }
    }

    @Test
    void refusesAManifestThatIsNoBundles() throws Exception {
        zip(source, "a", "b");
        refuses(Reason.NO_BUNDLE, "has no manifest");
        zip(source, "META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n");
        refuses(Reason.NO_BUNDLE, "Bundle-ManifestVersion");
        zip(source, "META-INF/MANIFEST.MF", MANIFEST.replace("org.acme.a", "a b"));
        refuses(Reason.NO_BUNDLE, "Bundle-SymbolicName");
        zip(source, "META-INF/MANIFEST.MF", MANIFEST.replace("1.2.3.q", "one"));
        refuses(Reason.NO_BUNDLE, "Bundle-Version");
        zip(source, "META-INF/MANIFEST.MF", MANIFEST.replace("\r\n\r\n", "\r\nFragment-Host: system.bundle\r\n\r\n"));
        refuses(Reason.NO_BUNDLE, "fragment");
        zip(source, "META-INF/MANIFEST.MF", MANIFEST + "Name: x\r\n".repeat(200_000));
        refuses(Reason.NO_BUNDLE, "");
    }
}
