package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.IdTakenException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.error.NameTakenException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.Host;
import io.waybill.host.NativeCallException;
import io.waybill.host.SafeFiles;
import io.waybill.host.UnsafeFileException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Directory that a group of workers share. It must be private: mode 0700 and owned by the user that opens it.
 *
 * <p><b>Threads.</b> Immutable; all operations are safe among threads and among processes. <b>Errors.</b>
 * {@link HomeException} when the home is not usable, {@link UnsafeFileException} when something in it is not what it
 * must be.
 */
public final class Home {
    /** Roll cycle of the journals in a home that names none. */
    public static final String ROLL_CYCLE_DEFAULT = "MINUTELY";

    static final String CLAIMS = "claims";
    static final String PRESENT = "present";
    private static final int MAX_TRIES = 8;

    private final Path path;
    private final Host host;
    private final HomeProperties properties;
    private final String propertiesProblem;
    private final Claims claims;

    private Home(Path path, Host host, HomeProperties properties) {
        this(path, host, properties, "");
    }

    private Home(Path path, Host host, HomeProperties properties, String propertiesProblem) {
        this.path = path;
        this.propertiesProblem = propertiesProblem;
        this.host = host;
        this.properties = properties;
        this.claims = new Claims(claimsPath(), host.files(), properties.identity());
    }

    /** Opens a home; creates it, and the directories above it, when it does not exist. */
    public static Home open(Path path, Host host) throws IOException {
        return open(path, host, ROLL_CYCLE_DEFAULT);
    }

    /**
     * Opens a home; creates it when it does not exist.
     *
     * @param rollCycle roll cycle of a new home; an existing one keeps its own
     */
    public static Home open(Path path, Host host, String rollCycle) throws IOException {
        return open(path, host, rollCycle, HomeIdentity.LOCAL);
    }

    /**
     * Opens a home; creates it when it does not exist.
     *
     * @param rollCycle roll cycle of a new home; an existing one keeps its own
     * @param identity identity of a new home; an existing one keeps its own
     */
    public static Home open(Path path, Host host, String rollCycle, HomeIdentity identity) throws IOException {
        HomeProperties wanted = new HomeProperties(rollCycle, HomeProperties.UNKNOWN, identity);
        Path home = path.toAbsolutePath().normalize();
        SafeFiles files = host.files();
        try {
            files.requireDistinctOwner();
            files.requireOwnLinks(home); // before anything is created behind a link
            HomePlace.createWithParents(home, files);
            home = requireDirectory(home, host);
            HomePlace.requireWritable(home, files);
            if (!Files.exists(home.resolve(HomeProperties.FILE), LinkOption.NOFOLLOW_LINKS)) {
                HomePlace.requireNothingElse(home, files);
                files.createAtomically(home.resolve(HomeProperties.FILE), wanted.toBytes(files.inode(home)));
            }
            // another version's home is left as it is
            HomeProperties found = HomeProperties.read(home, files);
            files.createPrivateDirectory(home.resolve(CLAIMS));
            files.createPrivateDirectory(home.resolve("workers"));
            files.createPrivateDirectory(home.resolve(PRESENT));
            return new Home(home, host, found);
        } catch (UnsafeFileException | HomeException e) {
            throw e;
        } catch (IOException e) {
            throw new HomeException("home " + home + " can't be opened or made: " + e, e);
        }
    }

    /** Opens an existing home, and changes nothing in it; for tools that only read. */
    public static Home openExisting(Path path, Host host) throws IOException {
        Path home = requireDirectory(path, host);
        if (!Files.exists(home.resolve(HomeProperties.FILE), LinkOption.NOFOLLOW_LINKS)) {
            throw new HomeException("no home at " + path + ": it has no " + HomeProperties.FILE);
        }
        return new Home(home, host, HomeProperties.read(home, host.files()));
    }

    /**
     * Reads a home as {@link #open} does, and creates nothing. Returns the home; empty when there is none, and
     * {@link #open} would try to create it.
     */
    public static Optional<Home> look(Path path, Host host) throws IOException {
        SafeFiles files = host.files();
        files.requireOwnLinks(path);
        if (!Files.exists(path)) {
            return Optional.empty();
        }
        Path home = requireDirectory(path, host);
        HomePlace.requireWritable(home, files);
        if (!Files.exists(home.resolve(HomeProperties.FILE), LinkOption.NOFOLLOW_LINKS)) {
            HomePlace.requireNothingElse(home, files);
            return Optional.empty();
        }
        return Optional.of(new Home(home, host, HomeProperties.read(home, files)));
    }

