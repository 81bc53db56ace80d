package io.waybill;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnitAccess;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.waybill.journal.append.Journal;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packages are the architecture: who may use whom, and who alone may touch what. {@code docs/hacking/layout.md} explains it. */
@Timeout(120)
class ArchitectureTest {

    private static final String ROOT = "io.waybill.";

    /** For each package those of ours that it may use, besides itself. */
    private static final Map<String, List<String>> MAY_USE = new TreeMap<>(Map.ofEntries(
            Map.entry("api", List.of()),
            Map.entry("host", List.of()),
            Map.entry("wire", List.of("api")),
            Map.entry("home", List.of("api", "host")),
            Map.entry("journal", List.of("api", "host", "wire")),
            Map.entry("tensor", List.of("api", "host", "wire")),
            Map.entry("archive", List.of("api", "host", "journal", "tensor")),
            Map.entry("device", List.of("api", "host", "tensor")),
            Map.entry("event", List.of("api", "host")),
            Map.entry("dispatch", List.of("api", "host", "event")),
            Map.entry("intercept", List.of("api", "host", "dispatch")),
            Map.entry("handling", List.of("api", "host", "wire", "dispatch", "intercept", "event")),
            Map.entry("exchange", List.of("api", "host", "wire", "dispatch", "intercept", "handling")),
            Map.entry("rref", List.of("api", "host")),
            Map.entry("kept", List.of("api", "host", "rref")),
            Map.entry("injection", List.of("api")),
            Map.entry("broker", List.of("api", "host", "home", "dispatch")),
            Map.entry("testing", List.of("api")),
            Map.entry("tool", List.of("api", "host", "dispatch")),
            Map.entry(
                    "worker",
                    List.of(
                            "api",
                            "host",
                            "wire",
                            "home",
                            "journal",
                            "tensor",
                            "archive",
                            "device",
                            "event",
                            "dispatch",
                            "intercept",
                            "broker",
                            "handling",
                            "exchange",
                            "rref",
                            "kept",
                            "injection",
                            "tool")),
            Map.entry(
                    "query",
                    List.of("api", "host", "wire", "home", "journal", "tensor", "archive", "rref", "kept", "broker")),
            Map.entry(
                    "replay",
                    List.of(
                            "api",
                            "host",
                            "wire",
                            "home",
                            "journal",
                            "tensor",
                            "archive",
                            "device",
                            "dispatch",
                            "intercept",
                            "broker",
                            "handling",
                            "exchange",
                            "rref",
                            "kept",
                            "query",
                            "osgi")),
            Map.entry("salvage", List.of("api", "host", "wire", "home", "journal", "query", "kept", "broker")),
            Map.entry(
                    "osgi",
                    List.of(
                            "api",
                            "host",
                            "home",
                            "device",
                            "dispatch",
                            "intercept",
                            "broker",
                            "tool",
                            "event",
                            "query"))));

    /** The rooms of the worker, lowest first: each uses those before it, but recovery and upkeep know nothing of each other. */
    private static final List<String> ROOMS = List.of(
            "worker.metrics",
            "worker.poll",
            "worker.peer",
            "worker.publish",
            "worker.reference",
            "worker.call",
            "worker.serve",
            "worker.recover",
            "worker.upkeep");

