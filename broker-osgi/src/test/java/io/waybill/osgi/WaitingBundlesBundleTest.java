package io.waybill.osgi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.Value;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.admin.BundleInfo.State;
import io.waybill.osgi.jar.BundleRefusedException;
import io.waybill.testing.core.Waits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Bundles that lack something, until it comes. */
@Timeout(120)
class WaitingBundlesBundleTest {

    @TempDir
    Path directory;

    private BundleForge forge;
    private TestNode node;

    @BeforeEach
    void startNode() throws Exception {
        forge = new BundleForge(Files.createDirectories(directory.resolve("forge")));
        node = new TestNode(directory.resolve("node"));
    }

    @AfterEach
    void stopNode() {
        node.close();
    }

    private void restart() throws Exception {
        node.close();
        node = new TestNode(directory.resolve("node"));
    }

    private Map<String, State> states() {
        return node.bundles().list().stream()
                .filter(bundle -> bundle.kind() == BundleInfo.Kind.HANDLER)
                .collect(Collectors.toMap(BundleStatus::symbolicName, BundleStatus::state));
    }

    private void assertAllActive(String... names) {
        Waits.until(
                "all are active",
                () -> states().keySet().equals(Set.of(names))
                        && states().values().stream().allMatch(State.ACTIVE::equals));
    }

    private void assertResponds(String text) {
        Waits.until(
                "it responds with " + text,
                () -> node.entry("text.count") != null
                        && node.callAsync("text.count", Map.of())
                                .handle((outbox, failure) ->
                                        failure == null && outbox.value().equals(Value.of(text)))
                                .join());
    }

    private void drop(Path jar) throws Exception {
        Path hidden = node.watched.resolve("." + jar.getFileName());
        Files.copy(jar, hidden, StandardCopyOption.REPLACE_EXISTING);
        Files.move(hidden, node.watched.resolve(jar.getFileName()), StandardCopyOption.ATOMIC_MOVE);
    }

    /** It publishes an X, and handles text.count as soon as there is a Y. */
    private Path needingY(String version) throws Exception {
        return forge.bundle("org.acme.a", version)
                .library("org.lib", "X", "public interface X { }")
                .library("org.lib", "Y", "public interface Y { String text(); }")
                .header("Export-Package", "org.lib;version=1.0.0")
                .source("A1", "@Component public final class A1 implements org.lib.X { }")
                .source("A2", """
                        @Component @HandlesMessage("text.count") public final class A2 implements MessageHandler {
                            private final org.lib.Y y;
                            @Activate public A2(@Reference org.lib.Y y) { this.y = y; }
                            public void handle(Message m, Outbox outbox) { outbox.respond(Value.of(y.text())); }
                        }
                        """)
                .build();
    }

    /** It needs an X, and the package with it, and publishes a Y. */
    private Path needingX() throws Exception {
        return forge.bundle("org.acme.b", "1.0.0")
                .library("org.lib", "X", "public interface X { }")
                .library("org.lib", "Y", "public interface Y { String text(); }")
                .header("Import-Package", "org.lib;version=\"[1.0,2)\",*")
                .source("B1", """
                        @Component public final class B1 implements org.lib.Y {
                            @Activate public B1(@Reference org.lib.X x) { }
                            public String text() { return "both"; }
                        }
                        """)
                .build();
    }

    @Test
    void needEachOthersServices() throws Exception {
        BundleStatus first = node.bundles().install(needingY("1.0.0"));
        assertThat(first.state()).isEqualTo(State.WAITING);
        assertThat(first.problem()).contains("acme.A2 needs a service that no bundle publishes: org.lib.Y");
        assertThat(node.host.notStarted()).hasSize(1);

        assertThat(node.bundles().install(needingX()).state()).isEqualTo(State.ACTIVE);
        assertAllActive("org.acme.a", "org.acme.b");
        assertResponds("both");
        Waits.until("none is left out", () -> node.host.notStarted().isEmpty());

        node.bundles().stop("org.acme.b");
        assertThat(states()).containsEntry("org.acme.a", State.WAITING);
        node.bundles().stop("org.acme.a");
        assertThat(node.bundles().start("org.acme.a").state()).isEqualTo(State.WAITING);
        assertThat(node.bundles().start("org.acme.b").state()).isEqualTo(State.ACTIVE);
        assertAllActive("org.acme.a", "org.acme.b");

        for (int i = 0; i < 2; i++) {
            restart();
            assertAllActive("org.acme.a", "org.acme.b");
            assertResponds("both");
            Waits.until("none is left out", () -> node.host.notStarted().isEmpty());
        }
    }

