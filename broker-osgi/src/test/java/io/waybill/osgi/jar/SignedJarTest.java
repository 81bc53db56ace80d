package io.waybill.osgi.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is accepted of a jar that carries a signature. */
@Timeout(60)
class SignedJarTest {

    private static final String MANIFEST =
            "Manifest-Version: 1.0\r\nBundle-ManifestVersion: 2\r\nBundle-SymbolicName: org.acme.a\r\n\r\n";

    @TempDir
    Path directory;

    @TempDir
    static Path shared;

    private static SigningKeys keys;

    private Staging staging;
    private Path signed;

    @BeforeAll
    static void makeKeys() throws Exception {
        keys = new SigningKeys(shared, List.of("test", "other"));
    }

    @BeforeEach
    void sign() throws Exception {
        staging = new Staging(directory.resolve("staging"), 1 << 20);
        Map<String, byte[]> entries = new LinkedHashMap<>();
        entries.put("META-INF/MANIFEST.MF", MANIFEST.getBytes(StandardCharsets.UTF_8));
        entries.put("a/", new byte[0]);
        entries.put("a/A.class", "content".getBytes(StandardCharsets.UTF_8));
        entries.put("OSGI-INF/policy.xml", "component".getBytes(StandardCharsets.UTF_8));
        entries.put("META-INF/versions/17/a/A.class", "newer".getBytes(StandardCharsets.UTF_8));
        signed = sign(entries, "test");
    }

    /** Returns a jar of these entries, signed by a key of this name. */
    private Path sign(Map<String, byte[]> entries, String keyName) throws Exception {
        Path plain = directory.resolve("plain.jar");
        write(entries, plain);
        Path jar = directory.resolve("signed-by-" + keyName + ".jar");
        keys.sign(plain, jar, keyName);
        return jar;
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
        StagedJar staged = staging.stage(signed);
        assertThat(staged.symbolicName()).isEqualTo("org.acme.a");
        assertThat(staged.signers())
                .singleElement()
                .satisfies(path -> assertThat(path.getCertificates().get(0)).isEqualTo(keys.certificate("test")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/A.class", "OSGI-INF/policy.xml", "META-INF/versions/17/a/A.class"})
    void isRefusedWithAnEntryThatChanged(String name) throws Exception {
        refusesAfter(
                entries -> {
                    assertThat(entries.put(name, "other".getBytes(StandardCharsets.UTF_8)))
                            .isNotNull();
                    return entries;
                },
                "was changed after it was signed");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a/Added.class",
                "a/added.properties",
                "lib/added.jar",
                "OSGI-INF/added.xml",
                "META-INF/versions/17/a/Added.class",
                "META-INF/services/a.Added",
                "META-INF/nested/TEST.SF"
            })
    void isRefusedWithAnEntryThatWasAdded(String name) throws Exception {
        refusesAfter(
                entries -> {
                    entries.put(name, new byte[] {1});
                    return entries;
                },
                "is signed, and its signature is not valid for \"" + name + "\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/A.class", "OSGI-INF/policy.xml", "META-INF/versions/17/a/A.class"})
    void isRefusedWithoutAnEntryThatWasSigned(String name) throws Exception {
        refusesAfter(
                entries -> {
                    assertThat(entries.remove(name)).isNotNull();
                    return entries;
                },
                "was changed after it was signed: it lacks \"" + name + "\"");
    }

    @Test
    void isRefusedWithAnotherHeaderInItsManifest() throws Exception {
        refusesAfter(
                entries -> {
                    String manifest = new String(entries.get("META-INF/MANIFEST.MF"), StandardCharsets.UTF_8);
                    entries.put(
                            "META-INF/MANIFEST.MF",
                            manifest.replace("org.acme.a", "org.acme.b").getBytes(StandardCharsets.UTF_8));
                    return entries;
                },
                "was changed after it was signed");
    }

    /** The JDK takes the signature of each key for the entries that it names. */
    @Test
    void isRefusedWithAnEntryThatAnotherKeySigned() throws Exception {
        Map<String, byte[]> others = new LinkedHashMap<>();
        others.put("META-INF/MANIFEST.MF", MANIFEST.getBytes(StandardCharsets.UTF_8));
        others.put("a/Added.class", "added".getBytes(StandardCharsets.UTF_8));
        Map<String, byte[]> added = read(sign(others, "other"));
        refusesAfter(
                entries -> {
                    String own = new String(entries.get("META-INF/MANIFEST.MF"), StandardCharsets.UTF_8);
                    String other = new String(added.get("META-INF/MANIFEST.MF"), StandardCharsets.UTF_8);
                    String section = other.substring(other.indexOf("Name: "));
                    entries.putAll(added);
                    entries.put("META-INF/MANIFEST.MF", (own + section).getBytes(StandardCharsets.UTF_8));
                    return entries;
                },
                "\"a/Added.class\" by another key than the other entries");
    }

    @Test
    void isTakenWithASecondSignatureOfAllOfIt() throws Exception {
        Path both = sign(read(signed), "other");
        assertThat(read(both)).containsKeys("META-INF/TEST.SF", "META-INF/OTHER.SF");
        assertThat(staging.stage(both).signers()).hasSize(2);
    }

    @Test
    void isRefusedWhenItsSignatureCannotBeRead() throws Exception {
        refusesAfter(
                entries -> {
                    entries.remove("META-INF/TEST.EC");
                    return entries;
                },
                "is signed, and its signature is not valid for ");
        refusesAfter(
                entries -> {
                    entries.put("META-INF/TEST.EC", "no signature".getBytes(StandardCharsets.UTF_8));
                    return entries;
                },
                "is signed, and its signature is not valid for ");
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
