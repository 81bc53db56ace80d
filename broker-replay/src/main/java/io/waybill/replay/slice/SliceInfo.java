package io.waybill.replay.slice;

import io.waybill.api.WorkerInfo;
import java.util.List;

/**
 * What a slice says of itself, in {@code slice.json}. Immutable.
 *
 * <pre>
 * format     1
 * payloads   full, digest or none
 * calls      how many were selected
 * needed     how many more they depend on
 * storages   how many tensors' storages have an entry
 * problems   list of strings: what could not be taken along
 * workers    list of objects: who sent or received some of it, lowest id first
 *   id, name
 *   version, javaVersion   as its worker.json had them; left out when it had none
 *   serves                 list of strings: as its worker.json had them
 *   bundles                list of objects: the jars in its directory
 *     file, symbolicName, version, sha256
 * </pre>
 *
 * Fields that a reader does not know are skipped.
 */
public record SliceInfo(
        Payloads payloads, long calls, long needed, long storages, List<String> problems, List<Member> workers) {

    public SliceInfo {
        problems = List.copyOf(problems);
        workers = List.copyOf(workers);
    }

    /**
     * A worker, as the home had it when the slice was made.
     *
     * @param version of Waybill; empty text when it is not known
     * @param javaVersion empty text when it is not known
     */
    public record Member(
            WorkerInfo worker, String version, String javaVersion, List<String> serves, List<Bundle> bundles) {

        public Member {
            serves = List.copyOf(serves);
            bundles = List.copyOf(bundles);
        }
    }

    /**
     * A bundle's jar.
     *
     * @param file where it lay in the worker's directory
     * @param sha256 in hexadecimal
     */
    public record Bundle(String file, String symbolicName, String version, String sha256) {}
}