    @Test
    void needEachOthersServicesAndComeTogether() throws Exception {
        Path a = needingY("1.0.0");
        Path b = needingX();
        drop(b);
        drop(a);
        Waits.until("both are installed", () -> states().size() == 2);
        assertAllActive("org.acme.a", "org.acme.b");
        assertResponds("both");
        restart();
        assertResponds("both");
    }

    private Path exportingAndImporting(String name, String exported, String imported) throws Exception {
        return forge.bundle(name, "1.0.0")
                .library(
                        exported,
                        "Own",
                        "public class Own { public static String text() { return \"" + name + "\"; } }")
                .library(imported, "Own", "public class Own { public static String text() { return \"?\"; } }")
                .header("Export-Package", exported + ";version=1.0.0")
                .header("Import-Package", imported + ";version=\"[1.0,2)\",*")
                .handler(
                        "H" + exported,
                        "\"text." + exported + "\"",
                        "outbox.respond(Value.of(" + imported + ".Own.text()));")
                .build();
    }

    @Test
    void needEachOthersPackages() throws Exception {
        BundleStatus first = node.bundles().install(exportingAndImporting("org.acme.a", "liba", "libb"));
        assertThat(first.state()).isEqualTo(State.WAITING);
        assertThat(first.problem())
                .contains(
                        "org.acme.a 1.0.0 does not resolve: needs package libb [1.0.0,2.0.0): no bundle exports it; install the"
                                + " bundle that exports it, or build this one with -conditionalpackage: libb to take the library along,"
                                + " or with Import-Package: libb;resolution:=optional, * if it can do without");
        BundleStatus second = node.bundles().install(exportingAndImporting("org.acme.b", "libb", "liba"));
        assertThat(second.state()).isEqualTo(State.ACTIVE);
        assertAllActive("org.acme.a", "org.acme.b");

        restart();
        assertAllActive("org.acme.a", "org.acme.b");
        assertThat(node.call("text.liba", Map.of()).value().toString()).contains("org.acme.b");
    }

    private Path runtime() throws Exception {
        return forge.bundle("org.acme.z-runtime", "1.0.0")
                .library("org.lib", "Lib", "public class Lib { public static String text() { return \"lib\"; } }")
                .header("-privatepackage", "none")
                .header("Export-Package", "org.lib;version=1.0.0")
                .build();
    }