    /**
     * Checks the directory of an existing home: the links to it, its owner, and that it is private. Returns its real
     * path.
     */
    private static Path requireDirectory(Path path, Host host) throws IOException {
        SafeFiles files = host.files();
        files.requireOwnLinks(path);
        Path home;
        try {
            home = path.toRealPath();
        } catch (NoSuchFileException e) {
            throw new HomeException("no home at " + path, e);
        }
        HomePlace.requireOwner(home, files);
        return files.requirePrivateDirectory(home);
    }

    /**
     * Opens an existing home that may be damaged, like {@link #openExisting}; {@link #propertiesProblem()} returns a
     * problem of its properties.
     */
    public static Home openDamaged(Path path, Host host) throws IOException {
        try {
            return openExisting(path, host);
        } catch (UnsafeFileException | MalformedHomeFileException e) {
            return damaged(requireDirectory(path, host), host, e);
        } catch (HomeException e) {
            Path home = requireDirectory(path, host);
            if (!Files.isDirectory(home.resolve("workers"), LinkOption.NOFOLLOW_LINKS)) {
                throw e;
            }
            return damaged(home, host, e);
        }
    }

    private static Home damaged(Path home, Host host, IOException problem) {
        HomeProperties assumed = new HomeProperties(ROLL_CYCLE_DEFAULT, HomeProperties.UNKNOWN, HomeIdentity.LOCAL);
        return new Home(home, host, assumed, String.valueOf(problem.getMessage()));
    }

    /** Returns why the home's properties can't be read; empty text when they can. */
    public String propertiesProblem() {
        return propertiesProblem;
    }

    public Path path() {
        return path;
    }

    public Host host() {
        return host;
    }

    /** Returns the name of the roll cycle that all journals of this home use. */
    public String rollCycle() {
        return properties.rollCycle();
    }

    /** Returns the host's name and the range of the worker ids. */
    public HomeIdentity identity() {
        return properties.identity();
    }

    /**
     * Returns the number of hard links of the home's files: more than one while there is a snapshot that shares them.
     */
    public int hardLinks() throws IOException {
        return host.files().hardLinks(path.resolve(HomeProperties.FILE));
    }

    /** Returns whether the home is a copy of hard links to another one, which may be read and not joined. */
    public boolean isLinkedCopy() throws IOException {
        return HomePlace.isLinkedCopy(path, properties, host.files());
    }

    /** Returns the directory of the workers' directories. */
    public Path workersPath() {
        return path.resolve("workers");
    }

    /** Returns the directory of a worker, whether it exists or not. */
    public Path workerPath(WorkerInfo worker) {
        return workersPath().resolve(worker.id() + "-" + worker.name());
    }

    /** Returns the directory of the claims of names and ids. */
    public Path claimsPath() {
        return path.resolve(CLAIMS);
    }

    /** Returns the directory with an empty file for each worker that joined and has not left in order. */
    public Path presentPath() {
        return path.resolve(PRESENT);
    }

    /** Returns the file that shows that a worker is present. */
    Path presentPath(WorkerInfo worker) {
        return presentPath().resolve(worker.id() + "-" + worker.name());
    }

    /**
     * Marks a worker as present, and shows a change of its {@code worker.json} to processes that scan or watch the
     * home.
     */
    void markPresent(WorkerInfo worker) throws IOException {
        host.files().openOwn(presentPath(worker)).close();
        long now = host.clock().wallNs();
        host.files().tree().touch(workersPath(), now);
        host.files().tree().touch(presentPath(), now);
        host.files().tree().touch(presentPath(worker), now);
    }

    /** Returns the id of a name that ever joined. */
    public Optional<Integer> idOf(String name) throws IOException {
        return claims.idOf(WorkerInfo.requireName(name));
    }

