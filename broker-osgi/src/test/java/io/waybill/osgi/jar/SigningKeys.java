package io.waybill.osgi.jar;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipFile;
import jdk.security.jarsigner.JarSigner;

/** Keys with certificates of their own, made by keytool, which takes a second for each. */
public final class SigningKeys {

    private static final char[] PASSWORD = "changeit".toCharArray();

    private final KeyStore store;

    /** Makes a key for each name, in a file in this directory. */
    public SigningKeys(Path directory, List<String> names)
            throws IOException, InterruptedException, GeneralSecurityException {
        Path file = directory.resolve("keys.p12");
        for (String name : names) {
            make(name, file, directory.resolve("keytool.out"));
        }
        store = KeyStore.getInstance(file.toFile(), PASSWORD);
    }

    private static void make(String name, Path file, Path output) throws IOException, InterruptedException {
        Process made = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-alias",
                        name,
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=" + name,
                        "-keystore",
                        file.toString(),
                        "-storepass",
                        new String(PASSWORD))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertThat(made.waitFor(50, TimeUnit.SECONDS)).isTrue();
        assertThat(made.exitValue()).as(Files.readString(output)).isZero();
    }

    /** Writes a jar that is signed by the key of this name. */
    public void sign(Path plain, Path signed, String name) throws IOException, GeneralSecurityException {
        KeyStore.PrivateKeyEntry key =
                (KeyStore.PrivateKeyEntry) store.getEntry(name, new KeyStore.PasswordProtection(PASSWORD));
        try (ZipFile in = new ZipFile(plain.toFile());
                OutputStream out = Files.newOutputStream(signed)) {
            new JarSigner.Builder(key)
                    .signerName(name.toUpperCase(Locale.ROOT))
                    .build()
                    .sign(in, out);
        }
    }

    public Certificate certificate(String name) throws GeneralSecurityException {
        return store.getCertificate(name);
    }
}