    /** For each package that is divided, and each inner one: those of the same top-level package that it may use, besides itself. */
    private static final Map<String, List<String>> INNER_MAY_USE = new TreeMap<>(Map.ofEntries(
            Map.entry("host", List.of()),
            Map.entry("host.failure", List.of("host")),
            Map.entry("host.agent", List.of("host")),
            Map.entry("broker", List.of("broker.file")),
            Map.entry("broker.file", List.of()),
            Map.entry("home", List.of("home.cursor", "home.error", "home.identity")),
            Map.entry("home.cursor", List.of("home.error")),
            Map.entry("home.error", List.of()),
            Map.entry("home.identity", List.of()),
            Map.entry("home.note", List.of()),
            Map.entry("journal", List.of()),
            Map.entry("journal.format", List.of("journal")),
            Map.entry("journal.read", List.of("journal", "journal.format")),
            Map.entry("journal.check", List.of("journal", "journal.format", "journal.read")),
            Map.entry("journal.recover", List.of("journal", "journal.format", "journal.read", "journal.check")),
            Map.entry("journal.append", List.of("journal", "journal.format", "journal.read", "journal.recover")),
            Map.entry("journal.index", List.of("journal", "journal.read")),
            Map.entry("worker", ROOMS),
            Map.entry("worker.metrics", List.of()),
            Map.entry("worker.poll", List.of()),
            Map.entry("worker.peer", List.of("worker.metrics", "worker.poll")),
            Map.entry("worker.publish", ROOMS.subList(0, 3)),
            Map.entry("worker.reference", List.of("worker.peer")),
            Map.entry("worker.call", ROOMS.subList(0, 5)),
            Map.entry("worker.serve", ROOMS.subList(0, 6)),
            Map.entry("worker.recover", ROOMS.subList(1, 7)),
            Map.entry("worker.upkeep", ROOMS.subList(0, 7))));

    /** Public for the inner packages of the journal alone. */
    private static final Set<String> INSIDE_THE_JOURNAL = Set.of(
            "RollFile",
            "check.FileCheck",
            "format.ChronicleDocuments",
            "format.FileWindow",
            "format.Frame",
            "format.QueueBuilder",
            "format.RollFiles",
            "format.RollTime",
            "format.WireBytes",
            "read.RespondedIds",
            "read.LastRecord",
            "read.TableLock",
            "recover.BootMark");

    /** What only some packages may touch, with those that may. */
    private static final Map<String, List<String>> OUTSIDE = new TreeMap<>(Map.of(
            "net.openhft..", List.of("io.waybill.journal.."),
            "org.osgi.framework..", List.of("io.waybill.osgi.."),
            "org.apache.felix..", List.of("io.waybill.osgi.."),
            "org.objectweb.asm..", List.of("io.waybill.osgi.."),
            "org.rocksdb..", List.of("io.waybill.journal.index.."),
            "com.fasterxml.jackson..", List.of("io.waybill.home..", "io.waybill.replay.slice.."),
            "com.kenai.jffi..", List.of("io.waybill.host.."),
            "jnr..", List.of("io.waybill.host..")));

    private static final JavaClasses OURS =
            new ClassFileImporter().withImportOption(Repository.MAIN_CLASSES).importPackages("io.waybill");

    @Test
    void seesEveryPackage() {
        Set<String> found = new TreeSet<>();
        for (JavaClass type : OURS) {
            found.add(type.getPackageName().substring(ROOT.length()).split("\\.")[0]);
        }
        assertThat(found).isEqualTo(MAY_USE.keySet());
    }

    @Test
    void usesOnlyWhatEachPackageMayUse() {
        MAY_USE.forEach((name, allowed) -> {
            List<String> packages = new ArrayList<>(List.of(ROOT + name + ".."));
            allowed.forEach(other -> packages.add(ROOT + other + ".."));
            DescribedPredicate<JavaClass> ours = resideInAPackage("io.waybill..");
            DescribedPredicate<JavaClass> mine = resideInAnyPackage(packages.toArray(String[]::new));
            noClasses()
                    .that()
                    .resideInAPackage(ROOT + name + "..")
                    .should()
                    .dependOnClassesThat(ours.and(DescribedPredicate.not(mine)))
                    .because(name + " may use " + allowed)
                    .check(OURS);
        });
    }