    /**
     * Exempts a worker from the retention of the other workers: they no longer keep what it has not read. The exemption
     * ends when it joins again.
     */
    public void forget(Peer worker) throws IOException {
        claims.forget(worker.id(), worker.epoch());
    }

    /** Returns whether this incarnation of a worker was exempted by {@link #forget}. */
    public boolean isForgotten(Peer worker) throws IOException {
        return claims.isForgotten(worker.id(), worker.epoch());
    }

    /** Joins with {@link JoinOptions#defaults()}. */
    public WorkerDirectory join(String name) throws IOException {
        return join(name, JoinOptions.defaults());
    }

    /**
     * Joins under a name, with its permanent id, unless a live worker has the name.
     *
     * @throws IllegalArgumentException when the name breaks the rules of {@link WorkerInfo}
     * @throws NameTakenException when a live worker has it
     * @throws IdTakenException when the wanted id belongs to another name
     * @throws HomeException when the home is a copy of hard links to another one
     */
    public WorkerDirectory join(String name, JoinOptions options) throws IOException {
        WorkerInfo.requireName(name);
        HomePlace.requireJoinable(path, properties, host.files());
        try {
            for (int tries = 0; tries < MAX_TRIES; tries++) {
                completeRemoval(name, options.lockWaitNs());
                Optional<WorkerDirectory> joined = tryJoin(name, options, tries == MAX_TRIES - 1);
                if (joined.isPresent()) {
                    return joined.get();
                }
            }
            throw new HomeException("worker " + name + " can't join " + path + ": it was removed " + MAX_TRIES
                    + " times meanwhile; try again");
        } catch (FileSystemException | NativeCallException e) {
            if (!Files.isWritable(path)) {
                throw new HomeException("home " + path + " is not writable: " + e, e);
            }
            throw e;
        }
    }

    private Optional<WorkerDirectory> tryJoin(String name, JoinOptions options, boolean isLast) throws IOException {
        boolean isNew = claims.idOf(name).isEmpty();
        int id;
        try {
            id = claims.claim(name, options.id());
        } catch (MalformedHomeFileException e) {
            if (isLast) {
                throw e;
            }
            return Optional.empty(); // the worker was removed between two reads
        }
        Optional<WorkerDirectory> joined = WorkerDirectory.join(this, new WorkerInfo(id, name), options);
        if (joined.isPresent()) {
            joined.get().named(isNew);
        }
        return joined;
    }

    /** Completes a removal of the name whose process ended before it was complete. */
    private void completeRemoval(String name, long waitNs) throws IOException {
        Optional<Integer> id = claims.idOf(name);
        if (id.isPresent() && !claims.isClaimed(new WorkerInfo(id.get(), name))) {
            WorkerInfo former = new WorkerInfo(id.get(), name);
            if (claims.isFreed(former) && !new Removal(this).complete(former, waitNs)) {
                claims.freeName(former);
            }
        }
    }

    /** Returns whether no worker has an id: it was never assigned, or its worker was removed. */
    public boolean isFree(int id) throws IOException {
        return claims.nameOf(id).isEmpty();
    }

    Claims claims() {
        return claims;
    }

    /** Returns every name with an id, as far as both claims agree; reports the others. */
    public Map<String, Integer> claimed(Consumer<String> problems) throws IOException {
        return claims.all(problems);
    }

    /** Assigns a name the id that it has in another home. */
    public void claim(WorkerInfo worker) throws IOException {
        claims.claim(worker.name(), worker.id());
    }

    /**
     * Joins in the name of a worker that ran in another home, so that its next incarnation here follows its last one
     * there.
     *
     * @param epoch epoch of its last incarnation; 0 when unknown
     */
    public WorkerDirectory restore(WorkerInfo worker, long epoch) throws IOException {
        claim(worker);
        Path directory = host.files().createPrivateDirectory(workerPath(worker));
        Optional<OwnerLock> lock = OwnerLock.take(directory, host.files());
        if (lock.isEmpty()) {
            throw new NameTakenException(worker.name(), 0, directory + " belongs to a process that is there");
        }
        try (OwnerLock taken = lock.get()) {
            taken.writeEpoch(Math.max(0, epoch - 1));
        }
        return join(worker.name(), JoinOptions.defaults().withId(worker.id()));
    }
}
