package io.waybill;

import com.tngtech.archunit.core.domain.AccessTarget.CodeUnitAccessTarget;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnitAccess;
import java.io.File;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiPredicate;

/**
 * What the core may get from its host alone: time, chance, threads, processes, files and settings. Sees calls, constructors, and references
 * to both, in lambdas too. {@link FileUsers} says which classes look at, open or change files by themselves.
 */
final class HostRules {

    private static final Set<String> ANY = Set.of();
    private static final String NEW = "<init>";

    private static final Set<String> LOOKS = Set.of(
            "exists",
            "notExists",
            "isDirectory",
            "isRegularFile",
            "isSymbolicLink",
            "isSameFile",
            "isReadable",
            "isWritable",
            "isExecutable",
            "isHidden",
            "size",
            "getLastModifiedTime",
            "getOwner",
            "getPosixFilePermissions",
            "getAttribute",
            "readAttributes",
            "getFileAttributeView",
            "getFileStore",
            "readSymbolicLink",
            "probeContentType");

    private static final Set<String> OPENS = Set.of(
            "newByteChannel",
            "newInputStream",
            "newBufferedReader",
            "readAllBytes",
            "readAllLines",
            "readString",
            "lines",
            "list",
            "walk",
            "find",
            "mismatch",
            "walkFileTree",
            "newDirectoryStream");

    /**
     * Code that only some classes may use.
     *
     * @param owner the class that it is of, or its package, with a dot
     * @param methods their names; empty for all
     * @param which of these; by the target and its parameters
     * @param users who may, by their simple names or packages
     * @param instead what everybody else uses
     */
    private record Rule(
            String owner,
            Set<String> methods,
            BiPredicate<CodeUnitAccessTarget, List<JavaClass>> which,
            Set<String> users,
            String instead) {

        boolean forbids(JavaCodeUnitAccess<?> access) {
            CodeUnitAccessTarget target = access.getTarget();
            return isOwnedBy(target.getOwner())
                    && (methods.isEmpty() || methods.contains(target.getName()))
                    && which.test(target, target.getRawParameterTypes())
                    && users.stream()
                            .noneMatch(user ->
                                    HostRules.isOf(user, access.getOriginOwner().getName()));
        }

        private boolean isOwnedBy(JavaClass found) {
            return owner.endsWith(".")
                    ? found.getName().startsWith(owner)
                    : found.getName().equals(owner);
        }
    }

    private static final List<Rule> RULES = rules();

    private HostRules() {}

    private static List<Rule> rules() {
        List<Rule> rules = new ArrayList<>();
        time(rules);
        chance(rules);
        threads(rules);
        waits(rules);
        processes(rules);
        files(rules);
        settings(rules);
        return List.copyOf(rules);
    }

    private static void time(List<Rule> rules) {
        String instead = "the host's Clock";
        // SafeFiles makes names of temporary files with it, which must differ among pid namespaces
        Set<String> users = Set.of("HostClock", "SafeFiles");
        add(rules, "java.lang.System", Set.of("nanoTime", "currentTimeMillis"), users, instead);
        add(rules, "java.time.", Set.of("now"), Set.of(), instead);
        add(rules, "java.time.Clock", ANY, Set.of(), instead);
        add(rules, "java.time.InstantSource", Set.of("system"), Set.of(), instead);
        add(rules, "java.util.Calendar", Set.of("getInstance"), Set.of(), instead);
        withoutParameters(rules, "java.util.GregorianCalendar", NEW, instead);
        withoutParameters(rules, "java.util.Date", NEW, instead);
    }

    private static void chance(List<Rule> rules) {
        String instead = "a generator with a seed";
        add(rules, "java.lang.Math", Set.of("random"), Set.of(), instead);
        add(rules, "java.lang.StrictMath", Set.of("random"), Set.of(), instead);
        add(rules, "java.util.concurrent.ThreadLocalRandom", ANY, Set.of(), instead);
        add(rules, "java.security.SecureRandom", ANY, Set.of(), instead);
        add(rules, "java.util.UUID", Set.of("randomUUID"), Set.of(), instead);
        add(rules, "java.util.random.RandomGenerator", Set.of("getDefault", "of"), Set.of(), instead);
        add(rules, "java.util.random.RandomGeneratorFactory", ANY, Set.of(), instead);
        withoutParameters(rules, "java.util.Random", NEW, instead);
        withoutParameters(rules, "java.util.SplittableRandom", NEW, instead);
        rules.add(new Rule(
                "java.util.Collections",
                Set.of("shuffle"),
                (target, parameters) -> parameters.size() == 1,
                Set.of(),
                instead));
    }