    private Path user(String version) throws Exception {
        return forge.bundle("org.acme.a-user", version)
                .library("org.lib", "Lib", "public class Lib { public static String text() { return \"own\"; } }")
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(org.lib.Lib.text()));")
                .header("Import-Package", "org.lib;version=\"[1.0,2)\",*")
                .build();
    }

    @Test
    void areThereAfterARestartWhateverTheirNames() throws Exception {
        node.bundles().install(runtime());
        node.bundles().install(user("1.0.0"));
        for (int i = 0; i < 3; i++) {
            restart();
            assertAllActive("org.acme.a-user", "org.acme.z-runtime");
            assertResponds("lib");
            Waits.until("none is left out", () -> node.host.notStarted().isEmpty());
        }
    }

    @Test
    void waitWhenWhatTheyNeedIsRemovedAndStartWhenItIsBack() throws Exception {
        node.bundles().install(runtime());
        node.bundles().install(user("1.0.0"));

        node.bundles().uninstall("org.acme.z-runtime");
        assertThat(states()).containsExactly(Map.entry("org.acme.a-user", State.WAITING));
        assertThat(node.entry("text.count")).isNull();
        assertThat(node.bundles().list().toString())
                .contains("needs package org.lib [1.0.0,2.0.0): no bundle exports it");
        assertThat(node.bundles().install(user("1.1.0")).state())
                .as("one that waits may be replaced by another that waits")
                .isEqualTo(State.WAITING);

        drop(runtime());
        Waits.until("it is back", () -> node.entry("text.count") != null);
        assertAllActive("org.acme.a-user", "org.acme.z-runtime");
        assertResponds("lib");
    }

    @Test
    void doNotTakeThePlaceOfOneThatServes() throws Exception {
        node.bundles().install(forge.responding("org.acme.a-user", "0.9.0", "old"));
        assertThatExceptionOfType(BundleRefusedException.class)
                .isThrownBy(() -> node.bundles().install(user("1.0.0")))
                .withMessageContaining("needs package org.lib");
        assertResponds("old");
        drop(user("1.0.0"));
        Waits.until("it is refused", () -> !node.host.refusedFiles().isEmpty());
        assertResponds("old");

        node.bundles().install(runtime());
        assertResponds("lib"); // it came in with what it needed
        Waits.until("it is no longer refused", () -> node.host.refusedFiles().isEmpty());
    }

    private Path configured(String policy, String activate) throws Exception {
        return forge.bundle("org.acme.count", "1.0.0")
                .source("Count", """
                        @Component(configurationPid = "org.acme.Count", configurationPolicy = ConfigurationPolicy.%s)
                        @HandlesMessage("text.count")
                        public final class Count implements MessageHandler {
                            public @interface Config { int times() default 0; }
                            private final int times;
                            @Activate
                            public Count(Config config) { times = config.times(); %s }
                            public void handle(Message m, Outbox outbox) { outbox.respond(Value.of("" + times)); }
                        }
                        """.formatted(policy, activate))
                .build();
    }

    private void configure(String text) throws Exception {
        Files.writeString(node.conf.resolve("org.acme.Count.cfg"), text);
    }

    @Test
    void startWithTheConfigurationThatComesAfterThem() throws Exception {
        Path jar = configured("REQUIRE", "");
        for (boolean byCommand : List.of(true, false)) {
            if (byCommand) {
                assertThat(node.bundles().install(jar).problem())
                        .contains("acme.Count needs a configuration: conf/org.acme.Count.cfg");
            } else {
                drop(jar);
            }
            Waits.until("it waits", () -> states().containsValue(State.WAITING));
            configure("times = 2\n");
            Waits.until("it has its configuration", () -> states().containsValue(State.ACTIVE));
            assertResponds("2");
            Files.delete(node.conf.resolve("org.acme.Count.cfg"));
            Waits.until("it waits again", () -> states().containsValue(State.WAITING));
            node.bundles().uninstall("org.acme.count");
        }
    }

    @Test
    void areTriedAgainWithAConfigurationThatTheyThrewWithout() throws Exception {
        drop(configured(
                "OPTIONAL", "if (times < 1) { throw new IllegalArgumentException(\"times must be above 0\"); }"));
        Waits.until("it is refused", () -> node.host.refusedFiles().toString().contains("times must be above 0"));
        configure("times = 3\n");
        Waits.until("it is installed", () -> states().containsValue(State.ACTIVE));
        assertResponds("3");
        Waits.until("it is no longer refused", () -> node.host.refusedFiles().isEmpty());

        node.bundles().uninstall("org.acme.count");
        node.bundles().install(node.watched.resolve("org.acme.count-1.jar"));
        configure("times = 0\n");
        restart();
        assertThat(node.host.notStarted().toString() + node.host.refusedFiles()).contains("times must be above 0");
        configure("times = 4\n");
        Waits.until("it is started", () -> states().containsValue(State.ACTIVE));
        assertResponds("4");
        Waits.until("it is not left out", () -> node.host.notStarted().isEmpty());
    }

    private BundleForge.Draft withLibraryOfAnotherPlatform() {
        return forge.bundle("org.acme.count", "1.0.0")
                .library("android.os", "Build", "public class Build { public static String name() { return \"a\"; } }")
                .library("org.lib", "Lib", """
                        public class Lib {
                            public static String text() {
                                try { return android.os.Build.name(); } catch (NoClassDefFoundError e) { return "none"; }
                            }
                        }
                        """)
                .header("-conditionalpackage", "org.lib.*")
                .handler("Count", "\"text.count\"", "outbox.respond(Value.of(org.lib.Lib.text()));");
    }

    @Test
    void saysHowToBuildABundleWithALibraryThatUsesPackagesOfOtherPlatforms() throws Exception {
        BundleStatus waiting =
                node.bundles().install(withLibraryOfAnotherPlatform().build());
        assertThat(waiting.state()).isEqualTo(BundleInfo.State.WAITING);
        assertThat(waiting.problem().orElse(""))
                .contains("needs package android.os: no bundle exports it; if a library inside the bundle can do"
                        + " without, build it with Import-Package: android.os;resolution:=optional, *");

        node.bundles()
                .install(withLibraryOfAnotherPlatform()
                        .header("Import-Package", "android.os;resolution:=optional, *")
                        .build());
        assertThat(node.response()).isEqualTo("none");
    }

    /** As a project of the archetype is built. */
    @Test
    void runsABundleWhoseBuildHasTheLineOfTheArchetype() throws Exception {
        String pom = Files.readString(Path.of("../bundle-archetype/src/main/resources/archetype-resources/pom.xml"));
        Matcher line = Pattern.compile("Import-Package: (.*?\\*)\n +-fixup", Pattern.DOTALL)
                .matcher(pom);
        assertThat(line.find()).isTrue();
        node.bundles()
                .install(withLibraryOfAnotherPlatform()
                        .header("Import-Package", line.group(1).replaceAll("\\\\\\s+", ""))
                        .build());
        assertThat(node.response()).isEqualTo("none");
    }
}
