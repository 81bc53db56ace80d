package io.waybill.home;

import io.waybill.api.WorkerInfo;
import io.waybill.home.error.HomeException;
import io.waybill.home.error.IdTakenException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Assigns ids to names, without a registry that needs a lock: each claim is a symbolic link, which only one process can
 * create, and its text is the claim.
 *
 * <p>{@code id-<n>} is created first, {@code name-<name>} second. From then on both are permanent. A name whose second
 * claim is missing after a crash reuses its first. Only the process that made an id's claim removes it, and only when
 * the name turned out to have another id already; so a claim that a name points to is never removed.
 *
 * <p><b>Threads.</b> Thread-safe, also among processes.
 */
final class Claims {
    static final int ANY_ID = -1;

    private static final int MAX_ENTRIES = 3 * (WorkerInfo.MAX_ID + 1);
    private static final Pattern ID_CLAIM = Pattern.compile("id-(0|[1-9][0-9]{0,4})");
    private static final String ID_CLAIM_PREFIX = "id-";
    private static final String FORGOTTEN = "forgotten-";
    private static final String NAME_CLAIM = "name-";
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_:-]{1,127}");
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,4}");

    private final Path directory;
    private final SafeFiles files;

    Claims(Path directory, SafeFiles files) {
        this.directory = directory;
        this.files = files;
    }

    /** The id of a name; empty when no worker ever joined under it. */
    Optional<Integer> idOf(String name) throws IOException {
        Path claim = nameClaim(name);
        Optional<String> text = files.readClaim(claim);
        return text.isEmpty() ? Optional.empty() : Optional.of(parseId(text.get(), claim));
    }

    /** The name that has an id; empty when it is free. */
    Optional<String> nameOf(int id) throws IOException {
        return files.readClaim(idClaim(id));
    }

    /**
     * Assigns an id to a name: the one it has or a new one.
     *
     * @param wantedId or {@link #ANY_ID}
     */
    int claim(String name, int wantedId) throws IOException {
        Optional<Integer> known = idOf(name);
        if (known.isPresent()) {
            return checked(name, known.get(), wantedId);
        }
        Claimed claimed = wantedId == ANY_ID ? claimAnyId(name) : claimId(name, wantedId);
        if (files.createClaim(nameClaim(name), String.valueOf(claimed.id))) {
            return claimed.id;
        }
        // another process was faster to join under this name
        int winner = idOf(name)
                .orElseThrow(
                        () -> new HomeException(nameClaim(name) + ": was there and is gone; nothing may remove it"));
        if (claimed.made && winner != claimed.id) {
            files.remove(idClaim(claimed.id));
        }
        return checked(name, winner, wantedId);
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
                    found.put(name, checked(name, idOf(name).orElse(ANY_ID), ANY_ID));
                } else if (!file.startsWith(FORGOTTEN)) {
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
        BitSet used = new BitSet();
        for (Path entry : files.list(directory, MAX_ENTRIES)) {
            Matcher claim = ID_CLAIM.matcher(entry.getFileName().toString());
            if (claim.matches()) {
                int id = Integer.parseInt(claim.group(1));
                used.set(id);
                if (files.readClaim(entry).equals(Optional.of(name))) {
                    return new Claimed(id, false); // left alone by a crash, or being made by another process
                }
            }
        }
        for (int id = used.nextClearBit(0); id <= WorkerInfo.MAX_ID; id = used.nextClearBit(id + 1)) {
            if (files.createClaim(idClaim(id), name)) {
                return new Claimed(id, true);
            }
        }
        throw new HomeException("all " + (WorkerInfo.MAX_ID + 1) + " ids of this home are taken");
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

    private Path nameClaim(String name) {
        return directory.resolve(NAME_CLAIM + name);
    }

    /** An id that belongs to the name, unless the name got another one meanwhile; created now, or found. */
    private record Claimed(int id, boolean made) {}
}