    @Test
    void usesOnlyWhatEachInnerPackageMayUse() {
        INNER_MAY_USE.forEach((name, allowed) -> {
            List<String> packages = new ArrayList<>(List.of(ROOT + name));
            allowed.forEach(other -> packages.add(ROOT + other));
            DescribedPredicate<JavaClass> related = resideInAPackage(ROOT + name.split("\\.")[0] + "..");
            DescribedPredicate<JavaClass> mine = resideInAnyPackage(packages.toArray(String[]::new));
            noClasses()
                    .that()
                    .resideInAPackage(ROOT + name)
                    .should()
                    .dependOnClassesThat(related.and(DescribedPredicate.not(mine)))
                    .because(name + " may use " + allowed)
                    .check(OURS);
        });
    }

    @Test
    void keepsTheInsidesOfTheJournalToItself() {
        for (String type : INSIDE_THE_JOURNAL) {
            noClasses()
                    .that()
                    .resideOutsideOfPackage("io.waybill.journal..")
                    .should()
                    .dependOnClassesThat()
                    .haveFullyQualifiedName("io.waybill.journal." + type)
                    .check(OURS);
        }
    }

    @Test
    void hasNoCycles() {
        slices().matching("io.waybill.(*)..").should().beFreeOfCycles().check(OURS);
    }

    @Test
    void keepsTheApiToJavaAndAnnotations() {
        classes()
                .that()
                .resideInAPackage("io.waybill.api..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "io.waybill.api..",
                        "java..",
                        "org.osgi.annotation..",
                        "org.osgi.service.component.annotations..")
                .check(OURS);
    }

    @Test
    void keepsEachLibraryToItsPackage() {
        OUTSIDE.forEach((library, mayTouch) -> noClasses()
                .that()
                .resideOutsideOfPackages(mayTouch.toArray(String[]::new))
                .should()
                .dependOnClassesThat()
                .resideInAPackage(library)
                .check(OURS));
    }

    @Test
    void leavesTheInsidesOfChronicleAlone() {
        noClasses()
                .should()
                .dependOnClassesThat(resideInAnyPackage("net.openhft..impl..", "net.openhft..internal..")
                        .and(DescribedPredicate.not(belongToAnyOf(SingleChronicleQueueBuilder.class))))
                .because("they change without notice; the builder alone has no public face")
                .check(OURS);
    }

    /** What fails behind the append of a message is contained there, and in no second place. */
    @Test
    void appendsMessagesInOnePlace() {
        Set<String> appending = new TreeSet<>();
        for (JavaClass type : OURS) {
            for (JavaCodeUnitAccess<?> access : HostRules.accesses(type)) {
                if (access.getTargetOwner().isEquivalentTo(Journal.class)
                        && access.getTarget().getName().equals("append")) {
                    appending.add(type.getSimpleName());
                }
            }
        }
        assertThat(appending).as("classes that append to a worker's queue").containsExactly("QueueAppender");
    }

    @Test
    void neverMakesObjectsOfData() {
        noClasses()
                .should()
                .dependOnClassesThat(belongToAnyOf(ObjectInputStream.class, ObjectOutputStream.class))
                .because("nothing that is read names a class")
                .check(OURS);
        noClassCalls(Class.class, Set.of("forName"));
        noClassCalls(ClassLoader.class, Set.of("loadClass", "defineClass", "findClass"));
    }

    @Test
    void describesEveryPackage() {
        Path root = Repository.root();
        List<String> missing = Repository.sourceDirectories(root).stream()
                .filter(directory ->
                        !directory.resolve("package-info.java").toFile().isFile())
                .map(directory -> root.relativize(directory).toString())
                .toList();
        assertThat(missing).as("packages without a package-info.java").isEmpty();
    }

    /** Nobody calls these methods, or refers to them. */
    private static void noClassCalls(Class<?> owner, Set<String> methods) {
        List<String> calls = new ArrayList<>();
        for (JavaClass type : OURS) {
            for (JavaCodeUnitAccess<?> access : HostRules.accesses(type)) {
                if (access.getTargetOwner().isEquivalentTo(owner)
                        && methods.contains(access.getTarget().getName())) {
                    calls.add(access.getDescription());
                }
            }
        }
        assertThat(calls).as("uses of %s.%s", owner.getSimpleName(), methods).isEmpty();
    }
}
