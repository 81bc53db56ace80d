package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.cursor.FileStamp;
import io.waybill.home.cursor.StoredCursors;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.IdTakenException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.identity.HomeIdentity;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Assigns ids to names, without a registry that needs a lock: each claim is a symbolic link, which only one process can
 * create, and its text is the claim.
 *
 * <p>{@code id-<n>} is created first, {@code name-<name>} second. From then on both are permanent, until the worker is
 * removed. {@code joining-<name>} names the id meanwhile: a name whose second claim is missing after a crash reuses its
 * first. Only the process that made an id's claim removes it, and only when the name turned out to have another id
 * already; so a claim that a name points to is never removed, except by {@link Removal}.
 *
 * <p>Removal creates {@code again-<n>}, the point at which the next owner of the id continues, and renames
 * {@code id-<n>} to {@code removed-<n>-<epoch>-<counter>}. Ids with neither {@code id-<n>} nor {@code again-<n>} were
 * never assigned; they are assigned first. They are searched by names, not in a listing, so that a join costs the same
 * for any number of earlier joins. Of the others, an id that no {@code cursors} file names is assigned again.
 *
 * <p><b>Threads.</b> Thread-safe, also among processes.
 */
final class Claims {
    static final int ANY_ID = -1;

    private static final int MAX_ENTRIES = 8 * (WorkerInfo.MAX_ID + 1);
    private static final Pattern ID_CLAIM = Pattern.compile("id-(0|[1-9][0-9]{0,4})");
    private static final String ID_CLAIM_PREFIX = "id-";
    private static final String FORGOTTEN = "forgotten-";
    private static final String NAME_CLAIM = "name-";
    private static final String AGAIN = "again-";
    private static final String JOINING = "joining-";
    private static final Pattern REMOVED = Pattern.compile("removed-(0|[1-9][0-9]{0,4})-([0-9]{1,18}-[0-9]{1,18})");
    private static final Pattern FORGOTTEN_CLAIM = Pattern.compile(FORGOTTEN + "(0|[1-9][0-9]{0,4})-([0-9]{1,18})");
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_:-]{1,127}");
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,4}");

    private final Path directory;
    private final SafeFiles files;
    private final HomeIdentity identity;

    Claims(Path directory, SafeFiles files, HomeIdentity identity) {
        this.directory = directory;
        this.files = files;
        this.identity = identity;
    }

    /** Returns the id of a name; empty when no worker ever joined under it. */
    Optional<Integer> idOf(String name) throws IOException {
        Path claim = nameClaim(name);
        Optional<String> text = files.readClaim(claim);
        return text.isEmpty() ? Optional.empty() : Optional.of(parseId(text.get(), claim));
    }

    /** Returns the name that has an id; empty when it is free. */
    Optional<String> nameOf(int id) throws IOException {
        return files.readClaim(idClaim(id));
    }

    /**
     * Assigns an id to a name: its present id or a new one.
     *
     * @param wantedId the wanted id, or {@link #ANY_ID}
     */
    int claim(String name, int wantedId) throws IOException {
        Optional<Integer> known = idOf(name);
        if (known.isPresent()) {
            return checked(name, known.get(), wantedId);
        }
        Claimed claimed = wantedId == ANY_ID ? claimAnyId(name) : claimId(name, wantedId);
        boolean named = files.createClaim(nameClaim(name), String.valueOf(claimed.id));
        files.remove(joining(name));
        if (named) {
            return claimed.id;
        }
        // another process was faster to join under this name
        Optional<Integer> winner = idOf(name);
        if (winner.isEmpty()) { // and the worker was removed already
            return claim(name, wantedId);
        }
        if (claimed.made && winner.get() != claimed.id) {
            files.remove(idClaim(claimed.id));
        }
        return checked(name, winner.get(), wantedId);
    }

    /** Returns whether the id of a worker is assigned to its name. */
    boolean isClaimed(WorkerInfo worker) throws IOException {
        return nameOf(worker.id()).equals(Optional.of(worker.name()));
    }

    /** Returns whether a worker had its id and was removed, once or repeatedly. */
    boolean isFreed(WorkerInfo worker) throws IOException {
        if (isClaimed(worker)) {
            return false;
        }
        for (Path entry : files.list(directory, MAX_ENTRIES)) {
            if (isRemoved(entry, worker.id()) && files.readClaim(entry).equals(Optional.of(worker.name()))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isRemoved(Path entry, int id) {
        Matcher removed = REMOVED.matcher(entry.getFileName().toString());
        return removed.matches() && Integer.parseInt(removed.group(1)) == id;
    }

    /** Frees the id of a worker, in one step. Call with the worker's lock. */
    void free(WorkerInfo worker, FormerId last) throws IOException {
        if (!isClaimed(worker)) {
            throw new HomeException(idClaim(worker.id()) + ": expected the claim of " + worker.name());
        }
        FormerId former = last.max(beginOf(worker.id()));
        Path aside = directory.resolve(AGAIN + worker.id() + "-for-" + worker.name());
        files.remove(aside);
        files.createClaim(aside, former.text());
        files.renameWithin(aside, again(worker.id())); // before the id is free
        Path freed = directory.resolve("removed-" + worker.id() + "-" + former.text());
        files.renameWithin(idClaim(worker.id()), freed);
        files.syncParent(freed);
    }

    /** Frees the name of a worker whose id was freed. Call with the worker's lock. */
    void freeName(WorkerInfo worker) throws IOException {
        if (idOf(worker.name()).equals(Optional.of(worker.id()))) {
            files.remove(nameClaim(worker.name()));
        }
        files.remove(joining(worker.name()));
        files.syncParent(nameClaim(worker.name()));
    }

    /** Removes the exemption of this incarnation of a worker that was removed. */
    void dropForgotten(int id, long epoch) throws IOException {
        files.remove(forgotten(id, epoch));
    }

    /** Removes the exemptions of incarnations of all workers that were removed. */
    void dropForgotten() throws IOException {
        for (Path entry : files.list(directory, MAX_ENTRIES)) {
            Matcher forgotten = FORGOTTEN_CLAIM.matcher(entry.getFileName().toString());
            if (forgotten.matches()
                    && Long.parseLong(forgotten.group(2))
                            <= beginOf(Integer.parseInt(forgotten.group(1))).epoch()) {
                files.remove(entry);
            }
        }
    }

    /** Returns the point at which a worker with this id begins, if the id was another worker's before. */
    FormerId beginOf(int id) throws IOException {
        return files.readClaim(again(id)).flatMap(FormerId::parse).orElse(FormerId.NONE);
    }

    private Path again(int id) {
        return directory.resolve(AGAIN + id);
    }

    /** Exempts this incarnation of a worker from the retention of the other workers. Idempotent. */
    void forget(int id, long epoch) throws IOException {
        files.createClaim(forgotten(id, epoch), "forgotten");
    }

    boolean isForgotten(int id, long epoch) throws IOException {
        return files.readClaim(forgotten(id, epoch)).isPresent();
    }

    private Path forgotten(int id, long epoch) {
        return directory.resolve(FORGOTTEN + id + "-" + epoch);
    }

    /** Returns all names with their ids, as far as both claims agree; reports the others. */
    Map<String, Integer> all(Consumer<String> problems) throws IOException {
        Map<String, Integer> found = new TreeMap<>();
        for (Path entry : files.list(directory, MAX_ENTRIES)) {
            String file = entry.getFileName().toString();
            try {
                if (ID_CLAIM.matcher(file).matches()) {
                    checkIdClaim(entry, problems);
                } else if (file.startsWith(NAME_CLAIM)
                        && NAME.matcher(file.substring(NAME_CLAIM.length())).matches()) {
                    String name = file.substring(NAME_CLAIM.length());
                    Optional<Integer> id = idOf(name);
                    if (id.isPresent() && isFreed(new WorkerInfo(id.get(), name))) {
                        continue; // the process that removes it has ended, or still works on it
                    }
                    found.put(name, checked(name, idOf(name).orElse(ANY_ID), ANY_ID));
                } else if (!file.startsWith(FORGOTTEN)
                        && !file.startsWith(AGAIN)
                        && !file.startsWith(JOINING)
                        && !REMOVED.matcher(file).matches()) {
                    problems.accept(entry + ": expected id-<number> or name-<name>");
                }
            } catch (IOException e) {
                problems.accept(String.valueOf(e.getMessage()));
            }
        }
        return found;
    }

    private void checkIdClaim(Path claim, Consumer<String> problems) throws IOException {
        String name = files.readClaim(claim).orElse("");
        int id = parseId(claim.getFileName().toString().substring(ID_CLAIM_PREFIX.length()), claim);
        if (!NAME.matcher(name).matches()) {
            problems.accept(claim + ": expected the name of a worker");
        } else if (idOf(name).isPresent() && idOf(name).get() != id) {
            problems.accept(
                    claim + ": the name " + name + " has the id " + idOf(name).get());
        }
    }

    private int checked(String name, int id, int wantedId) throws IOException {
        if (wantedId != ANY_ID && wantedId != id) {
            throw new IdTakenException("worker " + name + " has id " + id
                    + " in this home and keeps it; it can't join with id " + wantedId);
        }
        String owner = nameOf(id).orElse("nobody");
        if (!owner.equals(name)) {
            throw new MalformedHomeFileException(
                    idClaim(id) + ": expected the claim of " + name + ", found " + owner + "'s");
        }
        return id;
    }

    private Claimed claimId(String name, int id) throws IOException {
        if (!identity.includes(id)) {
            throw new HomeException("worker " + name + " can't join the home " + directory.getParent()
                    + ": expected an id from " + identity.ids() + ", the range of its host " + identity.host()
                    + ", found " + id + "; choose another id, or let the home choose");
        }
        noteJoining(name, id);
        if (files.createClaim(idClaim(id), name)) {
            return new Claimed(id, true);
        }
        String owner = nameOf(id).orElse("nobody");
        if (!owner.equals(name)) {
            throw new IdTakenException("id " + id + " belongs to worker " + owner + " in this home; worker " + name
                    + " needs another one");
        }
        return new Claimed(id, false);
    }

    private Claimed claimAnyId(String name) throws IOException {
        Optional<String> begun = files.readClaim(joining(name));
        if (begun.isPresent()) {
            int id = parseId(begun.get(), joining(name));
            if (nameOf(id).equals(Optional.of(name))) {
                return new Claimed(id, false); // left alone by a crash, or being made by another process
            }
        }
        for (int id = neverGiven(); id <= identity.maxId(); id++) {
            if (isNeverGiven(id)) {
                noteJoining(name, id);
                if (files.createClaim(idClaim(id), name)) {
                    return new Claimed(id, true);
                }
            }
        }
        return claimAnyFreeId(name);
    }

    /** Notes the id that a name is about to get. */
    private void noteJoining(String name, int id) throws IOException {
        files.remove(joining(name));
        files.createUnsyncedClaim(joining(name), String.valueOf(id)); // synced with the claim of the id
    }

    /** Returns an id behind an assigned one that was never assigned itself, unless all up to the last one were. */
    private int neverGiven() throws IOException {
        int maxId = identity.maxId();
        int given = identity.firstId() - 1;
        int step = 1;
        while (given + step <= maxId && !isNeverGiven(given + step)) {
            given += step;
            step *= 2;
        }
        int free = Math.min(given + step, maxId);
        while (free - given > 1) {
            int middle = given + (free - given) / 2;
            if (isNeverGiven(middle)) {
                free = middle;
            } else {
                given = middle;
            }
        }
        return free;
    }

    private boolean isNeverGiven(int id) throws IOException {
        return FileStamp.of(idClaim(id)).equals(FileStamp.MISSING)
                && FileStamp.of(again(id)).equals(FileStamp.MISSING);
    }

    /**
     * Claims an id between the assigned ones, or else an id of a former worker of which no worker has noted positions.
     */
    private Claimed claimAnyFreeId(String name) throws IOException {
        Set<Integer> noted = null;
        int maxId = identity.maxId();
        for (int id = identity.firstId(); id <= maxId; id++) {
            if (FileStamp.of(idClaim(id)).equals(FileStamp.MISSING)) {
                if (noted == null) {
                    noted = StoredCursors.peersIn(directory.resolveSibling("workers"), files);
                }
                if (isNeverGiven(id) || !noted.contains(id)) {
                    noteJoining(name, id);
                    if (files.createClaim(idClaim(id), name)) {
                        return new Claimed(id, true);
                    }
                }
            }
        }
        throw new HomeException("all " + (maxId + 1 - identity.firstId()) + " ids of the home " + directory.getParent()
                + " are taken: remove workers that are gone, with waybill workers remove --all-departed; short-lived callers"
                + " of one program can share names, with Waybill.joinAnyOf");
    }

    private static int parseId(String text, Path claim) throws MalformedHomeFileException {
        if (!NUMBER.matcher(text).matches() || Integer.parseInt(text) > WorkerInfo.MAX_ID) {
            throw new MalformedHomeFileException(claim + ": expected an id from 0 to " + WorkerInfo.MAX_ID);
        }
        return Integer.parseInt(text);
    }

    private Path idClaim(int id) {
        return directory.resolve(ID_CLAIM_PREFIX + id);
    }

    private Path joining(String name) {
        return directory.resolve(JOINING + name);
    }

    private Path nameClaim(String name) {
        return directory.resolve(NAME_CLAIM + name);
    }

    /** Id that belongs to the name, unless the name got another one meanwhile; created now, or found. */
    private record Claimed(int id, boolean made) {}
}
