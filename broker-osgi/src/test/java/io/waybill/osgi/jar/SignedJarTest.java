package io.waybill.osgi.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import jdk.security.jarsigner.JarSigner;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is accepted of a jar that carries a signature. */
@Timeout(60)
class SignedJarTest {

    private static final String MANIFEST =
            "Manifest-Version: 1.0\r\nBundle-ManifestVersion: 2\r\nBundle-SymbolicName: org.acme.a\r\n\r\n";
    private static final char[] PASSWORD = "changeit".toCharArray();

    @TempDir
    Path directory;

    private Staging staging;
    private Path signed;

    @BeforeEach
    void sign() throws Exception {
        staging = new Staging(directory.resolve("staging"), 1 << 20);
        Map<String, byte[]> entries = new LinkedHashMap<>();
        entries.put("META-INF/MANIFEST.MF", MANIFEST.getBytes(StandardCharsets.UTF_8));
        entries.put("a/", new byte[0]);
        entries.put("a/A.class", "content".getBytes(StandardCharsets.UTF_8));
        Path plain = directory.resolve("plain.jar");
        write(entries, plain);
        signed = directory.resolve("signed.jar");
        KeyStore keys = KeyStore.getInstance(keys().toFile(), PASSWORD);
        KeyStore.PrivateKeyEntry key =
                (KeyStore.PrivateKeyEntry) keys.getEntry("test", new KeyStore.PasswordProtection(PASSWORD));
        try (ZipFile in = new ZipFile(plain.toFile());
                OutputStream out = Files.newOutputStream(signed)) {
            new JarSigner.Builder(key).signerName("TEST").build().sign(in, out);
        }
    }

    private Path keys() throws IOException, InterruptedException {
        Path keys = directory.resolve("keys.p12");
        Process made = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-alias",
                        "test",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=test",
                        "-keystore",
                        keys.toString(),
                        "-storepass",
                        new String(PASSWORD))
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("keytool.out").toFile())
                .start();
        assertThat(made.waitFor(50, TimeUnit.SECONDS)).isTrue();
        assertThat(made.exitValue())
                .as(Files.readString(directory.resolve("keytool.out")))
                .isZero();
        return keys;
    }

    private static void write(Map<String, byte[]> entries, Path jar) throws IOException {
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                out.putNextEntry(new ZipEntry(entry.getKey()));
                out.write(entry.getValue());
            }
        }
    }

    private static Map<String, byte[]> read(Path jar) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipFile file = new ZipFile(jar.toFile())) {
            for (ZipEntry entry : java.util.Collections.list(file.entries())) {
                try (InputStream in = file.getInputStream(entry)) {
                    entries.put(entry.getName(), in.readAllBytes());
                }
            }
        }
        return entries;
    }

    private void refusesAfter(UnaryOperator<Map<String, byte[]>> change, String text) throws IOException {
        Path changed = directory.resolve("changed.jar");
        write(change.apply(read(signed)), changed);
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> staging.stage(changed))
                .withMessageContaining(text);
    }

    @Test
    void isTakenAsItWasSigned() throws Exception {
        assertThat(read(signed)).containsKeys("META-INF/TEST.SF", "META-INF/TEST.EC");
        assertThat(staging.stage(signed).symbolicName()).isEqualTo("org.acme.a");
    }

    @Test
    void isRefusedWithAnEntryThatChanged() throws Exception {
        refusesAfter(
                entries -> {
                    entries.put("a/A.class", "other".getBytes(StandardCharsets.UTF_8));
                    return entries;
                },
                "was changed after it was signed");
    }

    @Test
    void isRefusedWithAnEntryThatWasAdded() throws Exception {
        refusesAfter(
                entries -> {
                    entries.put("a/Added.class", new byte[] {1});
                    return entries;
                },
                "is signed, and its signature is not valid for \"a/Added.class\"");
    }

    @Test
    void isRefusedWhenItsSignatureCannotBeRead() throws Exception {
        refusesAfter(
                entries -> {
                    entries.remove("META-INF/TEST.EC");
                    return entries;
                },
                "its signature is not valid for \"a/A.class\"");
        refusesAfter(
                entries -> {
                    entries.put("META-INF/TEST.EC", "no signature".getBytes(StandardCharsets.UTF_8));
                    return entries;
                },
                "\"a/A.class\"");
    }

    /** The JDK takes names of any case. */
    @Test
    void isRefusedWithAChangeWhateverTheCaseOfItsNames() throws Exception {
        refusesAfter(
                entries -> {
                    entries.put("META-INF/test.sf", entries.remove("META-INF/TEST.SF"));
                    entries.put("META-INF/test.ec", entries.remove("META-INF/TEST.EC"));
                    entries.put("a/A.class", "other".getBytes(StandardCharsets.UTF_8));
                    return entries;
                },
                "was changed after it was signed");
    }
}
