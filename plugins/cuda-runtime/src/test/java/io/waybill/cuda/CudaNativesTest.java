package io.waybill.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import jcuda.LibUtilsCuda;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What keeps JCuda's library from being loaded, on any machine. */
class CudaNativesTest {

    @TempDir
    private Path directory;

    @AfterEach
    void reset() {
        CudaNatives.configure("", "");
    }

    private void fails(String libraries, String driver, String... texts) {
        CudaNatives.configure(libraries, driver);
        for (int attempt = 0; attempt < 2; attempt++) { // it can be called again, and says the same
            assertThatThrownBy(() -> LibUtilsCuda.loadLibrary("JCudaDriver-12.6.0-linux-x86_64"))
                    .isInstanceOf(UnsatisfiedLinkError.class)
                    .hasMessageContainingAll(texts);
        }
    }

    @Test
    void requiresADirectory() {
        fails("", "", "set waybill.cuda.natives");
    }

    @Test
    void loadsNothingFromADirectoryThatOthersMayWrite() throws IOException {
        Path open = directory.resolve("open");
        Files.createDirectory(open);
        for (String permissions : new String[] {"rwxrwxr-x", "rwxr-xrwx"}) {
            Files.setPosixFilePermissions(open, PosixFilePermissions.fromString(permissions));
            fails(open.toString(), "", "other users may write to " + open, permissions);
        }
        assertThat(open).isEmptyDirectory();
    }

    @Test
    void requiresTheDriverThatIsNamed() throws IOException {
        Path driver = directory.resolve("libcuda.so.1");
        String libraries = directory.resolve("native").toString();
        fails(libraries, driver.toString(), "waybill.cuda.driver", "found none", driver.toString());
        Files.writeString(driver, "no library");
        fails(libraries, driver.toString(), driver.toString(), "file too short");
        Files.setPosixFilePermissions(driver, PosixFilePermissions.fromString("rw-rw-rw-"));
        fails(libraries, driver.toString(), "other users may write to " + driver);
    }

    @Test
    void hasNoOtherLibraries() {
        assertThatThrownBy(() -> LibUtilsCuda.loadLibrary("JCudaRuntime-12.6.0-linux-x86_64"))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageContaining("JCudaRuntime");
    }
}