    private static void threads(List<Rule> rules) {
        String instead = "the host's Threads, or an executor that is told";
        add(rules, "java.lang.Thread", Set.of(NEW), Set.of("HostThreads"), instead);
        add(rules, "java.lang.Thread", Set.of("sleep"), Set.of(), instead);
        add(rules, "java.util.concurrent.TimeUnit", Set.of("sleep"), Set.of(), instead);
        for (String pool : List.of("Executors", "ForkJoinPool", "ForkJoinTask", "ThreadPoolExecutor", "Executor")) {
            String name = "java.util.concurrent." + pool;
            add(rules, name, pool.equals("Executor") ? Set.of("execute") : ANY, Set.of(), instead);
        }
        add(rules, "java.util.concurrent.ScheduledThreadPoolExecutor", ANY, Set.of(), instead);
        add(rules, "java.util.concurrent.SubmissionPublisher", ANY, Set.of(), instead);
        add(rules, "java.util.Timer", ANY, Set.of(), instead);
        add(rules, "java.lang.ref.Cleaner", Set.of("create"), Set.of(), instead);
        for (Class<?> future : List.of(CompletableFuture.class, CompletionStage.class)) {
            rules.add(new Rule(
                    future.getName(),
                    ANY,
                    (target, parameters) -> target.getName().endsWith("Async")
                            && parameters.stream()
                                    .noneMatch(type -> type.getName().equals("java.util.concurrent.Executor")),
                    Set.of(),
                    instead));
            Set<String> timed = Set.of("orTimeout", "completeOnTimeout", "delayedExecutor");
            add(rules, future.getName(), timed, Set.of(), instead);
        }
        for (String parallel :
                List.of("parallelStream", "parallel", "parallelSort", "parallelPrefix", "parallelSetAll")) {
            add(rules, "java.util.", Set.of(parallel), Set.of(), instead);
        }
    }

    /**
     * What blocks the calling thread, or repeats until another thread does something. {@code Future.get()} without a limit is not seen: it also
     * reads a result that is there.
     */
    private static void waits(List<Rule> rules) {
        String instead = "the host's Threads, which may run others meanwhile";
        Set<String> users = Waiters.all();
        add(rules, "java.util.concurrent.locks.LockSupport", ANY, users, instead);
        add(rules, "java.lang.Thread", Set.of("onSpinWait", "yield", "join"), users, instead);
        add(rules, "java.util.concurrent.TimeUnit", Set.of("timedJoin", "timedWait"), users, instead);
        add(rules, "java.lang.Object", Set.of("wait"), users, instead);
        rules.add(new Rule(
                "java.util.concurrent.locks.Condition",
                ANY,
                (target, parameters) -> target.getName().startsWith("await"),
                users,
                instead));
        add(rules, "java.util.concurrent.CountDownLatch", Set.of("await"), users, instead);
        for (String meeting : List.of("CyclicBarrier", "Phaser", "Exchanger")) {
            add(rules, "java.util.concurrent." + meeting, ANY, users, instead);
        }
        add(rules, "java.util.concurrent.Semaphore", Set.of("acquire", "acquireUninterruptibly"), users, instead);
        String any = "java.util.concurrent.";
        rules.add(new Rule(
                any,
                Set.of(
                        "take",
                        "put",
                        "poll",
                        "offer",
                        "pollFirst",
                        "pollLast",
                        "tryAcquire",
                        "tryLock",
                        "get",
                        "invokeAll"),
                HostRules::mayBlock,
                users,
                instead));
        for (String future : List.of("Future", "CompletableFuture", "FutureTask")) {
            add(rules, any + future, Set.of("join"), users, instead);
        }
        Set<String> keepers = Waiters.keepers();
        add(rules, "java.lang.ThreadLocal", Set.of(NEW, "withInitial"), keepers, instead);
        add(rules, "java.lang.InheritableThreadLocal", Set.of(NEW), keepers, instead);
    }

    /** With a limit in time; or without, of a queue or a future that is not asked first. */
    private static boolean mayBlock(CodeUnitAccessTarget target, List<JavaClass> parameters) {
        boolean isTimed = !parameters.isEmpty()
                && parameters.get(parameters.size() - 1).getName().equals("java.util.concurrent.TimeUnit");
        String owner = target.getOwner().getName();
        return isTimed
                || owner.contains("Blocking") && Set.of("take", "put").contains(target.getName())
                || owner.endsWith("SynchronousQueue");
    }

    private static void processes(List<Rule> rules) {
        String instead = "the host's Processes";
        for (String owner : List.of("ProcessBuilder", "ProcessHandle", "ProcessHandle$Info", "Process")) {
            add(rules, "java.lang." + owner, ANY, Set.of(), instead);
        }
        Set<String> runtime = Set.of("exec", "halt", "exit", "addShutdownHook", "load", "loadLibrary");
        add(rules, "java.lang.Runtime", runtime, Set.of(), instead);
        add(rules, "java.lang.System", Set.of("exit", "load", "loadLibrary"), Set.of(), instead);
        add(rules, "java.lang.management.", ANY, Set.of("HostProcesses"), instead);
    }

