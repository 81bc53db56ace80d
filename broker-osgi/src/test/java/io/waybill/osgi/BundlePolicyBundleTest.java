package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.osgi.jar.BundleRefusedException.Reason;
import io.waybill.osgi.jar.SigningKeys;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A bundle policy in a bundle, from its installation to its removal, in a node. */
@Timeout(240) // longer than a wait, whose failure says more
class BundlePolicyBundleTest {

    private static final String GATE = "org.acme.gate";
    private static final String DENY_BAD =
            "return candidate.symbolicName().equals(\"org.acme.bad\") ? Decision.deny(\"bad\") : Decision.allow();";

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        restart();
    }

    private void restart() throws Exception {
        if (node != null) {
            node.close();
        }
        node = new TestNode(directory.resolve("node"), Duration.ofSeconds(20), Duration.ofSeconds(5));
    }

    @AfterEach
    void stopNode() throws Exception {
        node.close();
    }

    private BundleForge.Draft gate(String version, String body) {
        return forge.bundle(GATE, version)
                .source(
                        "Gate",
                        "@Component public final class Gate implements BundlePolicy {\n"
                                + "@Override public Decision decide(BundleCandidate candidate) {\n" + body + "\n}}");
    }

    private Path bad(String version) throws Exception {
        return forge.responding("org.acme.bad", version, version);
    }

    private Path good(String name) throws Exception {
        return forge.bundle(name, "1.0.0")
                .handler("Good", "\"" + name + "\"", "outbox.respond(Value.NONE);")
                .build();
    }

    private void assertRefused(Path jar, Reason reason, String... texts) {
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(jar))
                .withMessageContainingAll(texts)
                .extracting(BundleRefusedException::reason)
                .isEqualTo(reason);
    }

    private Path copyToWatched(Path jar, String name) throws Exception {
        Path to = node.watched.resolve(name);
        Path hidden = node.watched.resolve(name + ".part");
        Files.copy(jar, hidden, StandardCopyOption.REPLACE_EXISTING);
        return Files.move(hidden, to, StandardCopyOption.ATOMIC_MOVE);
    }

    private String runningVersion(String bundle) {
        return node.bundles().installed(bundle).orElseThrow().version().toString();
    }

    @Test
    void isAskedFromItsInstallationToItsRemoval() throws Exception {
        node.bundles().install(bad("1.0.0"));
        node.bundles().install(gate("1.0.0", DENY_BAD).build());
        assertRefused(bad("1.1.0"), Reason.NOT_ALLOWED, "org.acme.bad 1.1.0", GATE + " 1.0.0", "refuses it: bad");
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().update(bad("1.1.0")))
                .withMessageContaining("refuses it: bad");
        assertThat(runningVersion("org.acme.bad")).as("what runs already").isEqualTo("1.0.0");
        assertThat(node.response()).isEqualTo("1.0.0");
        node.bundles().install(good("org.acme.good"));
        node.bundles().uninstall(GATE);
        node.bundles().update(bad("1.1.0"));
        assertThat(node.response()).isEqualTo("1.1.0");
        try (var left = Files.list(directory.resolve("node").resolve("cache").resolve("staging"))) {
            assertThat(left).as("copies of the jars that run").hasSize(2);
        }
    }

    @Test
    void seesTheVeryBytesAndTheirSigners() throws Exception {
        SigningKeys keys = new SigningKeys(directory, List.of("vendor"));
        node.bundles().install(bad("1.0.0"));
        node.bundles()
                .install(gate(
                                "1.0.0",
                                "try (java.io.InputStream in = candidate.open()) {\n"
                                        + "  byte[] digest = java.security.MessageDigest.getInstance(\"SHA-256\")"
                                        + ".digest(in.readAllBytes());\n"
                                        + "  return Decision.deny(candidate.symbolicName() + \" \" + candidate.version()"
                                        + " + \" in place of \" + candidate.installedVersion().orElse(\"none\")"
                                        + " + \" by \" + candidate.origin() + \" from \" + candidate.source().getFileName()"
                                        + " + \", \" + candidate.sha256() + \" \" + HexFormat.of().formatHex(digest)"
                                        + " + \", \" + candidate.signers().stream().map(path -> ((java.security.cert"
                                        + ".X509Certificate) path.getCertificates().get(0)).getSubjectX500Principal())"
                                        + ".toList());\n"
                                        + "} catch (Exception e) { throw new IllegalStateException(e); }")
                        .build());
        Path signed = directory.resolve("signed.jar");
        keys.sign(bad("1.1.0"), signed, "vendor");
        String hash =
                HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(signed)));
        assertRefused(
                signed,
                Reason.NOT_ALLOWED,
                "org.acme.bad 1.1.0 in place of 1.0.0 by COMMAND from signed.jar",
                hash + " " + hash,
                "[CN=vendor]");
        assertRefused(good("org.acme.new"), Reason.NOT_ALLOWED, "org.acme.new 1.0.0 in place of none", ", []");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "return null; | returned no decision",
                "throw new AssertionError(\"broken\"); | failed: java.lang.AssertionError: broken",
                "try { Thread.sleep(60_000); } catch (InterruptedException e) { } return Decision.allow();"
                        + " | did not decide within 5000 ms",
                "while (true) { try { Thread.sleep(60_000); } catch (InterruptedException e) { } }"
                        + " | did not decide within 5000 ms",
                "throw new RuntimeException() { @Override public String getMessage() { throw new Error(\"twice\"); } };"
                        + " | failed: acme.Gate$1"
            })
    void refusesWhenItFails(String body, String text) throws Exception {
        node.bundles().install(gate("1.0.0", body).build());
        assertRefused(bad("1.0.0"), Reason.NOT_ALLOWED, text);
        node.bundles().uninstall(GATE);
        node.bundles().install(bad("1.0.0"));
    }

    @Test
    void isNotAskedWhileItHasNotReturned() throws Exception {
        node.bundles()
                .install(gate(
                                "1.0.0",
                                "if (candidate.symbolicName().equals(\"org.acme.bad\")) { while (true) {"
                                        + " java.util.concurrent.locks.LockSupport.park(); } }"
                                        + " return Decision.allow();")
                        .build());
        assertRefused(bad("1.0.0"), Reason.NOT_ALLOWED, "did not decide within 5000 ms");
        assertRefused(good("org.acme.good"), Reason.NOT_ALLOWED, "has not returned from an earlier decision");
        node.bundles().uninstall(GATE);
        node.bundles().install(good("org.acme.good"));
    }

    @Test
    void isRequiredWhileItIsStopped() throws Exception {
        node.bundles().install(gate("1.0.0", DENY_BAD).build());
        node.bundles().stop(GATE);
        Path good = good("org.acme.good");
        assertRefused(good, Reason.POLICY_AWAY, "org.acme.good 1.0.0", GATE + " 1.0.0 is away");
        node.bundles().start(GATE);
        node.bundles().install(good);
    }

    @Test
    void decidesAboutItsOwnUpdateAndNotWithWhatWasDropped() throws Exception {
        node.bundles()
                .install(gate(
                                "1.0.0",
                                "return candidate.version().startsWith(\"2\") ? Decision.deny(\"two\") :"
                                        + " Decision.allow();")
                        .build());
        assertRefused(gate("2.0.0", "return Decision.allow();").build(), Reason.NOT_ALLOWED, "refuses it: two");
        node.bundles().install(gate("1.1.0", DENY_BAD).build());
        assertRefused(bad("1.0.0"), Reason.NOT_ALLOWED, GATE + " 1.1.0 refuses it: bad");
        node.bundles().install(gate("2.0.0", "return Decision.allow();").build());
        node.bundles().install(bad("1.0.0"));
    }

    @Test
    void isAskedAboutTheWatchedDirectory() throws Exception {
        node.bundles().install(gate("1.0.0", DENY_BAD).build());
        Path file = copyToWatched(bad("1.0.0"), "bad.jar");
        Waits.until(
                "the refusal",
                () -> node.host.refusedFiles().getOrDefault(file, "").contains("refuses it: bad"));
        node.bundles().stop(GATE);
        Path other = copyToWatched(good("org.acme.good"), "good.jar");
        Waits.until(
                "the wait",
                () -> node.host.refusedFiles().getOrDefault(other, "").contains("is away"));
        node.bundles().start(GATE);
        Waits.until(
                "its installation",
                () -> node.bundles().installed("org.acme.good").isPresent());
        assertThat(node.bundles().installed("org.acme.bad")).isEmpty();
    }

    @Test
    void decidesAboutAllThatLiesBesideItWhenTheNodeStarts() throws Exception {
        node.close();
        Files.copy(bad("1.0.0"), node.watched.resolve("bad.jar")); // by name before the policy
        Files.copy(gate("1.0.0", DENY_BAD).build(), node.watched.resolve("z-gate.jar"));
        restart();
        assertThat(node.host.refusedFiles())
                .hasEntrySatisfying(
                        node.watched.resolve("bad.jar"), why -> assertThat(why).contains("refuses it: bad"));
        assertThat(node.bundles().installed("org.acme.bad")).isEmpty();
    }

    @Test
    void isNotAskedAboutWhatWasInstalledBefore() throws Exception {
        node.bundles().install(bad("1.0.0"));
        node.bundles()
                .install(gate("1.0.0", "return Decision.deny(\"nothing\");").build());
        restart();
        assertThat(runningVersion("org.acme.bad")).isEqualTo("1.0.0");
        assertRefused(bad("1.1.0"), Reason.NOT_ALLOWED, "refuses it: nothing");
    }

    @Test
    void isRequiredWhenItDoesNotStartWithTheNode() throws Exception {
        node.close();
        Path file = node.watched.resolve("gate.jar");
        Files.copy(
                gate("1.0.0", DENY_BAD)
                        .header("Import-Package", "org.acme.missing,*")
                        .build(),
                file);
        restart();
        assertRefused(bad("1.0.0"), Reason.POLICY_AWAY, GATE + " 1.0.0 is away");
    }

    @Test
    void allowsTheSignersOfItsSettings() throws Exception {
        SigningKeys keys = new SigningKeys(directory, List.of("vendor", "other"));
        byte[] digest = MessageDigest.getInstance("SHA-256")
                .digest(keys.certificate("vendor").getEncoded());
        Files.writeString(
                node.conf.resolve("org.acme.signed.SignedBundlesPolicy.cfg"),
                "certificates = 00, " + HexFormat.of().formatHex(digest) + "\n");
        String source = Files.readString(
                Path.of("../examples/extensions/src/main/java/org/acme/signed/SignedBundlesPolicy.java"));
        Path policy = forge.bundle(GATE, "1.0.0")
                .library("org.acme.signed", "SignedBundlesPolicy", source.substring(source.indexOf("import")))
                .header("-privatepackage", "org.acme.signed")
                .build();
        restart(); // with its settings
        node.bundles().install(policy);
        Path signed = directory.resolve("signed.jar");
        assertRefused(bad("1.0.0"), Reason.NOT_ALLOWED, "the jar is not signed");
        keys.sign(bad("1.0.0"), signed, "other");
        assertRefused(signed, Reason.NOT_ALLOWED, "none of its signers is among the certificates");
        keys.sign(bad("1.0.0"), signed, "vendor");
        node.bundles().install(signed);
    }
}