    private static void files(List<Rule> rules) {
        String instead = "the host's SafeFiles";
        for (String owner :
                List.of("RandomAccessFile", "FileInputStream", "FileOutputStream", "FileReader", "FileWriter")) {
            add(rules, "java.io." + owner, Set.of(NEW), Set.of(), instead);
        }
        for (String owner :
                List.of("java.io.PrintStream", "java.io.PrintWriter", "java.util.Scanner", "java.util.Formatter")) {
            rules.add(new Rule(owner, Set.of(NEW), (target, parameters) -> namesAFile(parameters), Set.of(), instead));
        }
        Set<String> opening = FileUsers.whoMay(FileUsers.Use.OPEN);
        add(rules, "java.util.zip.ZipFile", Set.of(NEW), opening, instead);
        add(rules, "java.util.jar.JarFile", Set.of(NEW), opening, instead);
        add(rules, "java.nio.channels.FileChannel", Set.of("open"), opening, instead);
        add(rules, "java.nio.channels.AsynchronousFileChannel", Set.of("open"), Set.of(), instead);
        Set<String> sockets = Set.of("open");
        add(rules, "java.nio.channels.SocketChannel", sockets, Set.of(), instead);
        add(rules, "java.nio.channels.ServerSocketChannel", sockets, Set.of(), instead);
        add(rules, "java.net.Socket", ANY, Set.of(), instead);
        add(rules, "java.net.ServerSocket", ANY, Set.of(), instead);
        add(rules, "java.net.URL", Set.of("openStream", "openConnection"), opening, instead);
        Set<String> names =
                Set.of("toPath", "getPath", "getName", "getAbsolutePath", "toString", NEW, "equals", "hashCode");
        rules.add(new Rule(
                File.class.getName(),
                ANY,
                (target, parameters) -> !names.contains(target.getName()),
                FileUsers.whoMay(FileUsers.Use.LOOK),
                instead));
        String files = "java.nio.file.Files";
        add(rules, files, LOOKS, FileUsers.whoMay(FileUsers.Use.LOOK), instead);
        add(rules, files, OPENS, opening, instead);
        rules.add(new Rule(
                files,
                ANY,
                (target, parameters) -> !LOOKS.contains(target.getName()) && !OPENS.contains(target.getName()),
                FileUsers.whoMay(FileUsers.Use.CHANGE),
                instead));
    }

    private static boolean namesAFile(List<JavaClass> parameters) {
        return !parameters.isEmpty()
                && Set.of("java.lang.String", "java.io.File", "java.nio.file.Path")
                        .contains(parameters.get(0).getName());
    }

    private static void settings(List<Rule> rules) {
        String instead = "settings that it is told";
        // Chronicle takes the order not to report usage in no other way; and the launcher says where RocksDB's library
        // lies, as it does to jffi; the flags of system calls depend on the architecture
        Set<String> users = Set.of("ChronicleFlags", "NativeCalls", "RocksLibrary");
        add(rules, "java.lang.System", Set.of("getProperty", "setProperty", "getProperties"), users, instead);
        add(rules, "java.lang.System", Set.of("getenv"), Set.of(), instead);
        for (Class<?> number : List.of(Boolean.class, Integer.class, Long.class)) {
            add(rules, number.getName(), Set.of("getBoolean", "getInteger", "getLong"), Set.of(), instead);
        }
    }

    private static void add(List<Rule> to, String owner, Set<String> methods, Set<String> users, String instead) {
        to.add(new Rule(owner, methods, (target, parameters) -> true, users, instead));
    }

    private static void withoutParameters(List<Rule> to, String owner, String method, String instead) {
        to.add(new Rule(owner, Set.of(method), (target, parameters) -> parameters.isEmpty(), Set.of(), instead));
    }

    /** Whether a class of ours has this simple name, is nested in one that has, or lies in this package when it ends with a dot. */
    static boolean isOf(String user, String className) {
        String simpleName = className.substring(className.lastIndexOf('.') + 1);
        return user.endsWith(".")
                ? className.startsWith(user)
                : className.startsWith("io.waybill.") && (simpleName.equals(user) || simpleName.startsWith(user + "$"));
    }

    /** What these classes use and may not, one line each, by name. */
    static Set<String> violations(JavaClasses classes) {
        Set<String> violations = new TreeSet<>();
        for (JavaClass type : classes) {
            for (JavaCodeUnitAccess<?> access : accesses(type)) {
                RULES.stream()
                        .filter(rule -> rule.forbids(access))
                        .findFirst()
                        .ifPresent(rule -> violations.add(access.getOrigin().getFullName() + " uses "
                                + access.getTarget().getFullName() + " in line " + access.getLineNumber()
                                + ", and takes " + rule.instead() + " instead"));
            }
        }
        return violations;
    }

    /** Calls and references of methods and constructors. */
    static Set<JavaCodeUnitAccess<?>> accesses(JavaClass type) {
        Set<JavaCodeUnitAccess<?>> all = new HashSet<>();
        all.addAll(type.getCodeUnitCallsFromSelf());
        all.addAll(type.getCodeUnitReferencesFromSelf());
        return all;
    }
}
